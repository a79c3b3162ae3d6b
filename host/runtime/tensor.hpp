// SPDX-License-Identifier: Apache-2.0
// Tensor: a view of elements in memory that it does not own.
#pragma once

#include <cstdint>
#include <span>

#include "etb/status.h"
#include "host/runtime/dtype.hpp"

namespace etb::host {

inline constexpr int kMaxRank = 16;

// Allowed changes of sizes: none, or as long as the elements fit into the tensor's capacity.
enum class Dynamism : uint8_t { kStatic, kBounded };

// Dtype, sizes, dim order and data of a tensor. Sizes, dim order and strides are arrays of `rank` entries
// that the creator of the tensor owns (a method's arena, TensorStorage). Elements are dense in dim order:
// strides follow from sizes.
class Tensor {
 public:
  Tensor() = default;

  // Fills `strides`. `capacity_bytes` is the size of the memory at `data`. A null `data` is
  // allowed until the first use.
  Tensor(Dtype dtype, int rank, int64_t* sizes, const uint8_t* dim_order, int64_t* strides, void* data,
         uint64_t capacity_bytes, Dynamism dynamism = Dynamism::kStatic) noexcept;

  Dtype dtype() const noexcept { return dtype_; }
  int rank() const noexcept { return rank_; }
  Dynamism dynamism() const noexcept { return dynamism_; }
  int64_t size(int dim) const noexcept { return sizes_[dim]; }
  int64_t stride(int dim) const noexcept { return strides_[dim]; }
  std::span<const int64_t> sizes() const noexcept { return {sizes_, static_cast<size_t>(rank_)}; }
  std::span<const int64_t> strides() const noexcept { return {strides_, static_cast<size_t>(rank_)}; }
  std::span<const uint8_t> dim_order() const noexcept { return {dim_order_, static_cast<size_t>(rank_)}; }
  int64_t numel() const noexcept { return numel_; }
  uint64_t nbytes() const noexcept { return static_cast<uint64_t>(numel_) * element_nbytes(dtype_); }
  uint64_t capacity_bytes() const noexcept { return capacity_bytes_; }

  void* data() const noexcept { return data_; }
  template <class T>
  T* data_as() const noexcept {
    return static_cast<T*>(data_);
  }

  // Sets other memory for the elements.
  void set_data(void* data, uint64_t capacity_bytes) noexcept {
    data_ = data;
    capacity_bytes_ = capacity_bytes;
  }

  // Marks a constant. resize rejects it, and every kernel resizes its outputs, so a constant is never
  // written.
  void set_read_only() noexcept { is_read_only_ = true; }
  bool is_read_only() const noexcept { return is_read_only_; }

  // True if elements are stored in row-major order (dims of size 1 do not matter), so that all
  // numel elements are adjacent.
  bool is_contiguous() const noexcept;

  // True if two tensors of the same sizes store their elements in the same order, so that element i of one
  // is element i of the other.
  bool has_layout_of(const Tensor& other) const noexcept;

  // Changes sizes in place and recomputes strides. The rank must stay. A static tensor accepts only its own
  // sizes, a bounded tensor all sizes that fit into its capacity. Returns ETB_OK, ETB_INVALID_ARGUMENT (rank,
  // negative size, read-only) or ETB_NOT_SUPPORTED (does not fit).
  etb_status resize(std::span<const int64_t> sizes) noexcept;

 private:
  void* data_ = nullptr;
  uint64_t capacity_bytes_ = 0;
  int64_t* sizes_ = nullptr;
  int64_t* strides_ = nullptr;
  const uint8_t* dim_order_ = nullptr;
  int64_t numel_ = 0;
  Dtype dtype_ = Dtype::UINT8;
  uint8_t rank_ = 0;
  Dynamism dynamism_ = Dynamism::kStatic;
  bool is_read_only_ = false;
};

// Storage for the arrays of one tensor of any rank, for code that makes single tensors (a
// kernel's temporary, a test).
struct TensorStorage {
  int64_t sizes[kMaxRank];
  int64_t strides[kMaxRank];
  uint8_t dim_order[kMaxRank];

  // Returns a tensor over `data`. Copies its arrays into this storage; an empty dim order means row-major.
  Tensor make(Dtype dtype, std::span<const int64_t> sizes, void* data, uint64_t capacity_bytes,
              std::span<const uint8_t> dim_order = {}, Dynamism dynamism = Dynamism::kStatic) noexcept;
};

// Computes strides of dense elements in dim order. A size of 0 counts as 1.
void fill_strides(std::span<const int64_t> sizes, std::span<const uint8_t> dim_order,
                  int64_t* out_strides) noexcept;

// Writes the product of sizes to `out_numel`. Returns false when it overflows or a size is negative.
bool count_elements(std::span<const int64_t> sizes, int64_t* out_numel) noexcept;

}  // namespace etb::host
