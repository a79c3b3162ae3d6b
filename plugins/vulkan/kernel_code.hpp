// SPDX-License-Identifier: Apache-2.0
// SPIR-V of the kernels, compiled while the product is built.
#pragma once

#include <cstdint>
#include <span>

#include "plugins/gpu/kernels/kernel.hpp"

namespace etb::vulkan {

// `has_halves`: reads or writes float16. Kernels of kTiles and the one that measures the device have no such code.
std::span<const uint32_t> kernel_code(gpu::Kernel kernel, bool has_halves);

}  // namespace etb::vulkan
