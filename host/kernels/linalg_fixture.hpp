// SPDX-License-Identifier: Apache-2.0
// Calls of one kernel, and random matrices, for the tests of linear algebra.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <deque>
#include <random>
#include <type_traits>
#include <vector>

#include "etb/cpp/fail.hpp"
#include "host/kernels/portable.hpp"

namespace etb::host {

// A call of one kernel with tensors that it owns.
class Call {
 public:
  template <class T>
  Call& tensor(Dtype dtype, std::vector<int64_t> sizes, const std::vector<T>& values) {
    storages_.emplace_back();
    memories_.emplace_back(std::max<size_t>(values.size() * sizeof(T), 8));
    if (!values.empty()) std::memcpy(memories_.back().data(), values.data(), values.size() * sizeof(T));
    tensors_.push_back(storages_.back().make(dtype, sizes, memories_.back().data(), memories_.back().size(),
                                             {}, Dynamism::kBounded));
    return add(EValue(&tensors_.back()));
  }
  Call& add(EValue value) {
    values_.push_back(value);
    args_.push_back(&values_.back());
    return *this;
  }
  etb_status run(const char* name, const char* overload) {
    KernelRegistry registry;
    EXPECT_EQ(add_portable_kernels(registry), ETB_OK);
    std::vector<std::byte> scratch(4 << 20);
    KernelContext context(scratch, registry.vector_table(), &error_);
    return call_kernel(context, *registry.find(name, overload), args_.data(), args_.size());
  }
  template <class T>
  const T* result(size_t index) const {
    return args_[index]->tensor().data_as<T>();
  }
  std::string message() const { return error_.text; }

 private:
  std::deque<std::vector<std::byte>> memories_;
  std::deque<TensorStorage> storages_;
  std::deque<Tensor> tensors_;
  std::deque<EValue> values_;
  std::vector<EValue*> args_;
  etb_error error_ = ETB_ERROR_INIT;
};

template <class T>
constexpr Dtype kDtype = sizeof(T) == 4 ? Dtype::FLOAT32 : Dtype::FLOAT64;
template <class T>
constexpr Dtype kDtype<std::complex<T>> = sizeof(T) == 4 ? Dtype::COMPLEX64 : Dtype::COMPLEX128;

template <class T>
std::vector<T> random_values(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(static_cast<size_t>(count));
  const auto next = [&] { return normal(random); };
  for (T& value : values) {
    if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(next());
    } else {
      const auto re = static_cast<typename T::value_type>(next());
      value = T(re, static_cast<typename T::value_type>(next()));
    }
  }
  return values;
}

}  // namespace etb::host
