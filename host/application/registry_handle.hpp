// SPDX-License-Identifier: Apache-2.0
// The object behind an etb_registry, for the parts of the C API that use one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "etb/registry.h"
#include "host/application/engine.hpp"
#include "host/application/handles.hpp"

namespace etb::host {

// Texts of an etb_plugin_info that the registry does not hold as they are shown.
struct PluginTexts {
  std::string version, problem;
  std::vector<const char*> provides, aliases;
};

// Adds settings to `out`, by name and key.
[[nodiscard]] Status read_settings(const etb_setting* settings, uint64_t count,
                                   std::map<std::string, OptionTexts>& out);

// Adds choices to `out`, by delegate id.
[[nodiscard]] Status read_choices(const etb_backend_choice* choices, uint64_t count, BackendChoices& out);

// Adds texts to `out`. `name` is for the error of a NULL among them.
[[nodiscard]] Status read_texts(const char* const* texts, uint64_t count, const char* name,
                                std::vector<std::string>& out);

}  // namespace etb::host

struct etb_registry {
  std::shared_ptr<etb::host::Engine> engine;
  std::vector<etb::host::PluginTexts> texts;  // by plugin
};
