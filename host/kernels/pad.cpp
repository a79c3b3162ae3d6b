// SPDX-License-Identifier: Apache-2.0
// aten::constant_pad_nd, reflection_pad and replication_pad in one to three dims.
#include <algorithm>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/view.hpp"
#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/constant_pad_nd.hpp"
#include "ops/reflection_pad1d.hpp"
#include "ops/reflection_pad2d.hpp"
#include "ops/reflection_pad3d.hpp"
#include "ops/replication_pad1d.hpp"
#include "ops/replication_pad2d.hpp"
#include "ops/replication_pad3d.hpp"

namespace etb::host {
namespace {

// The pads of the dims, last dim first in the list: (before, after) a dim.
struct Pads {
  int64_t before[kMaxRank] = {}, after[kMaxRank] = {};

  etb_status read(KernelContext& context, const IntList& list, const Tensor& self) {
    if (list.size() % 2 != 0 || list.size() / 2 > static_cast<size_t>(self.rank())) {
      return context.fail(ETB_INVALID_ARGUMENT, "%zu pads for a tensor of rank %d", list.size(), self.rank());
    }
    for (size_t i = 0; i < list.size() / 2; ++i) {
      const size_t dim = static_cast<size_t>(self.rank()) - 1 - i;
      before[dim] = list[2 * i];
      after[dim] = list[2 * i + 1];
      constexpr int64_t kLargest = int64_t{1} << 47;  // so that no sum below overflows
      if (std::max(before[dim], after[dim]) > kLargest || std::min(before[dim], after[dim]) < -kLargest) {
        return context.fail(ETB_INVALID_ARGUMENT, "dim %zu padded by %lld and %lld", dim,
                            static_cast<long long>(before[dim]), static_cast<long long>(after[dim]));
      }
    }
    return ETB_OK;
  }

  etb_status resize(KernelContext& context, const Tensor& self, Tensor& out) const {
    int64_t sizes[kMaxRank];
    for (int dim = 0; dim < self.rank(); ++dim) {
      ops::Numbers numbers;
      sizes[dim] = ops::padded_size(numbers, self.size(dim), before[dim], after[dim]);
      if (numbers.has_overflowed() || sizes[dim] < 0) {
        return context.fail(ETB_INVALID_ARGUMENT, "dim %d of size %lld padded by %lld and %lld", dim,
                            static_cast<long long>(self.size(dim)), static_cast<long long>(before[dim]),
                            static_cast<long long>(after[dim]));
      }
    }
    return resize_output(context, out, {sizes, static_cast<size_t>(self.rank())});
  }
};

// constant_pad_nd(self, pad, value, out): negative pads cut off.
etb_status constant_pad_out(KernelContext& context, ops::constant_pad_nd_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  Pads pads;
  ETB_CHECK(pads.read(context, args.pad(), self));
  ETB_CHECK(expect_same_dtype(context, self, out));
  if (!is_arithmetic(out.dtype()))
    return context.fail(ETB_INVALID_TYPE, "the output is %s", to_text(out.dtype()));
  ETB_CHECK(pads.resize(context, self, out));
  if (out.numel() == 0) return ETB_OK;
  const ConvertLoops& loops = *vector_table(context).conversions;
  args.value().is_double() ? store_element(loops, out, 0, args.value().to_double())
                           : store_element(loops, out, 0, args.value().to_int());
  StridedCopy fill;
  fill.element_nbytes = element_nbytes(out.dtype());
  fill.rank = 1;
  fill.sizes[0] = out.numel() - 1;
  fill.to = element_at(out, 1);
  fill.to_strides[0] = 1;
  fill.from = out.data();
  fill.from_strides[0] = 0;
  ETB_CHECK(fill.run(context));
  StridedCopy copy;
  copy.element_nbytes = fill.element_nbytes;
  copy.rank = self.rank();
  int64_t to = 0, from = 0;
  for (int dim = 0; dim < self.rank(); ++dim) {
    const int64_t cut_before = std::max<int64_t>(0, -pads.before[dim]),
                  cut_after = std::max<int64_t>(0, -pads.after[dim]);
    copy.sizes[dim] = std::max<int64_t>(0, self.size(dim) - cut_before - cut_after);
    if (copy.sizes[dim] == 0) return ETB_OK;  // the dim is all padding, which may be longer than the output
    copy.to_strides[dim] = out.stride(dim);
    copy.from_strides[dim] = self.stride(dim);
    to += std::max<int64_t>(0, pads.before[dim]) * out.stride(dim);
    from += cut_before * self.stride(dim);
  }
  copy.to = element_at(out, to);
  copy.from = element_at(self, from);
  return copy.run(context);
}

int64_t reflected(int64_t index, int64_t size) {
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1);
  const int64_t within = (index % period + period) % period;
  return within < size ? within : period - within;
}

// pad(self, padding, out) over the last `spatial_rank` dims, with one or no dim for the batch.
template <int spatial_rank, bool reflects>
etb_status edge_pad_out(KernelContext& context, ops::reflection_pad1d_out<KernelArguments> args) {
  const Tensor& self = args.self();
  const IntList list = args.padding();
  Tensor& out = args.out();
  if (self.rank() < spatial_rank + 1 || self.rank() > spatial_rank + 2 ||
      list.size() != 2 * static_cast<size_t>(spatial_rank)) {
    return context.fail(ETB_INVALID_ARGUMENT, "%zu pads for a tensor of rank %d", list.size(), self.rank());
  }
  Pads pads;
  ETB_CHECK(pads.read(context, list, self));
  ETB_CHECK(expect_same_dtype(context, self, out));
  for (int dim = self.rank() - spatial_rank; dim < self.rank(); ++dim) {
    const int64_t size = self.size(dim), most = std::max(pads.before[dim], pads.after[dim]);
    if (size == 0 || (reflects && most >= size)) {
      return context.fail(ETB_INVALID_ARGUMENT, "dim %d of size %lld padded by %lld", dim,
                          static_cast<long long>(size), static_cast<long long>(most));
    }
  }
  ETB_CHECK(pads.resize(context, self, out));
  return for_each_element(context, out, [&](int64_t position, int64_t offset) {
    int64_t from = 0;
    for (int dim = out.rank() - 1; dim >= 0; --dim) {
      const int64_t index = position % out.size(dim) - pads.before[dim];
      position /= out.size(dim);
      from +=
          (reflects ? reflected(index, self.size(dim)) : std::clamp<int64_t>(index, 0, self.size(dim) - 1)) *
          self.stride(dim);
    }
    copy_element(self, from, out, offset);
    return static_cast<etb_status>(ETB_OK);
  });
}

constexpr Kernel kRows[] = {
    kernel_row<ops::constant_pad_nd_out, constant_pad_out>(),
    kernel_row<ops::reflection_pad1d_out, edge_pad_out<1, true>>(),
    kernel_row<ops::reflection_pad2d_out, edge_pad_out<2, true>>(),
    kernel_row<ops::reflection_pad3d_out, edge_pad_out<3, true>>(),
    kernel_row<ops::replication_pad1d_out, edge_pad_out<1, false>>(),
    kernel_row<ops::replication_pad2d_out, edge_pad_out<2, false>>(),
    kernel_row<ops::replication_pad3d_out, edge_pad_out<3, false>>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(pad, kRows);

}  // namespace etb::host
