// SPDX-License-Identifier: Apache-2.0
// Memory of a program's delegates, as their plugins state it.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "host/delegates/device_memory.hpp"
#include "host/registry/registry.hpp"

namespace etb::tools {

nlohmann::ordered_json to_json(std::span<const host::DelegateHolding> holdings);

// One line for each delegate.
std::string format_delegate_memory(const nlohmann::ordered_json& holdings);

// Loads all methods of a program with its plugins, and returns what to_json does for their delegates.
[[nodiscard]] Result<nlohmann::ordered_json> measure_delegates(const std::string& program,
                                                               host::RegistryOptions options);

}  // namespace etb::tools
