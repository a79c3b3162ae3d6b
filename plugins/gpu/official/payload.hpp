// SPDX-License-Identifier: Apache-2.0
// Payloads of ExecuTorch's own Vulkan exporter, as graphs of this plugin.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "etb/cpp/payload.hpp"
#include "plugins/gpu/graph/graph.hpp"

namespace etb::gpu {

inline constexpr std::string_view kOfficialBackend = "VulkanBackend";  // the delegate id in programs

// True if the beginning of a payload has the header.
bool is_official_payload(std::span<const std::byte> prefix);

// Reads any bytes. Returns a graph, or an error that names the value or call. Reads constants that are not float32 from the
// data; the others when they are packed.
[[nodiscard]] Result<GpuGraph> read_official_payload(std::span<const std::byte> bytes, const NamedData& data);

}  // namespace etb::gpu
