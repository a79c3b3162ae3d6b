// Reading index tensors, whose values a program controls: every one is checked before it is used.
#pragma once

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
