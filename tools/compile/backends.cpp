// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/backends.hpp"

#include <algorithm>

#include "api/format/input_file.hpp"
#include "tools/compile/isolated_compiler.hpp"

namespace etb::tools {

Result<std::string> delegate_id_of(const host::PluginEntry& entry, std::string_view name) {
  if (entry.find_provided(name) != nullptr) return std::string(name);
  if (entry.manifest && !entry.manifest->provides.empty()) return entry.manifest->provides.front().id;
  return make_error(Code::INCOMPATIBLE, "plugin '" + entry.id + "' provides no delegate id");
}

Status read_target(BackendRequest& request) {
  constexpr uint64_t kMaxBytes = uint64_t{1} << 20;
  if (request.target_file.empty()) return {};
  ETB_ASSIGN(const std::string text, format::read_file_text(request.target_file, kMaxBytes));
  auto parsed = partition::TargetFile::parse(text);
  if (!parsed)
    return tl::make_unexpected(with_context(std::move(parsed).error(), "'" + request.target_file + "'"));
  request.target = *std::move(parsed);
  return {};
}

Result<partition::PluginCompilerOptions> compiler_options(const BackendRequest& request,
                                                          const std::string& name,
                                                          const host::PluginEntry& entry) {
  partition::PluginCompilerOptions out{
      .specs = request.specs, .watch = request.watch, .target = request.target};
  if (const auto found = request.options.find(name); found != request.options.end()) {
    ETB_ASSIGN(out.options, host::read_init_options(entry, found->second));
  }
  return out;
}

namespace {

Status open_here(host::Registry& registry, const std::string& name, const BackendRequest& request,
                 const host::ResolveOptions& resolve, Backends& out) {
  ETB_ASSIGN(const host::Selection selection, registry.open(name, resolve));
  const host::PluginEntry& entry = registry.plugins()[selection.decision->winner()->entry_index];
  ETB_ASSIGN(std::string id, delegate_id_of(entry, name));
  ETB_ASSIGN(auto options, compiler_options(request, name, entry));
  ETB_ASSIGN(auto compiler, partition::PluginCompiler::make(name, std::move(id), selection.plugin->table(),
                                                            selection.plugin->handle(), std::move(options)));
  out.plugins.push_back(selection.plugin);
  out.compilers.push_back(std::move(compiler));
  out.entries.push_back(&entry);
  return {};
}

Status open_isolated(host::Registry& registry, const std::string& name, const BackendRequest& request,
                     const host::ResolveOptions& resolve, Backends& out) {
  const auto decision = registry.resolve(name, resolve);
  if (decision->winner() == nullptr) return tl::make_unexpected(host::to_error(*decision));
  const host::PluginEntry& entry = registry.plugins()[decision->winner()->entry_index];
  ETB_ASSIGN(std::string id, delegate_id_of(entry, name));
  ETB_ASSIGN(auto options, compiler_options(request, name, entry));
  options.watch = {};  // of this process
  out.compilers.push_back(std::make_unique<IsolatedCompiler>(name, std::move(id), registry, entry,
                                                             std::move(options), request.deadline));
  out.entries.push_back(&entry);
  return {};
}

}  // namespace

Result<Backends> open_backends(host::Registry& registry, const BackendRequest& request) {
  Backends out;
  host::ResolveOptions resolve;
  resolve.profiles = ETB_PROFILE_AOT;
  for (const auto& [name, texts] : request.options)
    if (std::find(request.names.begin(), request.names.end(), name) == request.names.end())
      return make_error(Code::INVALID_ARGUMENT, "--backend-option '" + name + ":" + texts.begin()->first +
                                                    "=...': -b names no plugin '" + name + "'");
  for (const auto& [name, device] : request.devices)
    if (!name.empty() && std::find(request.names.begin(), request.names.end(), name) == request.names.end())
      return make_error(Code::INVALID_ARGUMENT,
                        "--device '" + name + "=" + device + "': -b names no plugin '" + name + "'");
  for (const std::string& name : request.names)
    ETB_TRY((request.isolate ? open_isolated : open_here)(registry, name, request, resolve, out));
  return out;
}

}  // namespace etb::tools
