// SPDX-License-Identifier: Apache-2.0
// The generated list of kernel files as one table.
#include "host/kernels/portable.hpp"

namespace etb::host {

#define ETB_KERNELS(file) extern const KernelRows kernels_##file;
#include "kernel_table.inc"
#undef ETB_KERNELS

namespace {
#define ETB_KERNELS(file) &kernels_##file,
constexpr const KernelRows* kPortableKernels[] = {
#include "kernel_table.inc"
};
#undef ETB_KERNELS
}  // namespace

etb_status add_portable_kernels(KernelRegistry& registry, CpuFeatures features) noexcept {
  const etb_status status = registry.add(std::span<const KernelRows* const>(kPortableKernels));
  if (status == ETB_OK) registry.set_vector_table(&select_vector_table(features));
  return status;
}

}  // namespace etb::host
