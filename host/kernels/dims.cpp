// SPDX-License-Identifier: Apache-2.0
// Wrapping dims and copying between layouts.
#include "host/kernels/dims.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "api/ops/sizes/axis.hpp"
#include "etb/cpp/fail.hpp"
#include "host/kernels/long_loops.hpp"

namespace etb::host {
namespace {

// A dim of the copy: size and the steps on both sides, in elements.
struct Dim {
  int64_t size, to, from;
};

struct Byte16 {
  uint64_t words[2];
};

// 4x4 elements of 4 bytes: rows of the source become columns of the destination.
void transpose_4x4(uint32_t* to, int64_t to_stride, const uint32_t* from, int64_t from_stride) {
  typedef uint32_t Four __attribute__((vector_size(16)));
  Four rows[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&rows[i], from + i * from_stride, 16);
  const Four low02 = __builtin_shufflevector(rows[0], rows[2], 0, 4, 1, 5),
             high02 = __builtin_shufflevector(rows[0], rows[2], 2, 6, 3, 7);
  const Four low13 = __builtin_shufflevector(rows[1], rows[3], 0, 4, 1, 5),
             high13 = __builtin_shufflevector(rows[1], rows[3], 2, 6, 3, 7);
  const Four columns[4] = {__builtin_shufflevector(low02, low13, 0, 4, 1, 5),
                           __builtin_shufflevector(low02, low13, 2, 6, 3, 7),
                           __builtin_shufflevector(high02, high13, 0, 4, 1, 5),
                           __builtin_shufflevector(high02, high13, 2, 6, 3, 7)};
  for (int i = 0; i < 4; ++i) std::memcpy(to + i * to_stride, &columns[i], 16);
}

// A matrix of 4-byte elements turned over, as the weights of every linear layer are: in tiles of a cache line each way.
void transpose_plane(uint32_t* to, const uint32_t* from, const Dim& outer, const Dim& inner) {
  constexpr int64_t kTile = 16;
  const int64_t whole_outer = outer.size / 4 * 4, whole_inner = inner.size / 4 * 4;
  for (int64_t i0 = 0; i0 < whole_outer; i0 += kTile) {
    const int64_t i1 = std::min(i0 + kTile, whole_outer);
    for (int64_t j0 = 0; j0 < whole_inner; j0 += kTile) {
      const int64_t j1 = std::min(j0 + kTile, whole_inner);
      for (int64_t i = i0; i < i1; i += 4) {
        for (int64_t j = j0; j < j1; j += 4)
          transpose_4x4(to + i * outer.to + j, outer.to, from + i + j * inner.from, inner.from);
      }
    }
  }
  for (int64_t i = 0; i < outer.size; ++i) {
    for (int64_t j = i < whole_outer ? whole_inner : 0; j < inner.size; ++j)
      to[i * outer.to + j] = from[i + j * inner.from];
  }
}

// One row, or a plane in tiles when the source runs along the other dim, so that both sides stay within cache lines.
template <class T>
void copy_plane(T* to, const T* from, const Dim& outer, const Dim& inner) {
  constexpr int64_t kTile = 16;
  if (inner.to == 1 && inner.from == 1) {
    for (int64_t i = 0; i < outer.size; ++i) {
      std::memcpy(to + i * outer.to, from + i * outer.from, static_cast<size_t>(inner.size) * sizeof(T));
    }
    return;
  }
  if (inner.from == 0 && inner.to == 1) {
    for (int64_t i = 0; i < outer.size; ++i) std::fill_n(to + i * outer.to, inner.size, from[i * outer.from]);
    return;
  }
  if constexpr (sizeof(T) == 4) {
    if (inner.to == 1 && outer.from == 1) return transpose_plane(to, from, outer, inner);
  }
  for (int64_t i0 = 0; i0 < outer.size; i0 += kTile) {
    const int64_t i1 = std::min(i0 + kTile, outer.size);
    for (int64_t j0 = 0; j0 < inner.size; j0 += kTile) {
      const int64_t j1 = std::min(j0 + kTile, inner.size);
      for (int64_t i = i0; i < i1; ++i) {
        for (int64_t j = j0; j < j1; ++j)
          to[i * outer.to + j * inner.to] = from[i * outer.from + j * inner.from];
      }
    }
  }
}

// A plane in parts between which the run may stop.
template <class T>
etb_status copy_plane_in_parts(KernelContext& context, T* to, const T* from, const Dim& outer,
                               const Dim& inner) {
  if (!context.stop_check().is_watching()) return copy_plane(to, from, outer, inner), ETB_OK;
  constexpr int64_t kTile = 16;
  constexpr int64_t kDensePiece =
      (int64_t{8} << 20) / static_cast<int64_t>(sizeof(T));  // memcpy is that fast
  const bool is_dense = inner.to == 1 && inner.from == 1;
  const int64_t columns = std::min(inner.size, is_dense ? kDensePiece : KernelContext::kPiece / kTile);
  const int64_t rows = is_dense ? std::max<int64_t>(1, kDensePiece / columns)
                                : KernelContext::kPiece / columns / kTile * kTile;
  for (int64_t i = 0; i < outer.size; i += rows) {
    const Dim part_rows = {std::min(rows, outer.size - i), outer.to, outer.from};
    for (int64_t j = 0; j < inner.size; j += columns) {
      const Dim part_columns = {std::min(columns, inner.size - j), inner.to, inner.from};
      if (context.should_stop(part_rows.size * part_columns.size)) return context.stopped();
      copy_plane(to + i * outer.to + j * inner.to, from + i * outer.from + j * inner.from, part_rows,
                 part_columns);
    }
  }
  return ETB_OK;
}

template <class T>
etb_status copy_planes(KernelContext& context, void* to_data, const void* from_data, const Dim* dims,
                       int rank) {
  T* to = static_cast<T*>(to_data);
  const T* from = static_cast<const T*>(from_data);
  int64_t indices[kMaxRank] = {};
  while (true) {
    ETB_CHECK(copy_plane_in_parts(context, to, from, dims[1], dims[0]));
    int dim = 2;
    for (; dim < rank; ++dim) {
      to += dims[dim].to;
      from += dims[dim].from;
      if (++indices[dim] < dims[dim].size) break;
      to -= dims[dim].to * dims[dim].size;
      from -= dims[dim].from * dims[dim].size;
      indices[dim] = 0;
    }
    if (dim >= rank) return ETB_OK;
  }
}

// Dims of size 1 dropped, the destination's fastest first, neighbours merged; at least two.
int simplify(const StridedCopy& copy, Dim* dims) {
  int count = 0;
  for (int i = 0; i < copy.rank; ++i) {
    if (copy.sizes[i] != 1) dims[count++] = {copy.sizes[i], copy.to_strides[i], copy.from_strides[i]};
  }
  std::sort(dims, dims + count,
            [](const Dim& a, const Dim& b) { return std::llabs(a.to) < std::llabs(b.to); });
  int merged = 0;
  for (int i = 0; i < count; ++i) {
    Dim& last = dims[merged > 0 ? merged - 1 : 0];
    if (merged > 0 && dims[i].to == last.to * last.size && dims[i].from == last.from * last.size) {
      last.size *= dims[i].size;
    } else {
      dims[merged++] = dims[i];
    }
  }
  while (merged < 2) dims[merged++] = {1, 0, 0};
  // The plane to tile is spanned by the fastest dims of the two sides.
  for (int i = 2; i < merged; ++i) {
    if (dims[0].from != 1 && dims[i].from == 1) std::swap(dims[1], dims[i]);
  }
  return merged;
}

}  // namespace

etb_status wrap_dim(KernelContext& context, int64_t dim, int rank, int* out_dim) noexcept {
  const std::optional<size_t> axis = ops::wrap_axis(dim, static_cast<size_t>(rank));
  if (!axis) {
    const int64_t count = std::max(rank, 1);
    return context.fail(ETB_INVALID_ARGUMENT, "dim %lld, expected %lld to %lld", static_cast<long long>(dim),
                        static_cast<long long>(-count), static_cast<long long>(count - 1));
  }
  *out_dim = static_cast<int>(*axis);
  return ETB_OK;
}

etb_status wrap_dims(KernelContext& context, IntList list, int rank, DimSet* out_dims) noexcept {
  out_dims->reset();
  if (list.empty()) {
    for (int dim = 0; dim < rank; ++dim) out_dims->set(static_cast<size_t>(dim));
    return ETB_OK;
  }
  for (size_t i = 0; i < list.size(); ++i) {
    int dim = 0;
    ETB_CHECK(wrap_dim(context, list[i], rank, &dim));
    if (out_dims->test(static_cast<size_t>(dim)))
      return context.fail(ETB_INVALID_ARGUMENT, "dim %d appears twice", dim);
    out_dims->set(static_cast<size_t>(dim));
  }
  return ETB_OK;
}

etb_status StridedCopy::run(KernelContext& context) const noexcept {
  constexpr int64_t kWorkOfACall = 4;  // elements that the smallest copy counts as
  if (context.should_stop(kWorkOfACall)) return context.stopped();
  for (int i = 0; i < rank; ++i) {
    if (sizes[i] == 0) return ETB_OK;
  }
  Dim dims[kMaxRank + 2];
  const int count = simplify(*this, dims);
  switch (element_nbytes) {
    case 1:
      return copy_planes<uint8_t>(context, to, from, dims, count);
    case 2:
      return copy_planes<uint16_t>(context, to, from, dims, count);
    case 4:
      return copy_planes<uint32_t>(context, to, from, dims, count);
    case 8:
      return copy_planes<uint64_t>(context, to, from, dims, count);
    case 16:
      return copy_planes<Byte16>(context, to, from, dims, count);
    default:
      return ETB_OK;
  }
}

etb_status copy_tensor(KernelContext& context, const Tensor& from, const Tensor& to) noexcept {
  if (from.has_layout_of(to)) return move_bytes(context, to.data(), from.data(), to.nbytes());
  StridedCopy copy;
  copy.element_nbytes = element_nbytes(to.dtype());
  copy.rank = to.rank();
  copy.to = to.data();
  copy.from = from.data();
  for (int dim = 0; dim < to.rank(); ++dim) {
    copy.sizes[dim] = to.size(dim);
    copy.to_strides[dim] = to.stride(dim);
    copy.from_strides[dim] = from.stride(dim);
  }
  return copy.run(context);
}

}  // namespace etb::host
