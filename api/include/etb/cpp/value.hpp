// SPDX-License-Identifier: Apache-2.0
// Value: an input or output of a program, for the C++ API of applications.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "etb/module.h"

namespace etb {

// The dtype of a C++ type.
template <class T>
constexpr etb_dtype dtype_of() noexcept {
  if constexpr (std::is_same_v<T, bool>)
    return ETB_DTYPE_BOOL;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return ETB_DTYPE_UINT8;
  else if constexpr (std::is_same_v<T, int8_t>)
    return ETB_DTYPE_INT8;
  else if constexpr (std::is_same_v<T, int16_t>)
    return ETB_DTYPE_INT16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return ETB_DTYPE_INT32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return ETB_DTYPE_INT64;
  else if constexpr (std::is_same_v<T, float>)
    return ETB_DTYPE_FLOAT32;
  else if constexpr (std::is_same_v<T, double>)
    return ETB_DTYPE_FLOAT64;
  else
    static_assert(!sizeof(T), "no dtype for this type; use Value::view");
}

// An input or output: a tensor, a number, a bool, or none. It owns its elements, or borrows them (view(), outputs).
class Value {
 public:
  Value() = default;  // none
  Value(int64_t integer) { raw_.kind = ETB_VALUE_INT, raw_.integer = integer; }
  Value(int integer) : Value(int64_t{integer}) {}
  Value(double real) { raw_.kind = ETB_VALUE_DOUBLE, raw_.real = real; }
  Value(const char*) = delete;  // would become a bool
  Value(bool boolean) { raw_.kind = ETB_VALUE_BOOL, raw_.boolean = boolean ? 1 : 0; }

  // Copies the elements, in row-major order. Throws std::invalid_argument when their number is not that of the
  // sizes.
  template <class T>
  Value(std::span<const int64_t> sizes, std::span<const T> elements) {
    check_count(sizes, elements.size());
    const auto* const first = reinterpret_cast<const std::byte*>(elements.data());
    bytes_ = std::make_shared<std::vector<std::byte>>(first, first + elements.size_bytes());
    set_tensor(dtype_of<T>(), sizes, bytes_->data(), elements.size_bytes());
  }
  template <class T>
  Value(std::initializer_list<int64_t> sizes, std::initializer_list<T> elements)
      : Value(std::span(sizes.begin(), sizes.size()), std::span<const T>(elements.begin(), elements.size())) {
  }
  template <class T>
  Value(std::initializer_list<int64_t> sizes, const std::vector<T>& elements)
      : Value(std::span(sizes.begin(), sizes.size()), std::span<const T>(elements)) {}

  // Borrows row-major elements, which live as long as the value. The library only reads inputs.
  template <class T>
  static Value view(std::span<const int64_t> sizes, std::span<const T> elements) {
    check_count(sizes, elements.size());
    return view(dtype_of<T>(), sizes, elements.data(), elements.size_bytes());
  }
  static Value view(etb_dtype dtype, std::span<const int64_t> sizes, const void* data, uint64_t nbytes) {
    Value value;
    value.set_tensor(dtype, sizes, const_cast<void*>(data), nbytes);
    return value;
  }

  uint32_t kind() const noexcept { return raw_.kind; }  // ETB_VALUE_*
  bool is_tensor() const noexcept { return raw_.kind == ETB_VALUE_TENSOR; }
  etb_dtype dtype() const { return tensor().dtype; }
  std::span<const int64_t> sizes() const { return {tensor().sizes, tensor().rank}; }

  // Number of elements.
  size_t size() const {
    size_t count = 1;
    for (const int64_t size : sizes()) count *= static_cast<size_t>(size);
    return count;
  }

  // The elements in the order in which they lie: row-major, unless the tensor has another dim order (raw()). Throws
  // std::invalid_argument for another dtype.
  template <class T>
  std::span<const T> data() const {
    if (tensor().dtype != dtype_of<T>())
      throw std::invalid_argument("etb::Value: the tensor has another dtype");
    return {static_cast<const T*>(tensor().data), size()};
  }

  int64_t to_int() const { return expect(ETB_VALUE_INT).integer; }
  double to_double() const { return expect(ETB_VALUE_DOUBLE).real; }
  bool to_bool() const { return expect(ETB_VALUE_BOOL).boolean != 0; }

  // The value as the C API has it; valid as long as this object is, and not moved.
  const etb_value& raw() const {
    if (is_tensor()) raw_.tensor.sizes = sizes_.data();
    return raw_;
  }

  // Borrows an output of a module; its sizes are copied. Only Module makes the tag.
  class Output {
    friend class Module;
    Output() = default;
  };
  Value(Output, const etb_value& output) : raw_(output) {
    if (is_tensor()) sizes_.assign({output.tensor.sizes, output.tensor.rank});
  }

 private:
  const etb_value& expect(uint32_t kind) const {
    if (raw_.kind != kind) throw std::invalid_argument("etb::Value: the value is of another kind");
    return raw_;
  }
  const etb_tensor& tensor() const {
    expect(ETB_VALUE_TENSOR);
    return raw().tensor;
  }

  static void check_count(std::span<const int64_t> sizes, size_t count) {
    size_t expected = 1;
    for (const int64_t size : sizes) expected *= static_cast<size_t>(size);
    if (expected != count)
      throw std::invalid_argument("etb::Value: " + std::to_string(count) + " elements, the sizes need " +
                                  std::to_string(expected));
  }

  void set_tensor(etb_dtype dtype, std::span<const int64_t> sizes, void* data, uint64_t nbytes) {
    if (sizes.size() > ETB_MAX_RANK)
      throw std::invalid_argument("etb::Value: rank " + std::to_string(sizes.size()) + ", expected at most " +
                                  std::to_string(ETB_MAX_RANK));
    sizes_.assign(sizes);
    raw_ = etb_value_tensor(dtype, static_cast<uint32_t>(sizes.size()), sizes_.data(), data, nbytes);
  }

  // Sizes of a tensor; inside, so that outputs need no allocations. Entries beyond the rank are never read, and setting
  // or copying them would take a part of a small call.
  class Sizes {
   public:
    Sizes() noexcept {}
    Sizes(const Sizes& other) noexcept { assign({other.values_, other.rank_}); }
    Sizes& operator=(const Sizes& other) noexcept {
      if (this != &other) assign({other.values_, other.rank_});
      return *this;
    }
    ~Sizes() = default;
    void assign(std::span<const int64_t> sizes) noexcept {
      rank_ = static_cast<uint32_t>(sizes.size());
      std::copy(sizes.begin(), sizes.end(), values_);
    }
    int64_t* data() const noexcept { return values_; }

   private:
    uint32_t rank_ = 0;
    mutable int64_t values_[ETB_MAX_RANK];  // the C API takes them without const, and only reads those of an input
  };

  mutable etb_value raw_ = ETB_VALUE_INIT;
  Sizes sizes_;
  std::shared_ptr<std::vector<std::byte>> bytes_;
};

}  // namespace etb
