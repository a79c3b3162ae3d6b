// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/backends.hpp"

#include "tools/compile/isolated_compiler.hpp"

namespace etb::tools {

Result<std::string> delegate_id_of(const host::PluginEntry& entry, std::string_view name) {
  if (entry.find_provided(name) != nullptr) return std::string(name);
  if (entry.manifest && !entry.manifest->provides.empty()) return entry.manifest->provides.front().id;
  return make_error(Code::INCOMPATIBLE, "plugin '" + entry.id + "' provides no delegate id");
}

namespace {

Status open_here(host::Registry& registry, const std::string& name, const BackendRequest& request,
                 const host::ResolveOptions& resolve, Backends& out) {
  ETB_ASSIGN(const host::Selection selection, registry.open(name, resolve));
  const host::PluginEntry& entry = registry.plugins()[selection.decision->winner()->entry_index];
  ETB_ASSIGN(std::string id, delegate_id_of(entry, name));
  ETB_ASSIGN(auto compiler, partition::PluginCompiler::make(name, std::move(id), selection.plugin->table(),
                                                            selection.plugin->handle(),
                                                            {request.specs, request.watch}));
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
  out.compilers.push_back(std::make_unique<IsolatedCompiler>(name, std::move(id), registry, entry,
                                                             request.specs, request.deadline));
  out.entries.push_back(&entry);
  return {};
}

}  // namespace

Result<Backends> open_backends(host::Registry& registry, const BackendRequest& request) {
  Backends out;
  host::ResolveOptions resolve;
  resolve.profiles = ETB_PROFILE_AOT;
  for (const std::string& name : request.names)
    ETB_TRY((request.isolate ? open_isolated : open_here)(registry, name, request, resolve, out));
  return out;
}

}  // namespace etb::tools
