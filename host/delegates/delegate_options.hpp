// SPDX-License-Identifier: Apache-2.0
// Options that an application sets for the delegates of an id, sorted by the object that receives them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/plugin/plugin_context.hpp"
#include "host/registry/option_text.hpp"

namespace etb::host {

// Each list goes to one function of the plugin: open, create, context_create, execute.
struct DelegateOptions {
  std::vector<etb_option> device, delegate, context, run;
};

// Sorts options by the scopes of the plugin's schema; one with several scopes goes to the first of delegate,
// device, context, run. The result borrows from `texts`. Error: INVALID_ARGUMENT for an option that the plugin
// lacks, one of the plugin itself, or a text of another type.
[[nodiscard]] Result<DelegateOptions> read_delegate_options(const PluginContext& plugin,
                                                            const OptionTexts& texts);

// Bytes that are equal for options of equal keys, types and values in one order.
[[nodiscard]] std::string key_of(std::span<const etb_option> options);

}  // namespace etb::host
