// SPDX-License-Identifier: Apache-2.0
// The layers that --layer requested, and their findings.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/layers/layer.hpp"
#include "host/layers/trace/trace.hpp"
#include "host/layers/validate/validation.hpp"
#include "tools/command.hpp"

namespace etb::tools {

// Adds --layer to a command that calls plugins.
void add_layer_option(CLI::App& command, std::vector<std::string>& out_layers);

// Must outlive every plugin that it wraps.
class SessionLayers {
 public:
  // `texts` are the --layer arguments, outermost first: trace, validate, validate:strict:guard-pages. Trace
  // lines go to `err`.
  [[nodiscard]] static Result<std::unique_ptr<SessionLayers>> make(const std::vector<std::string>& texts,
                                                                   std::ostream& err);

  const std::vector<host::Layer>& layers() const noexcept { return layers_; }

  // Call after the plugins are closed. Prints the findings; returns NEGATIVE instead of OK if there are any.
  ExitCode finish(ExitCode code, std::ostream& err);

 private:
  SessionLayers() = default;
  [[nodiscard]] Status add(const std::string& text, std::ostream& err);

  std::vector<std::unique_ptr<host::Trace>> traces_;
  std::vector<std::unique_ptr<host::Validation>> validations_;
  std::vector<host::Layer> layers_;
};

}  // namespace etb::tools
