// SPDX-License-Identifier: Apache-2.0
#include "plugins/vulkan/kernel_code.hpp"

namespace etb::vulkan {

namespace {

#include "vulkan_kernels.inc"  // one array a kernel, by the build

constexpr std::span<const uint32_t> kCode[] = {
#define ETB_GPU_UNARY(name, ...) kSpirvUnary##name,
#define ETB_GPU_BINARY(name, ...) kSpirvBinary##name, kSpirvBroadcast##name,
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
#define ETB_GPU_KERNEL(name, ...) kSpirv##name,
#include "plugins/gpu/kernels/kernels.def"
#undef ETB_GPU_KERNEL
};

constexpr std::span<const uint32_t> kHalvesCode[] = {
#define ETB_GPU_UNARY(name, ...) kHalvesSpirvUnary##name,
#define ETB_GPU_BINARY(name, ...) kHalvesSpirvBinary##name, kHalvesSpirvBroadcast##name,
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
#define ETB_GPU_KERNEL(name, ...) kHalvesSpirv##name,
#include "plugins/gpu/kernels/kernels.def"
#undef ETB_GPU_KERNEL
};

constexpr std::span<const uint32_t> kArithmeticCode[] = {
#define ETB_GPU_UNARY(name, ...) kArithmeticSpirvUnary##name,
#define ETB_GPU_BINARY(name, ...) kArithmeticSpirvBinary##name, kArithmeticSpirvBroadcast##name,
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
#define ETB_GPU_KERNEL(name, ...) kArithmeticSpirv##name,
#include "plugins/gpu/kernels/kernels.def"
#undef ETB_GPU_KERNEL
};

}  // namespace

std::span<const uint32_t> kernel_code(gpu::Kernel kernel, uint32_t halves) {
  const bool computes_halves = (halves & gpu::kArithmeticBit) != 0;
  return (halves == 0 ? kCode : computes_halves ? kArithmeticCode : kHalvesCode)[gpu::index_of(kernel)];
}

}  // namespace etb::vulkan
