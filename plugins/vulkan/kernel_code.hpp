// SPDX-License-Identifier: Apache-2.0
// SPIR-V of the kernels, compiled while the product is built.
#pragma once

#include <cstdint>
#include <span>

#include "plugins/gpu/kernels/kernel.hpp"

namespace etb::vulkan {

// `halves`: HALVES of kernel.glsl. Kernels of kTiles and the one that measures the device have no code for float16.
std::span<const uint32_t> kernel_code(gpu::Kernel kernel, uint32_t halves);

}  // namespace etb::vulkan
