// SPDX-License-Identifier: Apache-2.0
// Changes the build's SPIR-V. The functions that the steps of a chain call are linked: the alternative, all functions behind tests of
// constants, takes drivers ten times longer to compile.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "etb/cpp/result.hpp"
#include "plugins/gpu/plan/chains.hpp"

namespace etb::vulkan {

// Returns SPIR-V of chain.comp in which calls of function_0, function_1 ... go to the functions of the steps. Fails if the
// names of functions were stripped from the code.
[[nodiscard]] Result<std::vector<uint32_t>> link_chain(std::span<const uint32_t> code,
                                                       const gpu::ChainCode& chain);

// Returns the code without the execution mode that keeps subnormal numbers of float16, which some devices lack.
std::vector<uint32_t> without_denorm_preserve(std::span<const uint32_t> code);

}  // namespace etb::vulkan
