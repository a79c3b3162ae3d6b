// SPDX-License-Identifier: Apache-2.0
// Options given as text by a user, converted to the type that the plugin states.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "etb/cpp/result.hpp"
#include "etb/option.h"

namespace etb::host {

struct PluginEntry;

// Texts by option key.
using OptionTexts = std::map<std::string, std::string>;

// Returns the option. It borrows `key` and, for a text, `text`. Error: INVALID_ARGUMENT with key, text and type.
[[nodiscard]] Result<etb_option> read_option(const std::string& key, etb_option_type type,
                                             const std::string& text);

// Returns the options of a plugin's init call. They borrow from `texts`. The types are those of the manifest; a
// static plugin has none, so the form of the text decides: true, 4, 4.0, or a text.
[[nodiscard]] Result<std::vector<etb_option>> read_init_options(const PluginEntry& entry,
                                                                const OptionTexts& texts);

}  // namespace etb::host
