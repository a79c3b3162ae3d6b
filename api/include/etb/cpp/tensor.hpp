// SPDX-License-Identifier: Apache-2.0
//
// Tensors of one call in C++: sizes as spans, data by element type. All are views, valid for the call.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "etb/cpp/result.hpp"
#include "etb/tensor.h"

namespace etb {

// Returns the bits of one element, 0 for a code that dtype.def does not have.
constexpr uint32_t dtype_bits(etb_dtype dtype) noexcept {
  switch (dtype) {
#define ETB_DTYPE(name, value, bits, text) \
  case value:                              \
    return bits;
#include "etb/dtype.def"
#undef ETB_DTYPE
  }
  return 0;
}

// Returns "float32" and the like, or "unknown dtype".
constexpr const char* dtype_text(etb_dtype dtype) noexcept {
  switch (dtype) {
#define ETB_DTYPE(name, value, bits, text) \
  case value:                              \
    return text;
#include "etb/dtype.def"
#undef ETB_DTYPE
  }
  return "unknown dtype";
}

// The dtype of a C++ type: kDtypeOf<float> is ETB_DTYPE_FLOAT32. 16-bit floats have none: read them as raw uint16_t with
// `bytes()`.
template <class T>
inline constexpr etb_dtype kDtypeOf = -1;
template <>
inline constexpr etb_dtype kDtypeOf<uint8_t> = ETB_DTYPE_UINT8;
template <>
inline constexpr etb_dtype kDtypeOf<int8_t> = ETB_DTYPE_INT8;
template <>
inline constexpr etb_dtype kDtypeOf<int16_t> = ETB_DTYPE_INT16;
template <>
inline constexpr etb_dtype kDtypeOf<int32_t> = ETB_DTYPE_INT32;
template <>
inline constexpr etb_dtype kDtypeOf<int64_t> = ETB_DTYPE_INT64;
template <>
inline constexpr etb_dtype kDtypeOf<float> = ETB_DTYPE_FLOAT32;
template <>
inline constexpr etb_dtype kDtypeOf<double> = ETB_DTYPE_FLOAT64;
template <>
inline constexpr etb_dtype kDtypeOf<bool> = ETB_DTYPE_BOOL;

inline std::string sizes_text(std::span<const int64_t> sizes) {
  std::string text = "[";
  for (const int64_t size : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

// Place of a tensor in a call, for messages: "input" and 1.
struct TensorPlace {
  const char* role = nullptr;  // NULL: unknown
  uint32_t index = 0;
};

// An input.
class Tensor {
 public:
  explicit Tensor(const etb_tensor& raw, TensorPlace place = {}) : raw_(&raw), place_(place) {}

  etb_dtype dtype() const { return raw_->dtype; }
  uint32_t rank() const { return raw_->rank; }
  std::span<const int64_t> sizes() const { return {raw_->sizes, raw_->rank}; }
  int64_t numel() const {
    int64_t count = 1;
    for (const int64_t size : sizes()) count *= size;
    return count;
  }
  uint64_t nbytes() const { return static_cast<uint64_t>(numel()) * (dtype_bits(dtype()) / 8); }
  bool has_sizes(std::span<const int64_t> other) const {
    if (other.size() != rank()) return false;
    for (size_t i = 0; i < other.size(); ++i)
      if (raw_->sizes[i] != other[i]) return false;
    return true;
  }

  // True if the elements are stored without gaps in the order of the dimensions. Strides of dimensions of
  // size 1 do not matter.
  bool is_contiguous() const {
    int64_t expected = 1;
    for (uint32_t i = rank(); i-- > 0;) {
      if (raw_->dim_order != nullptr && raw_->dim_order[i] != i && raw_->strides == nullptr) return false;
      if (raw_->strides != nullptr && raw_->sizes[i] != 1 && raw_->strides[i] != expected) return false;
      expected *= raw_->sizes[i];
    }
    return true;
  }

  // Returns the elements of a contiguous tensor of this type in host memory. Any other tensor is
  // ETB_INVALID_ARGUMENT; it is never read as contiguous (ABI-TENSOR-01).
  template <class T>
  Result<std::span<const T>> data() const {
    static_assert(kDtypeOf<T> >= 0, "no dtype has this C++ type");
    ETB_TRY(verify(kDtypeOf<T>));
    return std::span<const T>(static_cast<const T*>(raw_->data), static_cast<size_t>(numel()));
  }

  const etb_tensor& raw() const { return *raw_; }

 protected:
  Status verify(etb_dtype expected) const {
    if (dtype() != expected)
      return wrong(std::string("dtype ") + dtype_text(dtype()) + ", expected " + dtype_text(expected));
    if (raw_->buffer != nullptr)
      return wrong(std::string("memory of kind '") + raw_->buffer->kind + "', expected host memory");
    if (!is_contiguous()) return wrong("strides or dim order, expected a contiguous tensor");
    if (nbytes() > raw_->capacity_bytes || (raw_->data == nullptr && nbytes() > 0))
      return wrong("capacity of " + std::to_string(raw_->capacity_bytes) + " bytes, expected " +
                   std::to_string(nbytes()));
    return {};
  }

  // Returns ETB_INVALID_ARGUMENT with a text that names the tensor.
  tl::unexpected<Error> wrong(const std::string& what) const {
    const std::string place =
        place_.role != nullptr ? std::string(place_.role) + " " + std::to_string(place_.index) + ": " : "";
    return make_error(Code::INVALID_ARGUMENT, place + what);
  }

 private:
  const etb_tensor* raw_;
  TensorPlace place_;
};

// An output: set its sizes, then use its data.
class OutputTensor : public Tensor {
 public:
  explicit OutputTensor(etb_tensor& raw, TensorPlace place = {}) : Tensor(raw, place), raw_(&raw) {}

  // Writes the final sizes, each at most the upper bound (ABI-TENSOR-02). A static output accepts only its
  // own sizes.
  Status resize(std::span<const int64_t> sizes) {
    const int64_t* upper = raw_->upper_sizes != nullptr ? raw_->upper_sizes : raw_->sizes;
    bool fits = sizes.size() == rank();
    for (size_t i = 0; fits && i < sizes.size(); ++i)
      fits = sizes[i] >= 0 && (raw_->upper_sizes != nullptr ? sizes[i] <= upper[i] : sizes[i] == upper[i]);
    if (!fits)
      return wrong("sizes " + sizes_text(sizes) +
                   (raw_->upper_sizes ? ", expected at most " : ", expected ") + sizes_text({upper, rank()}));
    for (size_t i = 0; i < sizes.size(); ++i) raw_->sizes[i] = sizes[i];
    return {};
  }

  template <class T>
  Result<std::span<T>> data() {
    static_assert(kDtypeOf<T> >= 0, "no dtype has this C++ type");
    ETB_TRY(verify(kDtypeOf<T>));
    return std::span<T>(static_cast<T*>(raw_->data), static_cast<size_t>(numel()));
  }

 private:
  etb_tensor* raw_;
};

}  // namespace etb
