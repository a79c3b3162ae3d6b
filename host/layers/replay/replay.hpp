// SPDX-License-Identifier: Apache-2.0
// Repeats the calls of call traces on a plugin, one after the other in the order in which they began, and compares the
// answers. The model is not needed: the trace has graph images, payloads, data and inputs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "api/format/call_trace_reader.hpp"
#include "host/layers/replay/report.hpp"
#include "host/plugin/plugin_context.hpp"

namespace etb::host::replay {

// One output of a run that is not equal to the recorded one, with all that a judge needs.
struct JudgedRun {
  std::span<const std::byte> graph;  // the image that the payload was compiled from
  std::function<std::span<const std::byte>(const std::string& key)> constant;  // empty: no such constant
  std::span<const etb_tensor> inputs;
  std::span<const etb_tensor> outputs;
};

struct Options {
  // Delegates are made from what this plugin compiles in the replay, where the trace has the compilation.
  bool recompiles = false;
  double atol = 0, rtol = 0;  // both 0: bit for bit
  std::set<DifferenceKind> ignored;

  // Starts the plugin with options of its init call. `life` receives the status of deinit.
  std::function<Result<PluginContext>(std::span<const etb_option> options, std::shared_ptr<PluginLife> life)>
      start;

  // Returns "" if the outputs are right, else what is wrong; nullopt if it cannot judge. Not set: no judge.
  std::function<std::optional<std::string>(const JudgedRun& run)> judge;

  // Returns the delegate id of this plugin for a recorded one. Not set: the same.
  std::function<std::string(const std::string& recorded)> backend_id;

  std::function<void(uint64_t call, const std::string& function)> on_call;  // before each call
  std::string plugin_id;  // calls of the recorded plugin with this id only; "": there is one id
};

// The traces follow each other, as those of a compilation and of a run. Returns INVALID_ARGUMENT for traces of several
// plugins without a choice. A call that cannot be repeated is skipped, with a note.
[[nodiscard]] Result<Report> replay(std::span<const format::CallTrace* const> traces, const Options& options);

}  // namespace etb::host::replay
