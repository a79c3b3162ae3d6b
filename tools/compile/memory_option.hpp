// SPDX-License-Identifier: Apache-2.0
// Option --memory of `etbackend compile`: the memories that a method's tensors are planned for.
#pragma once

#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "partitioner_sdk/memory_plan/memories.hpp"
#include "tools/cli11_fwd.hpp"

namespace etb::tools {

void add_memory_option(CLI::App& command, std::vector<std::string>& texts);

// Reads "sram=256K:64:1" or "dram": name, size, alignment and cost. Without a cost, each memory costs more than those
// before it.
[[nodiscard]] Result<std::vector<plan::Memory>> parse_memories(const std::vector<std::string>& texts);

}  // namespace etb::tools
