// SPDX-License-Identifier: Apache-2.0
//
// The registry for Python: plugins, the choice of a name, devices. Each function searches again.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace etb::python {

// A dict for each plugin found, usable or not. `paths`: folders searched first; `flags`: ETB_REGISTRY_*.
nanobind::list list_plugins(const std::vector<std::string>& paths, uint32_t flags);

// The decision for a name as JSON.
std::string explain_name(const std::string& name, const std::vector<std::string>& paths, uint32_t flags);

// A dict for each device of a plugin. Loads the plugin.
nanobind::list list_devices(const std::string& name, const std::vector<std::string>& paths, uint32_t flags);

}  // namespace etb::python
