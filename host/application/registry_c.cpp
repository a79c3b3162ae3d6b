// SPDX-License-Identifier: Apache-2.0
// The registry of the C API (etb/registry.h).
#include <filesystem>

#include "api/format/printable_text.hpp"
#include "host/application/errors.hpp"
#include "host/application/registry_handle.hpp"

namespace {

using etb::Code;
using etb::make_error;
using etb::Result;
using etb::Status;
using etb::host::answer;
using etb::host::check_handle;
using etb::host::HandleKind;
using etb::host::PluginEntry;
using etb::host::RegistryOptions;

constexpr uint32_t kFlags = ETB_REGISTRY_SECURE | ETB_REGISTRY_NO_ENVIRONMENT | ETB_REGISTRY_NO_SHADOW |
                            ETB_REGISTRY_CHECK_DIGESTS | ETB_REGISTRY_ONLY_PATHS;

Status read_paths(const etb_registry_options& given, RegistryOptions& out) {
  ETB_TRY(etb::host::check_array(given.search_paths, given.search_path_count, "options: search_paths"));
  for (uint64_t i = 0; i < given.search_path_count; ++i) {
    const char* const path = given.search_paths[i];
    if (path == nullptr || path[0] != '/')
      return make_error(Code::INVALID_ARGUMENT, "options: search path '" +
                                                    std::string(path == nullptr ? "" : path) +
                                                    "', expected an absolute folder");
    std::error_code failed;
    if (!std::filesystem::is_directory(path, failed))
      return make_error(Code::NOT_FOUND, "options: search path '" + std::string(path) + "' is no folder");
    out.application_paths.emplace_back(path);
  }
  return {};
}

Result<RegistryOptions> read_options(const etb_registry_options& given) {
  RegistryOptions options;
  if ((given.flags & ETB_REGISTRY_ONLY_PATHS) == 0)
    options = etb::host::installed_plugins();
  else
    options.admin_path.clear();
  if ((given.flags & (ETB_REGISTRY_NO_ENVIRONMENT | ETB_REGISTRY_ONLY_PATHS)) != 0)
    options.environment = nullptr;
  options.secure = options.secure || (given.flags & ETB_REGISTRY_SECURE) != 0;
  options.no_shadow = (given.flags & ETB_REGISTRY_NO_SHADOW) != 0;
  options.check_digests = (given.flags & ETB_REGISTRY_CHECK_DIGESTS) != 0;
  if (given.max_plugin_bytes != 0) options.memory_cap_bytes = given.max_plugin_bytes;
  ETB_TRY(read_paths(given, options));
  ETB_TRY(etb::host::check_array(given.static_plugins, given.static_plugin_count, "options: static_plugins"));
  options.static_plugins = {given.static_plugins, static_cast<size_t>(given.static_plugin_count)};
  ETB_TRY(etb::host::read_texts(given.disabled, given.disabled_count, "options: disabled", options.disabled));
  ETB_TRY(etb::host::read_settings(given.settings, given.setting_count, options.plugin_options));
  return options;
}

etb::Result<etb::host::LayerSet> read_layers(const etb_registry_options& given) {
  ETB_TRY(etb::host::check_array(given.layers, given.layer_count, "options: layers"));
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < given.layer_count; ++i) {
    if (given.layers[i] == nullptr)
      return make_error(Code::INVALID_ARGUMENT, "options: layer " + std::to_string(i) + " is NULL");
    texts.emplace_back(given.layers[i]);
  }
  Result<etb::host::LayerSet> layers = etb::host::make_layers(texts);
  if (!layers) return tl::make_unexpected(with_context(std::move(layers).error(), "options"));
  return layers;
}

etb::host::ResolveOptions choice_for(const etb_registry& registry, const char* name) {
  etb::host::ResolveOptions options;
  const auto& pins = registry.engine->choices.pins;
  if (const auto found = pins.find(name); found != pins.end()) options.pin = found->second;
  return options;
}

etb::host::PluginTexts texts_of(const PluginEntry& entry) {
  etb::host::PluginTexts texts;
  texts.version = entry.version();
  if (entry.problem) texts.problem = etb::format::made_printable(entry.problem->message, SIZE_MAX);
  if (entry.manifest) {
    for (const auto& provided : entry.manifest->provides) texts.provides.push_back(provided.id.c_str());
    for (const auto& alias : entry.manifest->aliases) texts.aliases.push_back(alias.c_str());
  }
  return texts;
}

void fill(const PluginEntry& entry, const etb::host::PluginTexts& texts, etb_plugin_info& out) {
  out = ETB_PLUGIN_INFO_INIT;
  out.id = entry.id.c_str();
  out.version = texts.version.c_str();
  out.vendor = entry.manifest ? entry.manifest->vendor.c_str() : "";
  out.description = entry.manifest ? entry.manifest->description.c_str() : "";
  out.manifest_path = entry.manifest_path.c_str();
  out.library_path = entry.library_path.c_str();
  out.tier = etb::host::to_text(entry.tier);
  out.problem = texts.problem.c_str();
  out.problem_reason = entry.problem ? entry.problem->reason.c_str() : "";
  out.provides = texts.provides.data();
  out.provides_count = texts.provides.size();
  out.aliases = texts.aliases.data();
  out.alias_count = texts.aliases.size();
  out.profiles = entry.profiles();
  out.is_usable = entry.is_usable() ? 1 : 0;
}

}  // namespace

extern "C" {

etb_status ETB_CALL etb_registry_open(const etb_registry_options* options, etb_registry** out,
                                      etb_error* error) {
  return answer(error, [&]() -> Status {
    ETB_TRY(etb::host::check_pointer(out, "out"));
    etb_registry_options given = ETB_REGISTRY_OPTIONS_INIT;
    if (options != nullptr) {
      ETB_TRY(
          etb::accept_struct(options, ETB_SIZE_THROUGH(etb_registry_options, reserved), kFlags, "options"));
      given = etb::copy_struct(*options);
    }
    if (given.thread_count > etb::host::ThreadPool::kMaxWorkers)
      return make_error(Code::INVALID_ARGUMENT, "options: " + std::to_string(given.thread_count) +
                                                    " threads, expected at most " +
                                                    std::to_string(etb::host::ThreadPool::kMaxWorkers));
    ETB_ASSIGN(RegistryOptions read, read_options(given));
    auto made = std::make_unique<etb_registry>();
    ETB_ASSIGN(etb::host::LayerSet layers, read_layers(given));
    made->engine =
        std::make_shared<etb::host::Engine>(std::move(read), given.thread_count, std::move(layers));
    ETB_TRY(etb::host::read_choices(given.choices, given.choice_count, made->engine->choices));
    for (const PluginEntry& entry : made->engine->registry().plugins())
      made->texts.push_back(texts_of(entry));
    add_handle(made.get(), HandleKind::kRegistry);
    *out = made.release();
    return {};
  });
}

void ETB_CALL etb_registry_close(etb_registry* registry) {
  if (registry != nullptr && etb::host::remove_handle(registry, HandleKind::kRegistry)) delete registry;
}

uint32_t ETB_CALL etb_registry_plugin_count(const etb_registry* registry) {
  if (!check_handle(registry, HandleKind::kRegistry)) return 0;
  return static_cast<uint32_t>(registry->texts.size());
}

etb_status ETB_CALL etb_registry_plugin(const etb_registry* registry, uint32_t index, etb_plugin_info* out,
                                        etb_error* error) {
  return answer(error, [&]() -> Status {
    ETB_TRY(check_handle(registry, HandleKind::kRegistry));
    ETB_TRY(ETB_ACCEPT(etb_plugin_info, out, is_usable));
    if (index >= registry->texts.size())
      return make_error(Code::INVALID_ARGUMENT, "plugin " + std::to_string(index) + ": the registry has " +
                                                    std::to_string(registry->texts.size()));
    fill(registry->engine->registry().plugins()[index], registry->texts[index], *out);
    return {};
  });
}

etb_status ETB_CALL etb_registry_explain(const etb_registry* registry, const char* name,
                                         const etb_text_sink* sink, etb_error* error) {
  return answer(error, [&]() -> Status {
    ETB_TRY(check_handle(registry, HandleKind::kRegistry));
    ETB_TRY(etb::host::check_pointer(name, "name"));
    ETB_TRY(ETB_ACCEPT(etb_text_sink, sink, put));
    const auto decision = registry->engine->registry().resolve(name, choice_for(*registry, name));
    return etb::from_host(sink->put(sink->ctx, to_json(*decision).c_str()), "sink");
  });
}

etb_status ETB_CALL etb_registry_devices(etb_registry* registry, const char* name,
                                         const etb_device_sink* sink, etb_error* error) {
  return answer(error, [&]() -> Status {
    ETB_TRY(check_handle(registry, HandleKind::kRegistry));
    ETB_TRY(etb::host::check_pointer(name, "name"));
    ETB_TRY(ETB_ACCEPT(etb_device_sink, sink, put));
    ETB_ASSIGN(const auto selection, registry->engine->registry().open(name, choice_for(*registry, name)));
    etb_status stopped = ETB_OK;
    ETB_TRY(selection.plugin->each_device([&](const etb_device_info& info) {
      if (stopped == ETB_OK) stopped = sink->put(sink->ctx, &info);
    }));
    return etb::from_host(stopped, "sink");
  });
}

}  // extern "C"
