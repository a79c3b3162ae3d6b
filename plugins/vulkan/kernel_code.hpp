// SPDX-License-Identifier: Apache-2.0
// SPIR-V of the kernels, compiled while the product is built.
#pragma once

#include <cstdint>
#include <span>

#include "plugins/gpu/kernels/kernel.hpp"

namespace etb::vulkan {

std::span<const uint32_t> kernel_code(gpu::Kernel kernel);

}  // namespace etb::vulkan
