// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/side.hpp"

#include <algorithm>
#include <filesystem>

#include "conformance/report/precision_rows.hpp"
#include "tools/diff/quantisation.hpp"

namespace etb::diff {
namespace {

namespace fs = std::filesystem;

bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".json") || name.ends_with(".so");
}

// Id of the plugin whose manifest or library has this path.
Result<std::string> id_of(const host::Registry& registry, const std::string& name) {
  const std::string path = fs::absolute(name).lexically_normal().string();
  for (const host::PluginEntry& entry : registry.plugins()) {
    if (entry.manifest_path != path && entry.library_path != path) continue;
    if (entry.problem) return tl::make_unexpected(*entry.problem);
    return entry.id;
  }
  return make_error(Code::NOT_FOUND,
                    "'" + name + "': no manifest in its folder names a plugin with this file");
}

}  // namespace

std::vector<std::string> split_side(const std::string& text) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('+', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

Result<std::unique_ptr<Side>> Side::open(const std::string& text, const SideOptions& options) {
  std::unique_ptr<Side> out(new Side);
  out->name_ = text;
  out->kernel_libraries_ = options.kernel_libraries;
  out->kind_ = text == "eager"      ? SideKind::kEager
               : text == "portable" ? SideKind::kPortable
               : text == "real"     ? SideKind::kReal
                                    : SideKind::kPlugins;
  if (out->kind_ != SideKind::kPlugins) return out;
  out->plugins_ = split_side(text);
  if (const Status opened = out->open_plugins(options); !opened)
    return tl::make_unexpected(with_context(opened.error(), "side '" + text + "'"));
  return out;
}

std::unique_ptr<Side> Side::of_outputs(const std::string& name, ComputeOutputs compute) {
  std::unique_ptr<Side> out(new Side);
  out->name_ = name;
  out->kind_ = SideKind::kOutputs;
  out->compute_outputs_ = std::move(compute);
  return out;
}

std::unique_ptr<Side> Side::of_recording(const std::string& name, SideKind kind) {
  std::unique_ptr<Side> out(new Side);
  out->name_ = name;
  out->kind_ = kind;
  return out;
}

std::unique_ptr<Side> Side::of_model(const std::string& archive) {
  std::unique_ptr<Side> out(new Side);
  out->name_ = archive;
  return out;
}

Status Side::open_plugins(const SideOptions& options) {
  host::RegistryOptions registry = options.registry;
  for (const std::string& name : plugins_) {
    if (!is_path(name)) continue;
    std::error_code failed;
    if (!fs::exists(name, failed)) return make_error(Code::NOT_FOUND, "'" + name + "': no such file");
    registry.application_paths.insert(registry.application_paths.begin(),
                                      fs::absolute(name).lexically_normal().parent_path().string());
  }
  registry_ = std::make_unique<host::Registry>(registry);
  tools::BackendRequest request;
  request.specs = options.specs;
  for (const std::string& name : plugins_) {
    std::string id = name;
    if (is_path(name)) {
      ETB_ASSIGN(id, id_of(*registry_, name));
    }
    request.names.push_back(std::move(id));
  }
  ETB_ASSIGN(backends_, tools::open_backends(*registry_, request));
  delegates_ = std::make_unique<host::PluginDelegates>(*registry_);
  for (size_t i = 0; i < backends_.compilers.size(); ++i) {
    const host::PluginEntry& entry = *backends_.entries[i];
    delegates_->pin(backends_.compilers[i]->backend_id(), entry.id);
    ETB_ASSIGN(const auto rows, conformance::read_precision_rows(entry.manifest_path));
    contract_.rows.insert(contract_.rows.end(), rows.begin(), rows.end());
  }
  return {};
}

std::string Side::plugin_id() const { return plugins_.size() == 1 ? backends_.entries[0]->id : ""; }

Result<std::vector<std::string>> Side::preserved_ops() const {
  std::vector<std::string> out;
  for (const auto& compiler : backends_.compilers) {
    ETB_ASSIGN(const std::vector<std::string> ops, compiler->preserved_ops());
    out.insert(out.end(), ops.begin(), ops.end());
  }
  return out;
}

CompileTarget Side::target() const {
  CompileTarget out;
  out.compilers = backends_.compilers;
  out.delegates = delegates_.get();
  out.folds_constants = kind_ != SideKind::kEager;
  out.kernel_libraries = kernel_libraries_;
  return out;
}

Result<std::vector<DelegatedRegion>> Side::find_regions(const ir::Module& whole) const {
  if (kind_ != SideKind::kPlugins) return std::vector<DelegatedRegion>{};
  return diff::find_regions(clone_module(whole), target());
}

Result<Side::Run> Side::run(const Model& model, std::span<const uint32_t> nodes,
                            std::span<const TensorData* const> inputs) const {
  const ir::Module& whole = model.module();
  const std::vector<ir::ValueId> needed = extract_part(whole, nodes, PartResults::kNeeded).results;
  Run out;
  if (is_recorded()) {
    for (const ir::ValueId id : needed)
      if (const auto found = recorded_.find(id); found != recorded_.end()) out.results[id] = found->second;
    return out;
  }
  Part part =
      extract_part(whole, nodes, kind_ == SideKind::kEager ? PartResults::kAll : PartResults::kNeeded);
  if (kind_ == SideKind::kReal)
    (void)remove_quantisation(
        part.module, [&](ir::ValueId id) { return model.find_value(id); }, RemovalScope::kActivations);
  const std::vector<ir::ValueId> computed = part.results;
  ETB_ASSIGN(const std::unique_ptr<CompiledMethod> method,
             CompiledMethod::make(std::move(part.module), target()));
  ETB_ASSIGN(std::vector<TensorData> results, method->run(inputs));
  for (const DelegatedRegion& region : method->regions()) out.delegated_nodes += region.nodes.size();
  for (size_t i = 0; i < computed.size(); ++i)
    if (std::find(needed.begin(), needed.end(), computed[i]) != needed.end())
      out.results[computed[i]] = std::move(results[i]);
  return out;
}

}  // namespace etb::diff
