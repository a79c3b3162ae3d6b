// SPDX-License-Identifier: Apache-2.0
// Options that an application sets for the delegates of an id, sorted by the object that receives them.
#pragma once

#include <deque>
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
// lacks, one of the plugin itself, or a value outside of the schema.
[[nodiscard]] Result<DelegateOptions> read_delegate_options(const PluginContext& plugin,
                                                            const OptionTexts& texts);

// A change of one option of living objects.
struct OptionChange {
  etb_option option;
  uint32_t object_kind;  // ETB_OBJECT_RUN: of the runs to come; CONTEXT or DELEGATE: of the living object
};

// Reads a change as the plugin's schema states it, for objects of the narrowest scope that may change. The result borrows from
// `key` and `text`. Errors: NOT_FOUND for an option that the plugin lacks, INVALID_ARGUMENT for one of the plugin itself or a value
// outside of the schema, INVALID_STATE for an option of a device, or one that is fixed when its object is made.
[[nodiscard]] Result<OptionChange> read_option_change(const PluginContext& plugin, const std::string& key,
                                                      const std::string& text);

// Options of the runs of one delegate. Owns keys and texts.
class RunOptions {
 public:
  explicit RunOptions(std::span<const etb_option> options) {
    for (const etb_option& option : options) set(option);
  }
  RunOptions(const RunOptions&) = delete;
  RunOptions& operator=(const RunOptions&) = delete;

  // Replaces the option with the same key, or adds one. Options are those of read_option: without bytes and items.
  void set(const etb_option& option);
  // Valid until the next set().
  std::span<const etb_option> span() const noexcept { return options_; }

 private:
  struct Texts {
    std::string key, text;
  };
  std::vector<etb_option> options_;
  std::deque<Texts> texts_;  // element i has the texts of option i
};

// Bytes that are equal for options of equal keys, types and values in one order.
[[nodiscard]] std::string key_of(std::span<const etb_option> options);

}  // namespace etb::host
