// SPDX-License-Identifier: Apache-2.0
// aten::hash_tensor: the exclusive or of the elements' bits, as float64 or int64, along dims.
#include <algorithm>
#include <cstring>

#include "host/kernels/kernel.hpp"
#include "host/kernels/rows.hpp"
#include "ops/hash_tensor.hpp"

namespace etb::host {
namespace {

template <class T>
etb_status hash_rows(KernelContext& context, const Tensor& self, const DimSet& dims, Tensor& out) {
  constexpr int64_t kChunk = 512;
  const ConvertLoops& loops = *vector_table(context).conversions;
  RowWalk from(self, dims);
  for (int64_t row = 0; row < from.row_count(); ++row, from.advance()) {
    uint64_t hash = 0;
    for (int64_t begin = 0; begin < from.row_numel(); begin += kChunk) {
      const int64_t count = std::min(kChunk, from.row_numel() - begin);
      if (context.should_stop(count)) return context.stopped();
      T items[kChunk];
      uint64_t bits[kChunk];
      from.load(loops, kComputeOf<T>, items, begin, count);
      std::memcpy(bits, items, static_cast<size_t>(count) * sizeof(T));
      for (int64_t i = 0; i < count; ++i) hash ^= bits[i];
    }
    if (context.should_stop(1)) return context.stopped();
    out.data_as<uint64_t>()[row_major_offset(out, row)] = hash;
  }
  return ETB_OK;
}

// hash_tensor(self, dim, keepdim, mode, out)
etb_status hash_tensor_out(KernelContext& context, ops::hash_tensor_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  if (!is_arithmetic(self.dtype()) || out.dtype() != Dtype::UINT64)
    return context.fail(ETB_INVALID_TYPE, "%s into %s, expected numbers into uint64", to_text(self.dtype()),
                        to_text(out.dtype()));
  if (args.mode() != 0)
    return context.fail(ETB_INVALID_ARGUMENT, "mode %lld, expected 0 (exclusive or)",
                        static_cast<long long>(args.mode()));
  DimSet dims;
  ETB_CHECK(wrap_dims(context, args.dim(), self.rank(), &dims));
  int64_t sizes[kMaxRank];
  const size_t rank = reduced_sizes(self, dims, args.keepdim(), sizes);
  ETB_CHECK(resize_output(context, out, {sizes, rank}));
  if (is_floating(self.dtype())) return hash_rows<double>(context, self, dims, out);
  return hash_rows<int64_t>(context, self, dims, out);
}

constexpr Kernel kRows[] = {kernel_row<ops::hash_tensor_out, hash_tensor_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(hash_tensor, kRows);

}  // namespace etb::host
