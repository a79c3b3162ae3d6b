// SPDX-License-Identifier: Apache-2.0
#include "tools/session_layers.hpp"

#include <CLI/CLI.hpp>
#include <mutex>

#include "api/format/printable_text.hpp"
#include "host/layers/layer_kinds.hpp"
#include "host/layers/start_plugin.hpp"
#include "tools/verify/find_subject.hpp"

namespace etb::tools {
namespace {

// The only list of layers of the command line.
std::vector<host::LayerKind> kinds() {
  return {host::kTraceKind, host::kValidateKind, host::kFaultKind, host::kCompareKind};
}

// Opens a plugin by name, id, manifest or library, without layers and without threads.
Result<std::shared_ptr<const host::PluginContext>> open_alternative(const std::string& name,
                                                                    const Session& session) {
  ETB_ASSIGN(const conformance::SubjectSpec found, find_subject(name, "", session));
  ETB_ASSIGN(std::shared_ptr<host::LoadedPlugin> library,
             host::LoadedPlugin::load(found.entry, found.load_options));
  const etb_plugin_table& table = library->table();
  host::StartArgs args;
  args.plugin_dir = found.entry.directory;
  ETB_ASSIGN(host::PluginContext context, host::start_plugin(std::move(library), table, args));
  return std::make_shared<const host::PluginContext>(std::move(context));
}

}  // namespace

void add_layer_option(CLI::App& command, std::vector<std::string>& out_layers) {
  std::string text = "Insert a layer between host and plugins: ";
  for (const host::LayerKind& kind : kinds())
    text += std::string(text.back() == ' ' ? "" : ", ") + kind.syntax;
  command.add_option("--layer", out_layers, text + "; repeatable, outermost first")
      ->type_name("LAYER")
      ->allow_extra_args(false);
}

namespace {

// Layers in processes that end without finish() cannot write a file for people.
Status expect_no_file(const std::string& text) {
  const bool is_recording = text.rfind("trace=", 0) == 0 && text != "trace=/dev/null";
  if (!is_recording && text.find(",json=") == std::string::npos) return {};
  return make_error(Code::INVALID_ARGUMENT,
                    "layer '" + text +
                        "' writes a file, but each check opens the plugin in its own process\n"
                        "hint: trace=/dev/null records without a file; `etbackend run --layer " +
                        text + "` writes one");
}

}  // namespace

Result<host::LayerSet> make_silent_layers(const std::vector<std::string>& texts, const Session& session) {
  host::LayerHost host;
  host.print = [](const std::string&) {};
  host.open_plugin = [&session](const std::string& name) { return open_alternative(name, session); };
  host.command = session.command_line;
  for (const std::string& text : texts)
    if (Status status = expect_no_file(text); !status)
      return tl::make_unexpected(with_context(std::move(status).error(), "--layer"));
  Result<host::LayerSet> set = host::LayerSet::make(texts, kinds(), host);
  if (!set) return tl::make_unexpected(with_context(std::move(set).error(), "--layer"));
  return set;
}

Result<std::unique_ptr<SessionLayers>> SessionLayers::make(const std::vector<std::string>& texts,
                                                           Session& session) {
  host::LayerHost host;
  host.print = [&err = session.err, mutex = std::make_shared<std::mutex>()](const std::string& line) {
    const std::lock_guard lock(*mutex);
    err << format::made_printable(line, SIZE_MAX) << '\n';  // a plugin wrote part of it
  };
  host.open_plugin = [&session](const std::string& name) { return open_alternative(name, session); };
  host.command = session.command_line;
  std::unique_ptr<SessionLayers> layers(new SessionLayers);
  Result<host::LayerSet> set = host::LayerSet::make(texts, kinds(), host);
  if (!set) return tl::make_unexpected(with_context(std::move(set).error(), "--layer"));
  layers->set_ = *std::move(set);
  return layers;
}

ExitCode SessionLayers::finish(ExitCode code) {
  const bool is_clean = set_.finish();
  return code == ExitCode::OK && !is_clean ? ExitCode::NEGATIVE : code;
}

}  // namespace etb::tools
