// SPDX-License-Identifier: Apache-2.0
// Two shared libraries for kernel_library_test.cpp: one with a custom operator, out = self * factor, one
// (ETB_TEST_REPLACES) with another kernel for a built-in operator: aten::add.out fills its result with 42.
#include "host/module/kernel_library.hpp"

namespace {

using namespace etb::host;

#ifdef ETB_TEST_REPLACES
etb_status fill(KernelContext&, EValue** args) {
  Tensor& out = args[3]->tensor();
  for (int64_t i = 0; i < out.numel(); ++i) out.data_as<float>()[i] = 42;
  return ETB_OK;
}

constexpr Kernel kRows[] = {Kernel("aten::add.out", "TTST!", &fill)};
#else
etb_status scale(KernelContext& context, EValue** args) {
  const Tensor& self = args[0]->tensor();
  Tensor& out = args[2]->tensor();
  if (self.dtype() != Dtype::FLOAT32 || out.dtype() != Dtype::FLOAT32)
    return context.fail(ETB_INVALID_TYPE, "not float32");
  if (const etb_status status = out.resize(self.sizes()); status != ETB_OK)
    return context.fail(status, "out does not fit");
  const auto factor = static_cast<float>(args[1]->to_double());
  for (int64_t i = 0; i < self.numel(); ++i) out.data_as<float>()[i] = self.data_as<float>()[i] * factor;
  return ETB_OK;
}

constexpr Kernel kRows[] = {Kernel("my::scale.out", "TST!", &scale)};
#endif

}  // namespace

ETB_EXPORT_KERNELS(kRows)
