// SPDX-License-Identifier: Apache-2.0
// Reading index tensors, whose values a program controls: every one is checked before it is used.
#pragma once

#include <algorithm>
#include <cstring>

#include "etb/cpp/fail.hpp"
#include "host/kernels/rows.hpp"

namespace etb::host {

constexpr bool is_index_dtype(Dtype dtype) noexcept { return dtype == Dtype::INT64 || dtype == Dtype::INT32; }

// The index at an offset in elements of an int32 or int64 tensor.
inline int64_t index_at(const Tensor& tensor, int64_t offset) noexcept {
  if (tensor.dtype() == Dtype::INT64) return tensor.data_as<int64_t>()[offset];
  return tensor.data_as<int32_t>()[offset];
}

// Walks all elements of a tensor in row-major order; `visit(position in row-major order, offset)` returns a status, the first error
// ends the walk, as the end of the run does.
template <class Visit>
etb_status for_each_element(KernelContext& context, const Tensor& tensor, Visit visit) {
  int64_t indices[kMaxRank] = {}, offset = 0;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    constexpr int64_t kElements = 256;
    if (i % kElements == 0 && context.should_stop(kElements)) return context.stopped();
    ETB_CHECK(visit(i, offset));
    for (int dim = tensor.rank() - 1; dim >= 0; --dim) {
      offset += tensor.stride(dim);
      if (++indices[dim] < tensor.size(dim)) break;
      offset -= tensor.stride(dim) * tensor.size(dim);
      indices[dim] = 0;
    }
  }
  return ETB_OK;
}

inline char* element_at(const Tensor& tensor, int64_t offset) noexcept {
  return tensor.data_as<char>() + offset * static_cast<int64_t>(element_nbytes(tensor.dtype()));
}

inline void copy_element(const Tensor& from, int64_t from_offset, const Tensor& to,
                         int64_t to_offset) noexcept {
  const size_t nbytes = element_nbytes(to.dtype());
  const char* source = element_at(from, from_offset);
  char* target = element_at(to, to_offset);
  switch (nbytes) {  // constant sizes become single moves
    case 1:
      std::memcpy(target, source, 1);
      break;
    case 2:
      std::memcpy(target, source, 2);
      break;
    case 4:
      std::memcpy(target, source, 4);
      break;
    case 8:
      std::memcpy(target, source, 8);
      break;
    default:
      std::memcpy(target, source, nbytes);
      break;
  }
}

// Calls f(copy), where copy(to, from) takes pointers to elements of this size; constant sizes become single moves.
template <class F>
auto with_element_copy(size_t nbytes, F f) {
  switch (nbytes) {
    case 1:
      return f([](char* to, const char* from) { std::memcpy(to, from, 1); });
    case 2:
      return f([](char* to, const char* from) { std::memcpy(to, from, 2); });
    case 4:
      return f([](char* to, const char* from) { std::memcpy(to, from, 4); });
    case 8:
      return f([](char* to, const char* from) { std::memcpy(to, from, 8); });
    default:
      return f([nbytes](char* to, const char* from) { std::memcpy(to, from, nbytes); });
  }
}

// One element as T and back.
template <class T>
T load_element(const ConvertLoops& loops, const Tensor& tensor, int64_t offset) noexcept {
  T value;
  loops.load[static_cast<int>(tensor.dtype())][static_cast<int>(kComputeOf<T>)](
      &value, element_at(tensor, offset), 1, 1);
  return value;
}
template <class T>
void store_element(const ConvertLoops& loops, const Tensor& tensor, int64_t offset, T value) noexcept {
  loops.store[static_cast<int>(tensor.dtype())][static_cast<int>(kComputeOf<T>)](element_at(tensor, offset),
                                                                                 &value, 1, 1);
}

inline etb_status fail_index(KernelContext& context, int64_t index, int64_t size) {
  return context.fail(ETB_INVALID_ARGUMENT, "index %lld in a dim of size %lld", static_cast<long long>(index),
                      static_cast<long long>(size));
}

// Walks an index tensor in row-major order. `first` and `second` are strides, for each of its dims, of two tensors whose offsets go
// along. Calls visit(index, offset in the first, offset in the second) with each index, after the check that it is in [0, size).
template <class Visit>
etb_status for_each_index(KernelContext& context, const Tensor& index, int64_t size, const int64_t* first,
                          const int64_t* second, Visit visit) {
  const int last = index.rank() - 1;
  const int64_t length = last < 0 ? 1 : index.size(last), step = last < 0 ? 0 : index.stride(last),
                first_step = last < 0 ? 0 : first[last], second_step = last < 0 ? 0 : second[last];
  const int64_t* const wide = index.dtype() == Dtype::INT64 ? index.data_as<int64_t>() : nullptr;
  const int32_t* const narrow = index.data_as<int32_t>();
  int64_t indices[kMaxRank] = {}, offset = 0, first_offset = 0, second_offset = 0;
  for (int64_t done = 0; done < index.numel(); done += length) {
    for (int64_t begin = 0; begin < length; begin += KernelContext::kPiece / 16) {
      const int64_t end = std::min(begin + KernelContext::kPiece / 16, length);
      if (context.should_stop(1 + 4 * (end - begin))) return context.stopped();
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = wide != nullptr ? wide[offset + i * step] : narrow[offset + i * step];
        if (at < 0 || at >= size) return fail_index(context, at, size);
        visit(at, first_offset + i * first_step, second_offset + i * second_step);
      }
    }
    for (int dim = last - 1; dim >= 0; --dim) {
      offset += index.stride(dim), first_offset += first[dim], second_offset += second[dim];
      if (++indices[dim] < index.size(dim)) break;
      offset -= index.stride(dim) * index.size(dim);
      first_offset -= first[dim] * index.size(dim), second_offset -= second[dim] * index.size(dim);
      indices[dim] = 0;
    }
  }
  return ETB_OK;
}

// The strides of a tensor for the dims of an index; 0 for `without`, and for all if the tensor has rank 0.
inline void fill_index_strides(const Tensor& tensor, int rank, int without, int64_t* out_strides) noexcept {
  for (int dim = 0; dim < rank; ++dim)
    out_strides[dim] = dim == without || tensor.rank() == 0 ? 0 : tensor.stride(dim);
}

inline etb_status expect_index(KernelContext& context, const Tensor& index) {
  if (is_index_dtype(index.dtype())) return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "an index is %s, expected int64 or int32", to_text(index.dtype()));
}

inline etb_status expect_same_dtype(KernelContext& context, const Tensor& self, const Tensor& out) {
  if (self.dtype() == out.dtype()) return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "%s and %s, expected the same dtype", to_text(self.dtype()),
                      to_text(out.dtype()));
}

}  // namespace etb::host
