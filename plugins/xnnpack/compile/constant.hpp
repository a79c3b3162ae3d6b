// SPDX-License-Identifier: Apache-2.0
// Constants of a region and the constants computed from them. Bytes are read only when the payload is
// written. So claims, which have no bytes, run the same lowering code as compilation.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "etb/tensor.h"

namespace etb::xnnpack {

// Bytes borrowed from the host, or owned.
class Bytes {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): readers of constants return vectors
  Bytes(std::vector<std::byte> made)
      : made_(std::make_shared<std::vector<std::byte>>(std::move(made))), bytes_(*made_) {}
  Bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)), bytes_(bytes) {}

  const std::byte* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  std::byte operator[](size_t i) const { return bytes_[i]; }
  std::span<const std::byte> span() const { return bytes_; }
  // Moves the bytes out if this object is their only owner, else copies them.
  std::vector<std::byte> take() && {
    if (made_ == nullptr || made_.use_count() != 1) return {bytes_.begin(), bytes_.end()};
    return std::move(*made_);
  }

 private:
  std::shared_ptr<std::vector<std::byte>> made_;
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

struct Constant {
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  std::vector<int64_t> sizes;
  std::string image_key = {};  // not empty: the bytes are those of this constant of the image, unchanged
  std::function<Result<Bytes>()> read = {};
};
using ConstantPtr = std::shared_ptr<const Constant>;

int64_t numel_of(std::span<const int64_t> sizes);

// Returns the elements as floats. Only for dtypes that floats represent well enough: lifted scalars, float16,
// float32.
[[nodiscard]] Result<std::vector<float>> read_floats(const Constant& constant);

ConstantPtr make_floats(std::vector<int64_t> sizes, std::vector<float> values,
                        etb_dtype dtype = ETB_DTYPE_FLOAT32);

// Returns a constant with the same bytes and other sizes.
ConstantPtr reshaped(const ConstantPtr& constant, std::vector<int64_t> sizes);
// Returns a constant whose dimension j is dimension order[j] of `constant`.
ConstantPtr transposed(const ConstantPtr& constant, std::span<const uint32_t> order);
ConstantPtr converted(const ConstantPtr& constant, etb_dtype dtype);
// Repeats dimensions of size 1 up to `sizes`, aligned at the last dimension.
ConstantPtr expanded(const ConstantPtr& constant, std::vector<int64_t> sizes);

// Packs rows of int8 from -8 to 7 in XNNPACK's format: plus 8, two values a byte, the even one in the low
// half. Each row is padded to whole bytes.
ConstantPtr packed_four_bits(const ConstantPtr& constant);

// Returns a constant computed from the floats of others.
using FloatFunction = std::function<std::vector<float>(std::vector<std::vector<float>>)>;
ConstantPtr computed(std::vector<ConstantPtr> from, std::vector<int64_t> sizes, etb_dtype dtype,
                     FloatFunction function);

}  // namespace etb::xnnpack
