// SPDX-License-Identifier: Apache-2.0
// Kernels that copy a tensor as a whole: other dtype, other dim order, broadcast.
#include "host/kernels/dims.hpp"
#include "host/kernels/kernel.hpp"

namespace etb::host {
namespace {

// Converts or copies `from` into `out`, which may be larger: `from` then broadcasts.
etb_status convert(KernelContext& context, const Tensor& from, Tensor& out) {
  if (from.dtype() == out.dtype() && from.rank() == out.rank()) {
    if (std::equal(from.sizes().begin(), from.sizes().end(), out.sizes().begin())) {
      return copy_tensor(context, from, out);
    }
  }
  const Operand input(from);
  const ElementLoop* loops = vector_table(context).elements->unary[static_cast<int>(UnaryOp::copy)];
  return run_elements(context, {loops, from.dtype(), out.dtype(), {}}, {&input, 1}, out);
}

etb_status copy_all(KernelContext& context, const Tensor& from, Tensor& out) {
  if (const etb_status status = resize_output(context, out, from.sizes()); status != ETB_OK) return status;
  return convert(context, from, out);
}

// clone(self, memory_format, out) and alike: the output's dim order says what is wanted.
etb_status first_to_last_of_2(KernelContext& context, EValue** args) {
  return copy_all(context, args[0]->tensor(), args[1]->tensor());
}
etb_status first_to_last_of_3(KernelContext& context, EValue** args) {
  return copy_all(context, args[0]->tensor(), args[2]->tensor());
}
etb_status first_to_last_of_4(KernelContext& context, EValue** args) {
  return copy_all(context, args[0]->tensor(), args[3]->tensor());
}

etb_status expand_into(KernelContext& context, const Tensor& self, const Tensor& source, Tensor& out) {
  if (const etb_status status = resize_output(context, out, self.sizes()); status != ETB_OK) return status;
  const Operand input(source);
  const bool is_same_size = source.rank() == out.rank() &&
                            std::equal(source.sizes().begin(), source.sizes().end(), out.sizes().begin());
  if (is_same_size) return convert(context, source, out);
  if (source.rank() > out.rank()) {
    return context.fail(ETB_INVALID_ARGUMENT, "sizes %s do not broadcast to %s",
                        SizesText(source.sizes()).text, SizesText(out.sizes()).text);
  }
  // `self` takes part only with its sizes: the second operand of a loop that returns the first.
  int64_t no_strides[kMaxRank] = {};
  const Operand inputs[] = {input, Operand::view(source.data(), source.dtype(), self.sizes(),
                                                 {no_strides, static_cast<size_t>(self.rank())})};
  for (int dim = 0; dim < source.rank(); ++dim) {
    const int64_t wanted = self.size(self.rank() - source.rank() + dim);
    if (source.size(dim) != 1 && source.size(dim) != wanted) {
      return context.fail(ETB_INVALID_ARGUMENT, "sizes %s do not broadcast to %s",
                          SizesText(source.sizes()).text, SizesText(out.sizes()).text);
    }
  }
  const ElementLoop* loops = vector_table(context).elements->unary[static_cast<int>(UnaryOp::copy)];
  return run_elements(context, {loops, source.dtype(), out.dtype(), {}}, inputs, out);
}

// copy(self, src, non_blocking, out): src broadcast to self's sizes.
etb_status copy_out(KernelContext& context, EValue** args) {
  return expand_into(context, args[0]->tensor(), args[1]->tensor(), args[3]->tensor());
}

etb_status copy_in_place(KernelContext& context, EValue** args) {
  return expand_into(context, args[0]->tensor(), args[1]->tensor(), args[0]->tensor());
}

constexpr Kernel kRows[] = {
    {"aten::alias_copy.out", "TT!", first_to_last_of_2},
    {"aten::detach_copy.out", "TT!", first_to_last_of_2},
    {"aten::lift_fresh_copy.out", "TT!", first_to_last_of_2},
    {"aten::_conj_physical.out", "TT!", first_to_last_of_2},  // of reals
    {"aten::clone.out", "TnT!", first_to_last_of_3},
    {"aten::_to_copy.out", "TbnT!", first_to_last_of_4},
    {"aten::copy.out", "TTbT!", copy_out},
    {"aten::copy_", "T!T=b", copy_in_place},
    {"dim_order_ops::_to_dim_order_copy.out", "TbjT!", first_to_last_of_4},
    {"dim_order_ops::_clone_dim_order.out", "TbjT!", first_to_last_of_4},
    {"et_copy::_h2d_copy.out", "TT!", first_to_last_of_2},
    {"et_copy::_d2h_copy.out", "TT!", first_to_last_of_2},
};

}  // namespace

ETB_PUBLISH_KERNELS(copy, kRows);

}  // namespace etb::host
