// SPDX-License-Identifier: Apache-2.0
// aten::_adaptive_avg_pool2d_backward, avg_pool2d_backward and max_pool2d_with_indices_backward.
#include <algorithm>
#include <cstring>

#include "etb/cpp/fail.hpp"
#include "host/kernels/adaptive_ranges.hpp"
#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "host/kernels/pool_sizes.hpp"
#include "ops/_adaptive_avg_pool2d_backward.hpp"
#include "ops/avg_pool2d_backward.hpp"
#include "ops/max_pool2d_with_indices_backward.hpp"

namespace etb::host {
namespace {

// Planes of up to three spatial dims (missing ones have size 1) of a tensor and the walk over its other dims.
struct Planes {
  int64_t size[3] = {1, 1, 1}, stride[3] = {};
  RowWalk walk;

  Planes(const Tensor& tensor, int spatial_rank) : walk(tensor, spatial_dims(tensor, spatial_rank)) {
    for (int i = 0; i < spatial_rank; ++i) {
      size[3 - spatial_rank + i] = tensor.size(tensor.rank() - spatial_rank + i);
      stride[3 - spatial_rank + i] = tensor.stride(tensor.rank() - spatial_rank + i);
    }
  }
  int64_t offset(int64_t d, int64_t r, int64_t c) const {
    return walk.offset() + d * stride[0] + r * stride[1] + c * stride[2];
  }
};

// Calls visit(d, r, c) for every position of a box of three ranges, until the run has to stop.
template <class Visit>
void for_each_in(KernelContext& context, const int64_t (&first)[3], const int64_t (&end)[3], Visit visit) {
  for (int64_t d = first[0]; d < end[0]; ++d) {
    for (int64_t r = first[1]; r < end[1]; ++r) {
      for (int64_t c = first[2]; c < end[2]; ++c) {
        if (context.should_stop(1)) return;
        visit(d, r, c);
      }
    }
  }
}

// Adds `value` to an element; sums of 16-bit floats are rounded at every step, as PyTorch's are.
void add_to(const ConvertLoops& loops, const Tensor& tensor, int64_t offset, double value) {
  store_element(loops, tensor, offset, load_element<double>(loops, tensor, offset) + value);
}

// A number as the dtype holds it.
double rounded(const ConvertLoops& loops, Dtype dtype, double value) {
  alignas(8) char element[8];
  loops.store[static_cast<int>(dtype)][static_cast<int>(Compute::kDouble)](element, &value, 1, 1);
  loops.load[static_cast<int>(dtype)][static_cast<int>(Compute::kDouble)](&value, element, 1, 1);
  return value;
}

etb_status start_gradient(KernelContext& context, const Tensor& grad, const Tensor& self, Tensor& out) {
  if (!is_floating(self.dtype()))
    return context.fail(ETB_INVALID_TYPE, "the input is %s, expected a float", to_text(self.dtype()));
  ETB_CHECK(expect_same_dtype(context, self, out));
  ETB_CHECK(expect_same_dtype(context, self, grad));
  bool fits = grad.rank() == self.rank() && (self.rank() == 3 || self.rank() == 4);
  for (int dim = 0; fits && dim < self.rank() - 2; ++dim) fits = grad.size(dim) == self.size(dim);
  if (!fits)
    return context.fail(ETB_INVALID_ARGUMENT, "a gradient of %s for %s", SizesText(grad.sizes()).text,
                        SizesText(self.sizes()).text);
  ETB_CHECK(resize_output(context, out, self.sizes()));
  return clear_bytes(context, out.data(), out.nbytes());
}

etb_status adaptive_backward_out(KernelContext& context,
                                 ops::_adaptive_avg_pool2d_backward_out<KernelArguments> args) {
  const Tensor &grad = args.grad_output(), &self = args.self();
  Tensor& out = args.out();
  ETB_CHECK(start_gradient(context, grad, self, out));
  if (grad.numel() == 0 || out.numel() == 0) return ETB_OK;
  const ConvertLoops& loops = *vector_table(context).conversions;
  Planes from(grad, 2), to(out, 2);
  for (int64_t plane = 0; plane < from.walk.row_count() && !context.should_stop(1);
       ++plane, from.walk.advance(), to.walk.advance()) {
    for_each_in(context, {0, 0, 0}, from.size, [&](int64_t d, int64_t r, int64_t c) {
      const int64_t first[3] = {0, adaptive_first(r, to.size[1], from.size[1]),
                                adaptive_first(c, to.size[2], from.size[2])};
      const int64_t end[3] = {1, adaptive_end(r, to.size[1], from.size[1]),
                              adaptive_end(c, to.size[2], from.size[2])};
      const double share = load_element<double>(loops, grad, from.offset(d, r, c)) /
                           static_cast<double>((end[1] - first[1]) * (end[2] - first[2]));
      for_each_in(context, first, end,
                  [&](int64_t x, int64_t y, int64_t z) { add_to(loops, out, to.offset(x, y, z), share); });
    });
  }
  return ETB_OK;
}

bool read_pair(const IntList& list, const IntList& fallback, int64_t (&out_pair)[2]) {
  const IntList& used = list.empty() ? fallback : list;
  if (used.empty() || used.size() > 2) return false;
  out_pair[0] = used[0];
  out_pair[1] = used.size() == 2 ? used[1] : used[0];
  return out_pair[0] >= 0 && out_pair[1] >= 0 && out_pair[0] < int64_t{1} << 31 &&
         out_pair[1] < int64_t{1} << 31;
}

etb_status avg_pool_backward_out(KernelContext& context,
                                 ops::avg_pool2d_backward_grad_input<KernelArguments> args) {
  const Tensor &grad = args.grad_output(), &self = args.self();
  Tensor& out = args.grad_input();
  int64_t kernel[2], stride[2], padding[2];
  const bool is_valid = read_pair(args.kernel_size(), {}, kernel) &&
                        read_pair(args.stride(), args.kernel_size(), stride) &&
                        read_pair(args.padding(), {}, padding) && kernel[0] > 0 && kernel[1] > 0 &&
                        stride[0] > 0 && stride[1] > 0;
  const int64_t given = args.divisor_override().value_or(0);
  if (!is_valid || (args.divisor_override().has_value() && given == 0))
    return context.fail(ETB_INVALID_ARGUMENT, "kernel, stride, padding or divisor is out of range");
  ETB_CHECK(start_gradient(context, grad, self, out));
  if (grad.numel() == 0 || out.numel() == 0) return ETB_OK;
  const bool counts_padding = args.count_include_pad();
  const ConvertLoops& loops = *vector_table(context).conversions;
  Planes from(grad, 2), to(out, 2);
  for (int64_t plane = 0; plane < from.walk.row_count() && !context.should_stop(1);
       ++plane, from.walk.advance(), to.walk.advance()) {
    for_each_in(context, {0, 0, 0}, from.size, [&](int64_t d, int64_t r, int64_t c) {
      const int64_t index[2] = {r, c};
      int64_t first[3] = {0, 0, 0}, end[3] = {1, 0, 0}, padded = 1, inside = 1;
      for (int i = 0; i < 2; ++i) {
        const int64_t begin = index[i] * stride[i] - padding[i],
                      stop = std::min(begin + kernel[i], to.size[i + 1] + padding[i]);
        // Windows of a gradient that is larger than it should be are outside.
        padded *= std::max<int64_t>(stop - begin, 0);
        first[i + 1] = std::max<int64_t>(begin, 0);
        end[i + 1] = std::min(stop, to.size[i + 1]);
        inside *= std::max<int64_t>(end[i + 1] - first[i + 1], 0);
      }
      const int64_t divisor = given != 0 ? given : counts_padding ? padded : inside;
      if (divisor == 0) return;
      const double share =
          rounded(loops, out.dtype(),
                  load_element<double>(loops, grad, from.offset(d, r, c)) / static_cast<double>(divisor));
      for_each_in(context, first, end,
                  [&](int64_t x, int64_t y, int64_t z) { add_to(loops, out, to.offset(x, y, z), share); });
    });
  }
  return ETB_OK;
}

etb_status max_pool_backward_out(KernelContext& context,
                                 ops::max_pool2d_with_indices_backward_grad_input<KernelArguments> args) {
  const Tensor &grad = args.grad_output(), &self = args.self(), &indices = args.indices();
  Tensor& out = args.grad_input();
  ETB_CHECK(start_gradient(context, grad, self, out));
  if (indices.dtype() != Dtype::INT64 || indices.rank() != grad.rank() ||
      !std::equal(indices.sizes().begin(), indices.sizes().end(), grad.sizes().begin())) {
    return context.fail(ETB_INVALID_ARGUMENT, "indices are %s %s", to_text(indices.dtype()),
                        SizesText(indices.sizes()).text);
  }
  if (grad.numel() == 0 || out.numel() == 0) return ETB_OK;
  const ConvertLoops& loops = *vector_table(context).conversions;
  Planes from(grad, 2), at(indices, 2), to(out, 2);
  const int64_t plane_numel = to.size[1] * to.size[2];
  etb_status status = ETB_OK;
  for (int64_t plane = 0; plane < from.walk.row_count() && !context.should_stop(1);
       ++plane, from.walk.advance(), at.walk.advance(), to.walk.advance()) {
    for_each_in(context, {0, 0, 0}, from.size, [&](int64_t d, int64_t r, int64_t c) {
      const int64_t index = index_at(indices, at.offset(d, r, c));
      if (index < 0 || index >= plane_numel) {
        status = fail_index(context, index, plane_numel);
        return;
      }
      add_to(loops, out, to.offset(0, index / to.size[2], index % to.size[2]),
             load_element<double>(loops, grad, from.offset(d, r, c)));
    });
  }
  return status;
}

constexpr Kernel kRows[] = {
    kernel_row<ops::_adaptive_avg_pool2d_backward_out, adaptive_backward_out>(),
    kernel_row<ops::avg_pool2d_backward_grad_input, avg_pool_backward_out>(),
    kernel_row<ops::max_pool2d_with_indices_backward_grad_input, max_pool_backward_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(pool_backward, kRows);

}  // namespace etb::host
