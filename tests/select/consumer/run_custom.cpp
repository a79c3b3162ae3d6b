// SPDX-License-Identifier: Apache-2.0
// Calls the kernel of a custom op that etb_add_custom_kernels has linked.
#include <cstdio>

#include "host/runtime/kernel_registry.hpp"

etb::host::KernelRows scale_rows();

int main() {
  using namespace etb::host;
  KernelRegistry kernels;
  if (kernels.add(scale_rows()) != ETB_OK) return 1;
  const Kernel* const kernel = kernels.find("my::scale", "out");
  if (kernel == nullptr) return std::puts("no kernel of my::scale"), 1;
  int64_t sizes[] = {3}, strides[] = {1}, out_sizes[] = {3}, out_strides[] = {1};
  const uint8_t order[] = {0};
  float x[] = {1, 2, 3}, y[3] = {};
  Tensor in(Dtype::FLOAT32, 1, sizes, order, strides, x, sizeof x);
  Tensor out(Dtype::FLOAT32, 1, out_sizes, order, out_strides, y, sizeof y);
  EValue values[] = {EValue(&in), EValue(2.0), EValue(&out)};
  EValue* arguments[] = {&values[0], &values[1], &values[2]};
  etb_error error = ETB_ERROR_INIT;
  KernelContext context({}, nullptr, &error);
  if (call_kernel(context, *kernel, arguments, 3) != ETB_OK) return std::puts(error.text), 1;
  std::printf("%s: %g %g %g\n", kernel->name, y[0], y[1], y[2]);
  return 0;
}
