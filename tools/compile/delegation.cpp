// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/delegation.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "api/format/device_record.hpp"
#include "api/format/target_record.hpp"
#include "host/delegates/open_devices.hpp"
#include "host/registry/diagnostic.hpp"
#include "partitioner_sdk/partition/report.hpp"
#include "partitioner_sdk/passes/passes.hpp"
#include "tools/compile/filter_check.hpp"
#include "tools/option_values.hpp"
#include "tools/pages/graph_document.hpp"
#include "tools/pages/page.hpp"
#include "tools/quantity.hpp"
#include "tools/run/plugin_options.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {

namespace {

constexpr uint64_t kMaxTimeoutMs = uint64_t{1000} * 3600 * 24 * 365;

void add_filter_options(CLI::App& command, partition::PartitionOptions& options) {
  partition::Filters& filters = options.filters;
  const auto add_patterns = [&](const char* name, std::vector<std::string>& list, const char* text) {
    command.add_option(name, list, text)->type_name("PATTERN")->allow_extra_args(false);
  };
  add_patterns("--only-op", filters.only_ops,
               "Delegate only ops that match this pattern, such as aten.add*; repeatable");
  add_patterns("--skip-op", filters.skip_ops, "Do not delegate ops that match this pattern; repeatable");
  add_patterns("--only-module", filters.only_modules,
               "Delegate only nodes of this module and of modules inside it, such as layers.1; repeatable");
  add_patterns("--skip-module", filters.skip_modules,
               "Do not delegate nodes of this module and of modules inside it; repeatable");
  add_patterns("--only-node", filters.only_nodes,
               "Delegate only nodes with this name, as printed by --dump-after; repeatable");
  add_patterns("--skip-node", filters.skip_nodes, "Do not delegate nodes with this name; repeatable");
  command
      .add_option("--min-region", options.min_region_nodes,
                  "Leave regions with fewer nodes to the portable kernels")
      ->check(whole_number(1, UINT32_MAX))
      ->type_name("NODES");
}

void add_plugin_options(CLI::App& command, BackendRequest& request) {
  command.add_flag(
      "--isolate", request.isolate,
      "Partition and compile in a child process; a plugin that crashes or hangs is reported and skipped");
  command
      .add_option_function<uint64_t>(
          "--plugin-timeout-ms",
          [&request](const uint64_t& ms) { request.deadline = std::chrono::milliseconds(ms); },
          "Time limit of one call of an isolated plugin (default: 600000)")
      ->check(whole_number(1, kMaxTimeoutMs))
      ->type_name("MS");
  command
      .add_option_function<std::vector<std::string>>(
          "--compile-spec",
          [&request](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              const size_t equals = text.find('=');
              if (equals == 0 || equals == std::string::npos)
                throw CLI::ValidationError("--compile-spec", "'" + text + "', expected KEY=VALUE");
              request.specs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
            }
          },
          "Compile spec, passed to every plugin unchanged; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      .add_option_function<std::vector<std::string>>(
          "--backend-option",
          [&request](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              const Result<BackendOption> option = parse_backend_option(text);
              if (!option) throw CLI::ValidationError(option.error().message);
              request.options[option->backend_id][option->key] = option->value;
            }
          },
          "Set an option of a plugin of -b for the compilation, as listed by `etbackend info PLUGIN`; "
          "repeatable")
      ->type_name("PLUGIN:KEY=VALUE")
      ->allow_extra_args(false);
  command
      .add_option(
          "--target", request.target_file,
          "Compile for the device that this file describes (`etbackend list --devices --target-dir DIR` "
          "writes such files)")
      ->type_name("FILE");
  command
      .add_option_function<std::vector<std::string>>(
          "--device",
          [&request](const std::vector<std::string>& texts) {
            auto devices = parse_devices(texts);
            if (!devices) throw CLI::ValidationError(devices.error().message);
            request.devices = *std::move(devices);
          },
          "Write into the program that its delegates, or only those of this plugin of -b, run on the device "
          "with "
          "this uuid or name, unless a user names another one; repeatable")
      ->type_name("[PLUGIN=]DEVICE")
      ->allow_extra_args(false);
}

// Reasons are text from a plugin: escaped, so that they cannot control the terminal.
void print_lines(const std::string& text, std::ostream& out) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    out << host::made_printable(std::string_view(text).substr(begin, end - begin)) << '\n';
    begin = end + 1;
  }
}

constexpr size_t kShownReasons = 3;

// A plugin that is skipped has a message of its own.
bool is_skipped(const partition::Partition& partition, const std::string& plugin) {
  return std::any_of(partition.plugin_errors.begin(), partition.plugin_errors.end(),
                     [&](const partition::PluginError& error) { return error.plugin == plugin; });
}

bool has_op_of(const ir::Module& module, const Delegation::PreservedOps& names) {
  return std::any_of(module.graphs.begin(), module.graphs.end(), [&](const ir::Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                       [&](const ir::Node& node) { return names.count(module.op(node).name) != 0; });
  });
}

}  // namespace

void add_delegation_options(CLI::App& command, DelegationOptions& options) {
  CLI::Option* const backend =
      command
          .add_option("-b,--backend", options.backends.names,
                      "Plugin to delegate nodes to, by name; repeatable, tried in order")
          ->type_name("PLUGIN")
          ->allow_extra_args(false);
  add_filter_options(command, options.partition);
  add_plugin_options(command, options.backends);
  add_device_limit(
      command, options.max_device_bytes,
      "Write no program whose delegates of one plugin, as it states, will hold more on their device");
  // Without a plugin they would have no effect.
  for (const char* option :
       {"--only-op", "--skip-op", "--only-module", "--skip-module", "--only-node", "--skip-node",
        "--min-region", "--isolate", "--plugin-timeout-ms", "--compile-spec", "--backend-option", "--target",
        "--device", "--max-device-memory"})
    command.get_option(option)->needs(backend);
  command
      .add_flag("--strict", options.is_strict,
                "End with exit status 1 if a plugin of -b gets no node; the program is written nevertheless")
      ->needs(backend);
  // Without a plugin there is nothing to report, and a file that a script expects would be missing.
  command.add_flag(
      "--report", options.prints_report,
      "Print the regions and why each other node was not delegated; with --memory the tensors outside of "
      "the cheapest memory");
  command.add_option("--report-json", options.report_json, "Write the report as JSON")
      ->type_name("FILE")
      ->needs(backend);
  command
      .add_option("--report-html", options.report_html,
                  "Write the report as an HTML page with a drawing of the graph")
      ->type_name("FILE")
      ->needs(backend);
}

Result<Delegation> Delegation::open(host::Registry& registry, const DelegationOptions& options,
                                    Extensions& extensions) {
  Delegation out(options);
  out.request_ = options.backends;
  ETB_TRY(read_target(out.request_));
  ETB_ASSIGN(Backends found, open_backends(registry, out.request_));
  out.backends_.plugins = std::move(found.plugins);
  for (size_t i = 0; i < found.compilers.size(); ++i) {
    const std::string name = found.compilers[i]->name();
    const auto prepare = [&]() -> Status {
      ETB_TRY(extensions.add_plugin(name, *found.entries[i], registry.load_options()));
      ETB_ASSIGN(const auto ops, found.compilers[i]->preserved_ops());
      out.preserved_ops_.insert(ops.begin(), ops.end());
      return {};
    };
    if (const Status prepared = prepare(); !prepared) {
      out.plugin_errors_.push_back({name, prepared.error().message});
      continue;
    }
    out.backends_.compilers.push_back(std::move(found.compilers[i]));
    out.backends_.entries.push_back(found.entries[i]);
  }
  return out;
}

void Delegation::add_rule_error(const std::string& plugin, const Error& error) {
  rule_errors_.push_back({plugin, error.message});
}

// Sorted; a handle that several nodes share occurs once. Node indices end with partition::lower().
static std::vector<std::vector<uint32_t>> handles_of_regions(std::span<const ir::Module> modules,
                                                             std::span<const partition::Region> regions) {
  std::vector<std::vector<uint32_t>> out;
  for (const partition::Region& region : regions) {
    std::set<uint32_t> handles;
    for (const uint32_t node : region.nodes)
      handles.insert(modules[region.method].graphs[region.graph].nodes[node].debug_handle);
    handles.erase(0);
    out.emplace_back(handles.begin(), handles.end());
  }
  return out;
}

Status Delegation::write_reports(std::span<const ir::Module> modules, std::ostream& text, Session& session) {
  const bool has_files = !options_->report_json.empty() || !options_->report_html.empty();
  if (!options_->prints_report && !has_files) return {};
  partition::Report report = partition::make_report(modules, partition_, keys_);
  if (options_->prints_report) print_lines(partition::to_text(report), text);
  if (!options_->report_json.empty())
    ETB_TRY(write_output(options_->report_json, partition::to_json(report), session));
  if (options_->report_html.empty()) return {};
  graphs_ = pages::reported_graphs(modules, report);
  report_ = std::move(report);
  return {};
}

Status Delegation::write_page(const pages::CompileResult& result, const pages::Facts& facts,
                              Session& session) const {
  if (!report_) return {};
  return write_output(options_->report_html,
                      pages::make_page(pages::compile_document(*report_, graphs_, result, facts)), session);
}

// Plugins claim nodes and compile regions.
Status Delegation::assign(std::span<ir::Module> modules) {
  // Plugins see dense row-major tensors. The caller's own dim order ends at a copy, which a plugin may also
  // claim.
  for (ir::Module& module : modules) ETB_TRY(passes::make_row_major(module));
  ETB_TRY(expect_matches(options_->partition.filters, modules));
  ETB_ASSIGN(partition_, partition::partition(modules, backends_.compilers, options_->partition, keys_));
  partition_.plugin_errors.insert(partition_.plugin_errors.begin(), plugin_errors_.begin(),
                                  plugin_errors_.end());
  for (const ir::Module& module : modules)
    for (const ir::Graph& graph : module.graphs) node_count_ += graph.nodes.size();
  return {};
}

// The plugin states what a delegate will hold between runs; memory of runs is known when it is loaded.
Status Delegation::check_device_memory(std::span<const ir::Module> modules) const {
  if (options_->max_device_bytes == 0) return {};
  for (uint32_t i = 0; i < partition_.compilers.size(); ++i) {
    uint64_t total = 0;
    std::string rows;
    for (size_t r = 0; r < partition_.regions.size(); ++r) {
      const partition::Region& region = partition_.regions[r];
      if (region.compiler != i) continue;
      const uint64_t nbytes = region.artifact.resident_bytes;
      total = nbytes > UINT64_MAX - total ? UINT64_MAX : total + nbytes;
      rows += fmt::format("\n  region {} of method '{}' ({}): {}", r, modules[region.method].name,
                          count_of(region.nodes.size(), "node"), nbytes);
    }
    if (total > options_->max_device_bytes)
      return make_error(
          Code::OUT_OF_RESOURCES,
          fmt::format("plugin '{}': its delegates will hold {} bytes on their device, expected at most "
                      "{} (--max-device-memory){}",
                      partition_.compilers[i], total, options_->max_device_bytes, rows));
  }
  return {};
}

Result<partition::Report> Delegation::ask(std::span<ir::Module> modules) {
  ETB_TRY(assign(modules));
  partition::Report report = partition::make_report(modules, partition_, keys_);
  report.plugin_errors.insert(report.plugin_errors.end(), rule_errors_.begin(), rule_errors_.end());
  return report;
}

Status Delegation::run(std::span<ir::Module> modules, const passes::PipelineOptions& pipeline,
                       std::ostream& text, Session& session) {
  if (options_->backends.names.empty()) return {};
  ETB_TRY(assign(modules));
  ETB_TRY(write_reports(modules, text, session));
  ETB_TRY(check_device_memory(modules));
  record_facts();
  region_handles_ = handles_of_regions(modules, partition_.regions);
  ETB_TRY(partition::lower(modules, partition_));
  // Rewrite rules were applied before; those for remaining nodes come later.
  passes::PipelineOptions once_more = pipeline;
  once_more.rules = {};
  for (ir::Module& module : modules)
    if (has_op_of(module, preserved_ops_)) ETB_TRY(passes::to_edge(module, once_more));
  return {};
}

void Delegation::record_facts() {
  for (const partition::Region& region : partition_.regions) {
    auto device = request_.devices.find(partition_.compilers[region.compiler]);
    if (device == request_.devices.end()) device = request_.devices.find("");
    if (device == request_.devices.end() || device->second == host::kDefaultDevice) continue;
    facts_[format::device_record_key(partition_.backend_ids[region.compiler])] = device->second;
  }
  // A target without a fingerprint describes any device, so the run time would have nothing to compare.
  if (request_.target == nullptr) return;
  const etb_target& target = request_.target->target();
  format::TargetRecord record{target.kind, target.name, std::to_array(target.fingerprint)};
  if (record.fingerprint == decltype(record.fingerprint){}) return;
  for (const partition::Region& region : partition_.regions)
    facts_[format::target_record_key(partition_.backend_ids[region.compiler])] =
        format::write_target_record(record);
}

DelegateData Delegation::data() const {
  DelegateData out;
  for (const partition::Region& region : partition_.regions) {
    const partition::Artifact& artifact = region.artifact;
    emit::Delegate& delegate = out.delegates.emplace_back();
    delegate.id = partition_.backend_ids[region.compiler];
    delegate.payload = artifact.payload;
    delegate.specs = artifact.specs;
    for (const partition::DebugEntry& entry : artifact.debug_map) {
      const std::string name = entry.name.empty() ? std::to_string(entry.debug_id) : entry.name;
      delegate.debug_names.push_back({name, entry.handles});
    }
    delegate.debug_handles = region_handles_[out.delegates.size() - 1];
  }
  for (const partition::NamedBlob& blob : partition_.blobs) {
    const bool is_constant = !blob.constant_key.empty();
    out.named_data.push_back(
        {blob.key, is_constant ? keys_.find(blob.constant_key)->bytes : blob.bytes, blob.alignment});
  }
  for (const auto& [key, bytes] : facts_)
    out.named_data.push_back({key, std::as_bytes(std::span(bytes)), 0, true});
  return out;
}

bool Delegation::has_region(uint32_t compiler) const {
  return std::any_of(partition_.regions.begin(), partition_.regions.end(),
                     [&](const partition::Region& region) { return region.compiler == compiler; });
}

// Returns "reason: text" and the number of nodes, most frequent first.
std::vector<std::pair<std::string, size_t>> Delegation::commonest_reasons(uint32_t compiler) const {
  std::map<std::string, size_t> counts;
  for (const partition::MethodAssignments& method : partition_.assignments)
    for (const partition::GraphAssignments& graph : method)
      for (const partition::NodeAssignment& node : graph)
        for (const partition::Rejection& rejection : node.rejections)
          if (rejection.compiler == compiler)
            ++counts[rejection.reason + (rejection.text.empty() ? "" : ": " + rejection.text)];
  std::vector<std::pair<std::string, size_t>> out(counts.begin(), counts.end());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

ExitCode Delegation::finish(std::ostream& err) const {
  for (const partition::PluginError& error : partition_.plugin_errors)
    err << fmt::format("etbackend compile: skipped plugin '{}': {}\n", host::made_printable(error.plugin),
                       host::made_printable(error.text));
  for (const partition::FailedClaim& claim : partition_.failed_claims)
    err << fmt::format("etbackend compile: {}\n", host::made_printable(partition::to_text(claim)));
  for (const partition::PluginError& error : rule_errors_)
    err << fmt::format("etbackend compile: skipped a rule of plugin '{}': {}\n",
                       host::made_printable(error.plugin), host::made_printable(error.text));
  bool is_idle = false;
  for (uint32_t i = 0; i < partition_.compilers.size(); ++i) {
    if (has_region(i) || is_skipped(partition_, partition_.compilers[i])) continue;
    is_idle = true;
    err << fmt::format("warning: plugin '{}' gets none of the {}\n",
                       host::made_printable(partition_.compilers[i]), count_of(node_count_, "node"));
    const auto reasons = commonest_reasons(i);
    for (size_t r = 0; r < std::min(reasons.size(), kShownReasons); ++r)
      err << fmt::format("  {}: {}\n", count_of(reasons[r].second, "node"),
                         host::made_printable(reasons[r].first, 200));
    err << "  hint: --report lists each node with its reason\n";
  }
  const bool is_whole = partition_.plugin_errors.empty() && rule_errors_.empty();
  return is_whole && !(is_idle && options_->is_strict) ? ExitCode::OK : ExitCode::NEGATIVE;
}

nlohmann::ordered_json Delegation::summary() const {
  using Json = nlohmann::ordered_json;
  Json plugins = Json::array();
  size_t delegated = 0;
  for (uint32_t i = 0; i < partition_.compilers.size(); ++i) {
    size_t regions = 0, nodes = 0;
    for (const partition::Region& region : partition_.regions) {
      if (region.compiler != i) continue;
      ++regions;
      nodes += region.nodes.size();
    }
    delegated += nodes;
    plugins.push_back({{"name", partition_.compilers[i]},
                       {"backend_id", partition_.backend_ids[i]},
                       {"regions", regions},
                       {"nodes", nodes}});
    if (regions != 0) continue;
    Json& reasons = plugins.back()["commonest_reasons"] = Json::array();
    for (const auto& [reason, count] : commonest_reasons(i))
      if (reasons.size() < kShownReasons) reasons.push_back({{"reason", reason}, {"nodes", count}});
  }
  Json errors = Json::array();
  for (const auto* list : {&partition_.plugin_errors, &rule_errors_})
    for (const partition::PluginError& error : *list)
      errors.push_back({{"plugin", error.plugin}, {"text", error.text}});
  for (const partition::FailedClaim& claim : partition_.failed_claims)
    errors.push_back({{"plugin", claim.plugin}, {"text", partition::to_text(claim)}});
  return {{"plugins", std::move(plugins)},
          {"nodes", node_count_},
          {"delegated_nodes", delegated},
          {"errors", std::move(errors)}};
}

}  // namespace etb::tools
