// SPDX-License-Identifier: Apache-2.0
// The kernel of tests/fixtures/custom_op for the official runtime: registers itself when the library is
// loaded. check_custom_op.py builds it with the headers of the installed wheel.
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/runtime/kernel/kernel_includes.h>

namespace {

namespace et = executorch::runtime;
using executorch::aten::Tensor;

Tensor& scale_out(et::KernelRuntimeContext& context, const Tensor& x, double factor, Tensor& out) {
  const bool has_size = et::resize_tensor(out, x.sizes()) == et::Error::Ok;
  ET_KERNEL_CHECK(context, has_size, InvalidArgument, out);
  for (ssize_t i = 0; i < x.numel(); ++i)
    out.mutable_data_ptr<float>()[i] = x.const_data_ptr<float>()[i] * static_cast<float>(factor);
  return out;
}

}  // namespace

EXECUTORCH_LIBRARY(my, "scale.out", scale_out);
