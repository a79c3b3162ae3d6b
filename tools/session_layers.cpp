// SPDX-License-Identifier: Apache-2.0
#include "tools/session_layers.hpp"

#include <fmt/format.h>

#include "host/registry/diagnostic.hpp"

namespace etb::tools {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == ':')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

Result<host::ValidateOptions> parse_validate(const std::vector<std::string>& parts) {
  host::ValidateOptions options;
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i] == "strict")
      options.strict = true;
    else if (parts[i] == "guard-pages")
      options.memory = host::ValidateOptions::Memory::GUARD_PAGES;
    else
      return make_error(Code::INVALID_ARGUMENT,
                        fmt::format("--layer validate: '{}', expected strict or guard-pages", parts[i]));
  }
  return options;
}

}  // namespace

void add_layer_option(CLI::App& command, std::vector<std::string>& out_layers) {
  command
      .add_option(
          "--layer", out_layers,
          "Insert a layer between host and plugins: trace, or validate[:strict][:guard-pages]; repeatable, "
          "outermost first")
      ->type_name("LAYER")
      ->allow_extra_args(false);
}

Result<std::unique_ptr<SessionLayers>> SessionLayers::make(const std::vector<std::string>& texts,
                                                           std::ostream& err) {
  std::unique_ptr<SessionLayers> layers(new SessionLayers);
  for (const std::string& text : texts) ETB_TRY(layers->add(text, err));
  return layers;
}

Status SessionLayers::add(const std::string& text, std::ostream& err) {
  const std::vector<std::string> parts = split(text);
  if (text == "trace" && traces_.empty()) {
    traces_.push_back(std::make_unique<host::Trace>([&err](const host::TracedCall& call) {
      err << host::made_printable(host::format_traced_call(call), SIZE_MAX)
          << '\n';  // a plugin wrote part of it
    }));
    layers_.push_back(traces_.back()->layer());
    return {};
  }
  if (parts[0] == "validate" && validations_.empty()) {
    ETB_ASSIGN(const host::ValidateOptions options, parse_validate(parts));
    validations_.push_back(std::make_unique<host::Validation>(options));
    layers_.push_back(validations_.back()->layer());
    return {};
  }
  return make_error(
      Code::INVALID_ARGUMENT,
      fmt::format("--layer '{}', expected trace or validate[:strict][:guard-pages], each once", text));
}

ExitCode SessionLayers::finish(ExitCode code, std::ostream& err) {
  uint64_t count = 0;
  for (const auto& validation : validations_) {
    const uint64_t all = validation->violation_count();
    const std::vector<host::Violation> kept = validation->take();
    for (const host::Violation& violation : kept)
      err << host::made_printable(host::format_violation(violation), SIZE_MAX) << '\n';
    if (all > kept.size()) err << fmt::format("and {} more\n", all - kept.size());
    count += all;
  }
  return code == ExitCode::OK && count != 0 ? ExitCode::NEGATIVE : code;
}

}  // namespace etb::tools
