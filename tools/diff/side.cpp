// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/side.hpp"

#include <algorithm>
#include <filesystem>

#include "conformance/report/precision_rows.hpp"
#include "tools/diff/message.hpp"
#include "tools/diff/quantisation.hpp"

namespace etb::diff {
namespace {

namespace fs = std::filesystem;

// First bytes of requests to the plugin's process.
constexpr char kFacts = 'F', kRegions = 'R', kRun = 'N';

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
  out->options_ = options;
  out->kind_ = text == "eager"      ? SideKind::kEager
               : text == "portable" ? SideKind::kPortable
               : text == "real"     ? SideKind::kReal
                                    : SideKind::kPlugins;
  if (out->kind_ != SideKind::kPlugins) return out;
  out->plugins_ = split_side(text);
  Status opened = options.is_isolated ? out->open_worker() : out->open_plugins();
  if (opened) opened = out->read_facts();
  if (!opened) return tl::make_unexpected(with_context(opened.error(), "side '" + text + "'"));
  return out;
}

std::unique_ptr<Side> Side::of_outputs(const std::string& name, ComputeOutputs compute) {
  std::unique_ptr<Side> out(new Side);
  out->name_ = name;
  out->kind_ = SideKind::kOutputs;
  out->compute_outputs_ = std::move(compute);
  return out;
}

std::unique_ptr<Side> Side::of_program(const std::string& path, const SideOptions& options,
                                       ComputeOutputs compute) {
  std::unique_ptr<Side> out = of_outputs(path, std::move(compute));
  out->options_ = options;
  out->is_program_ = true;
  return out;
}

std::string Side::instruction_of(ir::ValueId value) const {
  const auto found = instructions_.find(value);
  return found == instructions_.end() ? "" : found->second;
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

Status Side::open_plugins() {
  host::RegistryOptions registry = options_.registry;
  for (const std::string& name : plugins_) {
    if (!is_path(name)) continue;
    std::error_code failed;
    if (!fs::exists(name, failed)) return make_error(Code::NOT_FOUND, "'" + name + "': no such file");
    registry.application_paths.insert(registry.application_paths.begin(),
                                      fs::absolute(name).lexically_normal().parent_path().string());
  }
  registry_ = std::make_unique<host::Registry>(registry);
  tools::BackendRequest request;
  request.specs = options_.specs;
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
  }
  return {};
}

// Ids, manifests and preserved ops of the plugins.
Status Side::read_facts() {
  std::string text;
  if (worker_ != nullptr) {
    ETB_ASSIGN(text, worker_->ask(std::string(1, kFacts)));
  } else {
    ETB_ASSIGN(text, answer(std::string(1, kFacts)));
  }
  MessageReader facts(text);
  for (size_t left = facts.count(); left > 0; --left) {
    const std::string id = facts.text();
    if (plugins_.size() == 1) plugin_id_ = id;
    ETB_ASSIGN(const auto rows, conformance::read_precision_rows(facts.text()));
    contract_.rows.insert(contract_.rows.end(), rows.begin(), rows.end());
  }
  for (size_t left = facts.count(); left > 0; --left) preserved_ops_.push_back(facts.text());
  return facts.expect_whole();
}

Status Side::open_worker() {
  worker_ = std::make_unique<Worker>(
      [this](std::string_view request) -> Result<std::string> {
        if (registry_ == nullptr)
          if (Status opened = open_plugins(); !opened) {
            registry_.reset();  // else the next request finds no plugin, and nodes without one are right
            return tl::make_unexpected(std::move(opened).error());
          }
        return answer(request);
      },
      options_.timeout_ms);
  return {};
}

// The worker's memory is that of its start, so it starts after the model is open. Values of the model may change later: they
// are in the requests.
Result<std::string> Side::ask_about(const Model& model, const std::string& request) const {
  if (model_ != &model) worker_->end();
  model_ = &model;
  return worker_->ask(request);
}

Result<std::string> Side::answer(std::string_view request) {
  MessageWriter out;
  MessageReader in(request.substr(1));
  if (request[0] == kFacts) {
    out.number(backends_.entries.size());
    for (const auto& entry : backends_.entries) {
      out.text(entry->id);
      out.text(entry->manifest_path);
    }
    std::vector<std::string> all;
    for (const auto& compiler : backends_.compilers) {
      ETB_ASSIGN(const std::vector<std::string> ops, compiler->preserved_ops());
      all.insert(all.end(), ops.begin(), ops.end());
    }
    out.number(all.size());
    for (const std::string& op : all) out.text(op);
  } else if (request[0] == kRegions) {
    ETB_ASSIGN(const auto regions, diff::find_regions(clone_module(model_->module()), target()));
    write(regions, out);
  } else {
    const std::vector<uint32_t> nodes = in.numbers();
    std::vector<TensorData> operands(in.count());
    std::vector<const TensorData*> inputs;
    for (TensorData& operand : operands) {
      operand = read_tensor(in);
      inputs.push_back(&operand);
    }
    ETB_TRY(in.expect_whole());
    ETB_ASSIGN(const Run ran, run_here(*model_, nodes, inputs));
    out.number(ran.delegated_nodes);
    out.number(ran.results.size());
    for (const auto& [id, value] : ran.results) {
      out.number(id);
      write(value, out);
    }
  }
  return out.take();
}

CompileTarget Side::target() const {
  CompileTarget out;
  out.compilers = backends_.compilers;
  out.delegates = delegates_.get();
  out.folds_constants = kind_ != SideKind::kEager;
  out.kernel_libraries = options_.kernel_libraries;
  return out;
}

Result<std::vector<DelegatedRegion>> Side::find_regions(const Model& model) const {
  if (kind_ != SideKind::kPlugins) return std::vector<DelegatedRegion>{};
  if (worker_ == nullptr) return diff::find_regions(clone_module(model.module()), target());
  auto answered = ask_about(model, std::string(1, kRegions));
  if (!answered)
    return tl::make_unexpected(with_context(answered.error(), name_ + ", asked for the nodes that it takes"));
  MessageReader in(*answered);
  std::vector<DelegatedRegion> out = read_regions(in);
  for (const DelegatedRegion& region : out)
    if (region.nodes.empty() || region.nodes.back() >= model.node_count() ||
        !std::is_sorted(region.nodes.begin(), region.nodes.end()))
      in.fail();
  if (Status whole = in.expect_whole(); !whole)
    return tl::make_unexpected(with_context(whole.error(), name_ + ", asked for the nodes that it takes"));
  return out;
}

Result<Side::Run> Side::run(const Model& model, std::span<const uint32_t> nodes,
                            std::span<const TensorData* const> inputs) const {
  if (worker_ == nullptr) return run_here(model, nodes, inputs);
  MessageWriter request;
  request.numbers(nodes);
  request.number(inputs.size());
  for (const TensorData* const input : inputs) write(*input, request);
  auto answered = ask_about(model, std::string(1, kRun) + request.take());
  Run out;
  if (!answered && !worker_->died()) return tl::make_unexpected(answered.error());
  if (!answered) {
    out.death = answered.error().message;
    return out;
  }
  MessageReader in(*answered);
  out.delegated_nodes = in.number();
  for (size_t left = in.count(); left > 0; --left) {
    const auto id = static_cast<ir::ValueId>(in.number());
    TensorData value = read_tensor(in);
    if (!has_all_bytes(value)) in.fail();
    out.results[id] = std::move(value);
  }
  ETB_TRY(in.expect_whole());
  return out;
}

Result<Side::Run> Side::run_here(const Model& model, std::span<const uint32_t> nodes,
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
