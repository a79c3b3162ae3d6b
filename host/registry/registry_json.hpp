// SPDX-License-Identifier: Apache-2.0
// Writes the contents of a registry as JSON for `list --json`.
#pragma once

#include <map>
#include <string>

#include "host/registry/probe.hpp"
#include "host/registry/registry.hpp"

namespace etb::host {

// Results of `list --devices` for each usable plugin, by its index among the registry's plugins.
using ProbeResults = std::map<size_t, Result<ProbeReport>>;

// Returns the text of a target file (`compile --target`) for compilations to this device.
std::string target_json(const ProbedDevice& device);

// Returns the operators that the plugin lists, for `list --ops --json`.
std::string ops_json(const PluginEntry& entry, const ProbeReport& report);

std::string to_json(const Registry& registry, const ProbeResults& probes = {});

}  // namespace etb::host
