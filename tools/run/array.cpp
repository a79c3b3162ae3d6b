// SPDX-License-Identifier: Apache-2.0
#include "tools/run/array.hpp"

#include <fmt/ranges.h>

#include <cstring>
#include <numeric>

#include "host/runtime/float16.hpp"

namespace etb::tools {

namespace {

using host::Dtype;

// Copies elements between two dense orders of the same sizes.
void copy_elements(std::span<const int64_t> sizes, const std::byte* from,
                   std::span<const int64_t> from_strides, std::byte* to, std::span<const int64_t> to_strides,
                   size_t element_nbytes) {
  const size_t rank = sizes.size();
  std::vector<int64_t> index(rank, 0);
  while (true) {
    int64_t source = 0;
    int64_t target = 0;
    for (size_t dim = 0; dim < rank; ++dim) {
      source += index[dim] * from_strides[dim];
      target += index[dim] * to_strides[dim];
    }
    std::memcpy(to + static_cast<size_t>(target) * element_nbytes,
                from + static_cast<size_t>(source) * element_nbytes, element_nbytes);
    size_t dim = rank;
    while (dim-- > 0 && ++index[dim] == sizes[dim]) index[dim] = 0;
    if (dim == SIZE_MAX) return;
  }
}

std::vector<int64_t> strides_of(const std::vector<int64_t>& sizes, const std::vector<uint8_t>& dim_order) {
  std::vector<int64_t> strides(sizes.size());
  host::fill_strides(sizes, dim_order.empty() ? row_major(sizes.size()) : dim_order, strides.data());
  return strides;
}

}  // namespace

Result<uint64_t> count_bytes(Dtype dtype, const std::vector<int64_t>& sizes) {
  int64_t numel = 0;
  uint64_t nbytes = 0;
  if (sizes.size() > host::kMaxRank || !host::count_elements(sizes, &numel) ||
      __builtin_mul_overflow(static_cast<uint64_t>(numel), host::element_nbytes(dtype), &nbytes)) {
    return make_error(Code::INVALID_ARGUMENT,
                      fmt::format("sizes [{}] exceed the limits of a tensor", fmt::join(sizes, ", ")));
  }
  return nbytes;
}

std::vector<uint8_t> row_major(size_t rank) {
  std::vector<uint8_t> order(rank);
  std::iota(order.begin(), order.end(), uint8_t{0});
  return order;
}

Array reorder(const Array& from, const std::vector<uint8_t>& dim_order) {
  Array to{from.dtype, from.sizes, dim_order, std::vector<std::byte>(from.bytes.size())};
  if (from.bytes.empty()) return to;
  copy_elements(from.sizes, from.bytes.data(), strides_of(from.sizes, from.dim_order), to.bytes.data(),
                strides_of(to.sizes, to.dim_order), host::element_nbytes(from.dtype));
  return to;
}

Array round_to_bfloat16(const Array& from) {
  Array to{Dtype::BFLOAT16, from.sizes, from.dim_order, std::vector<std::byte>(from.bytes.size() / 2)};
  for (size_t i = 0; i < to.bytes.size() / 2; ++i) {
    float value;
    std::memcpy(&value, from.bytes.data() + 4 * i, sizeof(value));
    const host::BFloat16 narrow = host::to_bfloat16(value);
    std::memcpy(to.bytes.data() + 2 * i, &narrow, sizeof(narrow));
  }
  return to;
}

Array to_row_major(const host::Tensor& tensor) {
  const auto* first = tensor.data_as<const std::byte>();
  Array array{tensor.dtype(),
              {tensor.sizes().begin(), tensor.sizes().end()},
              {tensor.dim_order().begin(), tensor.dim_order().end()},
              {}};
  if (tensor.numel() != 0) array.bytes.assign(first, first + tensor.nbytes());
  return tensor.is_contiguous() ? Array{array.dtype, array.sizes, {}, std::move(array.bytes)}
                                : reorder(array, {});
}

Result<Dtype> parse_dtype(std::string_view text) {
  if (const auto dtype = ops::find_dtype(text)) return *dtype;
  return make_error(Code::INVALID_ARGUMENT, fmt::format("unknown dtype '{}'", text));
}

std::string format_shape(Dtype dtype, std::span<const int64_t> sizes) {
  return fmt::format("{} [{}]", host::to_text(dtype), fmt::join(sizes, ", "));
}

}  // namespace etb::tools
