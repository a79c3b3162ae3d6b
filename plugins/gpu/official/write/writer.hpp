// SPDX-License-Identifier: Apache-2.0
// Writes regions as payloads of VulkanBackend, which ExecuTorch's own Vulkan runtime executes.
#pragma once

#include "etb/cpp/compile.hpp"

namespace etb::gpu {

// Claims the nodes that the official runtime executes.
[[nodiscard]] Status claim_official_nodes(const Graph& graph, const PartitionSink& sink);
[[nodiscard]] Result<Artifact> compile_official_region(const Region& region);

}  // namespace etb::gpu
