// SPDX-License-Identifier: Apache-2.0
// Kernels that copy a tensor as a whole: other dtype, other dim order, broadcast.
#include "ops/copy.hpp"
#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/broadcast.hpp"
#include "host/kernels/dims.hpp"
#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "host/kernels/long_loops.hpp"
#include "ops/_conj_physical.hpp"
#include "ops/_to_copy.hpp"
#include "ops/alias_copy.hpp"
#include "ops/clone.hpp"
#include "ops/detach_copy.hpp"
#include "ops/dim_order_ops/_clone_dim_order.hpp"
#include "ops/dim_order_ops/_to_dim_order_copy.hpp"
#include "ops/lift_fresh_copy.hpp"

namespace etb::host {
namespace {

// Converts between complex and other numbers of equal sizes: a real number has an imaginary part of 0, and a complex one gives its real
// part, or for bool whether it is not 0.
class ComplexConversion {
 public:
  ComplexConversion(const ConvertLoops& loops, const Tensor& from, const Tensor& out)
      : from_(from), out_(out), from_parts_(parts_of(from)), out_parts_(parts_of(out)) {
    load_ = loops.load[static_cast<int>(real_part(from.dtype()))][static_cast<int>(Compute::kDouble)];
    store_ = loops.store[static_cast<int>(real_part(out.dtype()))][static_cast<int>(Compute::kDouble)];
  }

  etb_status run(KernelContext& context) {
    if (load_ == nullptr || store_ == nullptr)
      return context.fail(ETB_INVALID_TYPE, "%s into %s", to_text(from_.dtype()), to_text(out_.dtype()));
    DimSet last;
    if (from_.rank() > 0) last.set(static_cast<size_t>(from_.rank()) - 1);
    RowWalk from(from_, last), to(out_, last);
    const int64_t from_step = from_.rank() > 0 ? from_.stride(from_.rank() - 1) : 1,
                  out_step = out_.rank() > 0 ? out_.stride(out_.rank() - 1) : 1;
    for (int64_t row = 0; row < from.row_count(); ++row, from.advance(), to.advance())
      ETB_CHECK(for_each_piece(context, from.row_numel(), [&](int64_t begin, int64_t length) {
        for (int64_t at = begin; at < begin + length; at += kCount)
          convert(from.offset() + at * from_step, from_step, to.offset() + at * out_step, out_step,
                  std::min(kCount, begin + length - at));
      }));
    return ETB_OK;
  }

 private:
  static constexpr int64_t kCount = 256;
  static int64_t parts_of(const Tensor& tensor) { return is_complex(tensor.dtype()) ? 2 : 1; }
  static char* part_at(const Tensor& tensor, int64_t offset, int64_t part) {
    return element_at(tensor, offset) +
           part * static_cast<int64_t>(element_nbytes(real_part(tensor.dtype())));
  }

  void convert(int64_t from_at, int64_t from_step, int64_t out_at, int64_t out_step, int64_t count) {
    double parts[2][kCount] = {};
    for (int64_t part = 0; part < from_parts_; ++part)
      load_(parts[part], part_at(from_, from_at, part), from_step * from_parts_, count);
    if (is_bool(out_.dtype()))
      for (int64_t i = 0; i < count; ++i) parts[0][i] = parts[0][i] != 0 || parts[1][i] != 0 ? 1 : 0;
    for (int64_t part = 0; part < out_parts_; ++part)
      store_(part_at(out_, out_at, part), parts[part], out_step * out_parts_, count);
  }

  const Tensor &from_, &out_;
  int64_t from_parts_, out_parts_;
  ConvertLoop load_, store_;
};

// Converts or copies `from` into `out`, which may be larger: `from` then broadcasts.
etb_status convert(KernelContext& context, const Tensor& from, Tensor& out) {
  if (from.dtype() == out.dtype() && from.rank() == out.rank()) {
    if (std::equal(from.sizes().begin(), from.sizes().end(), out.sizes().begin())) {
      return copy_tensor(context, from, out);
    }
  }
  const bool has_equal_sizes =
      std::equal(from.sizes().begin(), from.sizes().end(), out.sizes().begin(), out.sizes().end());
  if (has_equal_sizes && (is_complex(from.dtype()) || is_complex(out.dtype())))
    return ComplexConversion(*vector_table(context).conversions, from, out).run(context);
  const Operand input(from);
  const ElementLoop* loops = vector_table(context).loops(UnaryOp::copy);
  return run_elements(context, {loops, from.dtype(), out.dtype(), {}}, {&input, 1}, out);
}

etb_status copy_all(KernelContext& context, const Tensor& from, Tensor& out) {
  ETB_CHECK(resize_output(context, out, from.sizes()));
  return convert(context, from, out);
}

// The copy of self as a whole: the output's dim order says what is wanted.
template <class Arguments>
etb_status copy_self(KernelContext& context, Arguments args) {
  return copy_all(context, args.self(), args.out());
}
using SelfAndOut = ops::alias_copy_out<KernelArguments>;
using SelfAndDimOrder = ops::dim_order_ops::_clone_dim_order_out<KernelArguments>;

etb_status expand_into(KernelContext& context, const Tensor& self, const Tensor& source, Tensor& out) {
  ETB_CHECK(resize_output(context, out, self.sizes()));
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
  if (!ops::broadcasts_to(ops::Numbers(), source.sizes(), self.sizes())) {
    return context.fail(ETB_INVALID_ARGUMENT, "sizes %s do not broadcast to %s",
                        SizesText(source.sizes()).text, SizesText(out.sizes()).text);
  }
  const ElementLoop* loops = vector_table(context).loops(UnaryOp::copy);
  return run_elements(context, {loops, source.dtype(), out.dtype(), {}}, inputs, out);
}

// copy(self, src, non_blocking, out): src broadcast to self's sizes.
etb_status copy_out(KernelContext& context, ops::copy_out<KernelArguments> args) {
  return expand_into(context, args.self(), args.src(), args.out());
}

etb_status copy_in_place(KernelContext& context, ops::copy_in_place_default<KernelArguments> args) {
  return expand_into(context, args.self(), args.src(), args.self());
}

constexpr Kernel kRows[] = {
    kernel_row<ops::alias_copy_out, copy_self<SelfAndOut>>(),
    kernel_row<ops::detach_copy_out, copy_self<SelfAndOut>>(),
    kernel_row<ops::lift_fresh_copy_out, copy_self<SelfAndOut>>(),
    kernel_row<ops::_conj_physical_out, copy_self<SelfAndOut>>(),  // reals equal their conjugates
    kernel_row<ops::clone_out, copy_self<ops::clone_out<KernelArguments>>>(),
    kernel_row<ops::_to_copy_out, copy_self<ops::_to_copy_out<KernelArguments>>>(),
    kernel_row<ops::copy_out, copy_out>(),
    kernel_row<ops::copy_in_place_default, copy_in_place>(Overlap::kExact),
    kernel_row<ops::dim_order_ops::_to_dim_order_copy_out, copy_self<SelfAndDimOrder>>(),
    kernel_row<ops::dim_order_ops::_clone_dim_order_out, copy_self<SelfAndDimOrder>>(),
    // ExecuTorch's own, not in schemas.txt.
    {"et_copy::_h2d_copy.out", "TT!", run_kernel<copy_self<SelfAndOut>>},
    {"et_copy::_d2h_copy.out", "TT!", run_kernel<copy_self<SelfAndOut>>},
};

}  // namespace

ETB_PUBLISH_KERNELS(copy, kRows);

}  // namespace etb::host
