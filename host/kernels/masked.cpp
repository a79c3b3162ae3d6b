// SPDX-License-Identifier: Apache-2.0
// aten::nonzero, nonzero_static, masked_select, masked_scatter and repeat_interleave: results whose size or source depends on values.
#include <algorithm>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/broadcast.hpp"
#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/masked_scatter.hpp"
#include "ops/masked_select.hpp"
#include "ops/nonzero.hpp"
#include "ops/nonzero_static.hpp"
#include "ops/repeat_interleave.hpp"

namespace etb::host {
namespace {

// Kernels that count before they write return this when the elements have changed in between. The run time refuses calls whose
// operands overlap, but the caller's memory may change at any time.
etb_status fail_changed(KernelContext& context) {
  return context.fail(ETB_INVALID_STATE, "the input changed while it was read");
}

bool is_nonzero(const ConvertLoops& loops, const Tensor& tensor, int64_t offset) {
  uint8_t truth = 0;
  alignas(8) char value[8];
  const auto compute = static_cast<int>(compute_of(tensor.dtype()));
  loops.load[static_cast<int>(tensor.dtype())][compute](value, element_at(tensor, offset), 1, 1);
  loops.store[static_cast<int>(Dtype::BOOL)][compute](&truth, value, 1, 1);
  return truth != 0;
}

// nonzero(self, out [count, rank])
etb_status nonzero_out(KernelContext& context, ops::nonzero_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  if (!is_arithmetic(self.dtype()) || out.dtype() != Dtype::INT64) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s, expected int64", to_text(self.dtype()),
                        to_text(out.dtype()));
  }
  const ConvertLoops& loops = *vector_table(context).conversions;
  int64_t sizes[2] = {0, self.rank()};
  for (int64_t i = 0; i < self.numel(); ++i) {
    if (context.should_stop(1)) return context.stopped();
    sizes[0] += is_nonzero(loops, self, i) ? 1 : 0;
  }
  ETB_CHECK(resize_output(context, out, sizes));
  int64_t row = 0;
  return for_each_element(context, self, [&](int64_t position, int64_t offset) {
    if (!is_nonzero(loops, self, offset)) return static_cast<etb_status>(ETB_OK);
    if (row == sizes[0]) return fail_changed(context);
    for (int dim = self.rank() - 1; dim >= 0; --dim) {
      out.data_as<int64_t>()[row * out.stride(0) + dim * out.stride(1)] = position % self.size(dim);
      position /= self.size(dim);
    }
    ++row;
    return static_cast<etb_status>(ETB_OK);
  });
}

// nonzero_static(self, size, fill_value, out [size, rank]): the first places, then rows of the fill value.
etb_status nonzero_static_out(KernelContext& context, ops::nonzero_static_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  if (!is_arithmetic(self.dtype()) || out.dtype() != Dtype::INT64)
    return context.fail(ETB_INVALID_TYPE, "%s into %s, expected int64", to_text(self.dtype()),
                        to_text(out.dtype()));
  const int64_t size = args.size(), sizes[2] = {size, self.rank()};
  if (size < 0)
    return context.fail(ETB_INVALID_ARGUMENT, "size is %lld, expected at least 0",
                        static_cast<long long>(size));
  ETB_CHECK(resize_output(context, out, sizes));
  const ConvertLoops& loops = *vector_table(context).conversions;
  const auto place = [&](int64_t row, int dim) -> int64_t& {
    return out.data_as<int64_t>()[row * out.stride(0) + dim * out.stride(1)];
  };
  int64_t row = 0;
  ETB_CHECK(for_each_element(context, self, [&](int64_t position, int64_t offset) {
    if (row == size || !is_nonzero(loops, self, offset)) return static_cast<etb_status>(ETB_OK);
    for (int dim = self.rank() - 1; dim >= 0; --dim) {
      place(row, dim) = position % self.size(dim);
      position /= self.size(dim);
    }
    ++row;
    return static_cast<etb_status>(ETB_OK);
  }));
  for (; row < size; ++row) {
    if (context.should_stop(self.rank() + 1)) return context.stopped();
    for (int dim = 0; dim < self.rank(); ++dim) place(row, dim) = args.fill_value();
  }
  return ETB_OK;
}

// A tensor seen with broadcast sizes: the offset of a row-major position.
struct Broadcast {
  int64_t sizes[kMaxRank];
  int rank = 0;
  int64_t numel = 1;

  etb_status read(KernelContext& context, const Tensor& a, const Tensor& b) {
    rank = std::max(a.rank(), b.rank());
    std::fill_n(sizes, rank, 1);
    for (const Tensor* tensor : {&a, &b}) {
      if (!ops::broadcast_into(ops::Numbers(), tensor->sizes(), sizes, static_cast<size_t>(rank))) {
        return context.fail(ETB_INVALID_ARGUMENT, "sizes %s and %s do not broadcast",
                            SizesText(a.sizes()).text, SizesText(b.sizes()).text);
      }
    }
    if (count_elements({sizes, static_cast<size_t>(rank)}, &numel)) return ETB_OK;
    return context.fail(ETB_INVALID_ARGUMENT, "sizes %s and %s broadcast to too many elements",
                        SizesText(a.sizes()).text, SizesText(b.sizes()).text);
  }
  int64_t offset(const Tensor& tensor, int64_t position) const {
    int64_t result = 0;
    for (int dim = rank - 1; dim >= 0; --dim) {
      const int own = dim - (rank - tensor.rank());
      if (own >= 0 && tensor.size(own) != 1) result += position % sizes[dim] * tensor.stride(own);
      position /= sizes[dim];
    }
    return result;
  }
};

etb_status expect_mask(KernelContext& context, const Tensor& mask) {
  if (is_bool(mask.dtype()) || mask.dtype() == Dtype::UINT8) return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "the mask is %s, expected bool", to_text(mask.dtype()));
}

etb_status masked_select_out(KernelContext& context, ops::masked_select_out<KernelArguments> args) {
  const Tensor &self = args.self(), &mask = args.mask();
  Tensor& out = args.out();
  Broadcast shape;
  ETB_CHECK(expect_mask(context, mask));
  ETB_CHECK(expect_same_dtype(context, self, out));
  ETB_CHECK(shape.read(context, self, mask));
  const auto is_picked = [&](int64_t position) {
    return mask.data_as<uint8_t>()[shape.offset(mask, position)] != 0;
  };
  int64_t count = 0;
  for (int64_t i = 0; i < shape.numel; ++i) {
    if (context.should_stop(1)) return context.stopped();
    count += is_picked(i) ? 1 : 0;
  }
  ETB_CHECK(resize_output(context, out, {&count, 1}));
  int64_t at = 0;
  for (int64_t i = 0; i < shape.numel; ++i) {
    if (context.should_stop(1)) return context.stopped();
    if (!is_picked(i)) continue;
    if (at == count) return fail_changed(context);
    copy_element(self, shape.offset(self, i), out, at++);
  }
  return ETB_OK;
}

// masked_scatter(self, mask, source, out): the source's elements in order where the mask is true.
etb_status masked_scatter_out(KernelContext& context, ops::masked_scatter_out<KernelArguments> args) {
  const Tensor &self = args.self(), &mask = args.mask(), &source = args.source();
  Tensor& out = args.out();
  Broadcast shape;
  ETB_CHECK(expect_mask(context, mask));
  ETB_CHECK(expect_same_dtype(context, self, out));
  ETB_CHECK(expect_same_dtype(context, self, source));
  ETB_CHECK(shape.read(context, self, mask));
  ETB_CHECK(resize_output(context, out, {shape.sizes, static_cast<size_t>(shape.rank)}));
  int64_t at = 0;
  for (int64_t i = 0; i < shape.numel; ++i) {
    if (context.should_stop(1)) return context.stopped();
    const int64_t to = shape.offset(out, i);
    if (mask.data_as<uint8_t>()[shape.offset(mask, i)] == 0) {
      copy_element(self, shape.offset(self, i), out, to);
    } else if (at == source.numel()) {
      return context.fail(ETB_INVALID_ARGUMENT, "the source has %lld elements, the mask asks for more",
                          static_cast<long long>(at));
    } else {
      copy_element(source, row_major_offset(source, at++), out, to);
    }
  }
  return ETB_OK;
}

// repeat_interleave(repeats, output_size, out): index i repeats[i] times.
etb_status repeat_interleave_out(KernelContext& context,
                                 ops::repeat_interleave_Tensor_out<KernelArguments> args) {
  const Tensor& repeats = args.repeats();
  Tensor& out = args.out();
  if (repeats.rank() != 1)
    return context.fail(ETB_INVALID_ARGUMENT, "repeats have rank %d, expected 1", repeats.rank());
  ETB_CHECK(expect_index(context, repeats));
  ETB_CHECK(expect_index(context, out));
  int64_t count = 0;
  for (int64_t i = 0; i < repeats.numel(); ++i) {
    if (context.should_stop(1)) return context.stopped();
    const int64_t one = index_at(repeats, i);
    if (one < 0 || __builtin_add_overflow(count, one, &count)) {
      return context.fail(ETB_INVALID_ARGUMENT, "repeat %lld is %lld", static_cast<long long>(i),
                          static_cast<long long>(one));
    }
  }
  if (args.output_size().has_value() && *args.output_size() != count) {
    return context.fail(ETB_INVALID_ARGUMENT, "output_size is %lld, the repeats add up to %lld",
                        static_cast<long long>(*args.output_size()), static_cast<long long>(count));
  }
  ETB_CHECK(resize_output(context, out, {&count, 1}));
  int64_t at = 0;
  for (int64_t i = 0; i < repeats.numel(); ++i) {
    if (context.should_stop(1)) return context.stopped();
    const int64_t repeat = index_at(repeats, i);
    if (repeat > count - at) return fail_changed(context);
    for (int64_t k = 0; k < repeat; ++k) {
      if (context.should_stop(1)) return context.stopped();
      store_element(*vector_table(context).conversions, out, at++, i);
    }
  }
  return ETB_OK;
}

constexpr Kernel kRows[] = {
    kernel_row<ops::nonzero_out, nonzero_out>(),
    kernel_row<ops::nonzero_static_out, nonzero_static_out>(),
    kernel_row<ops::masked_select_out, masked_select_out>(),
    kernel_row<ops::masked_scatter_out, masked_scatter_out>(),
    kernel_row<ops::repeat_interleave_Tensor_out, repeat_interleave_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(masked, kRows);

}  // namespace etb::host
