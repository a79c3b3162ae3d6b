// SPDX-License-Identifier: Apache-2.0
// The layers that --layer requested, and their findings.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/layers/layer_kind.hpp"
#include "tools/command.hpp"

namespace etb::tools {

// Adds --layer to a command that calls plugins.
void add_layer_option(CLI::App& command, std::vector<std::string>& out_layers);

// Makes layers that print nothing and write no file, for a plugin in a process of its own (`verify`).
[[nodiscard]] Result<host::LayerSet> make_silent_layers(const std::vector<std::string>& texts,
                                                        const Session& session);

// Must outlive every plugin that it wraps.
class SessionLayers {
 public:
  // `texts` are the --layer arguments, outermost first: trace, trace=FILE, validate:strict, fault=delay,ms=5. Lines go
  // to the session's err.
  [[nodiscard]] static Result<std::unique_ptr<SessionLayers>> make(const std::vector<std::string>& texts,
                                                                   Session& session);

  const std::vector<host::Layer>& layers() const noexcept { return set_.layers(); }

  // Call after the plugins are closed. Prints the findings; returns NEGATIVE instead of OK if there are any.
  ExitCode finish(ExitCode code);

 private:
  SessionLayers() = default;
  host::LayerSet set_;
};

}  // namespace etb::tools
