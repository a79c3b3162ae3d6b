// SPDX-License-Identifier: Apache-2.0
// Delegation in `etbackend compile`: opens the plugins that -b names, partitions for them, and writes
// reports.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "partitioner_sdk/emit/emit.hpp"
#include "partitioner_sdk/partition/partition.hpp"
#include "partitioner_sdk/partition/report.hpp"
#include "partitioner_sdk/passes/pipeline.hpp"
#include "tools/cli11_fwd.hpp"
#include "tools/command.hpp"
#include "tools/compile/backends.hpp"
#include "tools/compile/extensions.hpp"
#include "tools/exit_code.hpp"
#include "tools/pages/reports.hpp"

namespace etb::tools {

struct DelegationOptions {
  BackendRequest backends;
  partition::PartitionOptions partition;
  bool prints_report = false;
  std::string report_json, report_html;  // files
  uint64_t max_device_bytes = 0;         // of the delegates of one plugin; 0: no limit
  bool is_strict = false;                // a plugin that gets no node is a failure
};

void add_delegation_options(CLI::App& command, DelegationOptions& options);

// Regions and their data, for the emitter.
struct DelegateData {
  std::vector<emit::Delegate> delegates;
  std::vector<emit::NamedBytes> named_data;
};

class Delegation {
 public:
  using PreservedOps = std::set<std::string, std::less<>>;

  // Opens the plugins, adds their manifests' extensions to the compiler, and reads the ops that they want
  // preserved. A plugin that fails here is skipped. `options` and the registry must outlive the result.
  [[nodiscard]] static Result<Delegation> open(host::Registry& registry, const DelegationOptions& options,
                                               Extensions& extensions);

  const PreservedOps& preserved_ops() const { return preserved_ops_; }

  // Partitions graphs in the edge dialect, then decomposes preserved ops that no plugin claimed. Writes
  // reports as the options request; text for people goes to `text`.
  [[nodiscard]] Status run(std::span<ir::Module> modules, const passes::PipelineOptions& pipeline,
                           std::ostream& text, Session& session);

  // Partitions graphs in the edge dialect and returns the plugins' answers. The graphs stay as they are, but row-major.
  [[nodiscard]] Result<partition::Report> ask(std::span<ir::Module> modules);

  // Records an error of a plugin's rewrite rules.
  void add_rule_error(const std::string& plugin, const Error& error);

  // Writes the page of --report-html, if that was requested and the nodes were assigned.
  [[nodiscard]] Status write_page(const pages::CompileResult& result, const pages::Facts& facts,
                                  Session& session) const;

  // The result borrows from this object.
  DelegateData data() const;

  // Prints skipped plugins, and those that got no node with the commonest reasons. Returns NEGATIVE for the
  // first, and with --strict for the second.
  ExitCode finish(std::ostream& err) const;
  // Returns the regions and nodes of each plugin, and their errors.
  nlohmann::ordered_json summary() const;

 private:
  explicit Delegation(const DelegationOptions& options) : options_(&options) {}
  Status assign(std::span<ir::Module> modules);
  Status check_device_memory(std::span<const ir::Module> modules) const;
  Status write_reports(std::span<const ir::Module> modules, std::ostream& text, Session& session);
  std::vector<std::pair<std::string, size_t>> commonest_reasons(uint32_t compiler) const;
  bool has_region(uint32_t compiler) const;
  // Notes, for the program, the target that payloads were compiled for, and the devices that it names.
  void record_facts();

  const DelegationOptions* options_;
  BackendRequest request_;  // the compilers borrow texts of options
  Backends backends_;
  PreservedOps preserved_ops_;
  std::vector<partition::PluginError> plugin_errors_;  // before partitioning
  std::vector<partition::PluginError> rule_errors_;    // faults of plugins that still take part
  partition::ConstantKeys keys_;
  partition::Partition partition_;
  std::vector<std::vector<uint32_t>> region_handles_;  // by region: debug handles of its nodes
  std::map<std::string, std::string> facts_;           // contents by key of named data
  size_t node_count_ = 0;                              // before lowering
  // For the page, which is written at the end.
  std::optional<partition::Report> report_;
  nlohmann::ordered_json graphs_;
};

}  // namespace etb::tools
