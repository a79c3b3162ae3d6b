// What `etbackend compile` does with plugins: opens those that -b names, gives them what they take, reports.
#pragma once

#include <CLI/CLI.hpp>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "partitioner_sdk/emit/emit.hpp"
#include "partitioner_sdk/partition/partition.hpp"
#include "partitioner_sdk/passes/pipeline.hpp"
#include "tools/compile/backends.hpp"
#include "tools/compile/extensions.hpp"
#include "tools/exit_code.hpp"

namespace etb::tools {

struct DelegationOptions {
  BackendRequest backends;
  partition::PartitionOptions partition;
  bool prints_report = false;
  std::string report_json, report_html;  // files
};

void add_delegation_options(CLI::App& command, DelegationOptions& options);

// What the emitter is told of regions.
struct DelegateData {
  std::vector<emit::Delegate> delegates;
  std::vector<emit::NamedBytes> named_data;
};

class Delegation {
 public:
  using PreservedOps = std::set<std::string, std::less<>>;

  // Opens the plugins, adds what their manifests add to the compiler and asks which ops they want whole; one that cannot even do
  // that takes no part. `options` and the registry outlive it.
  [[nodiscard]] static Result<Delegation> open(host::Registry& registry, const DelegationOptions& options,
                                               Extensions& extensions);

  const PreservedOps& preserved_ops() const { return preserved_ops_; }

  // Gives plugins what they take of graphs in the edge dialect, then takes apart what was kept whole for them and they did not
  // take. Reports go where the options say.
  [[nodiscard]] Status run(std::span<ir::Module> modules, const passes::PipelineOptions& pipeline,
                           std::ostream& out);

  // A fault that showed while plugins' rules were applied.
  void note_fault(const std::string& plugin, const Error& error);

  // Views of this.
  DelegateData data() const;

  // Names the plugins that took no part; NEGATIVE when there are some.
  ExitCode finish(std::ostream& err) const;

 private:
  explicit Delegation(const DelegationOptions& options) : options_(&options) {}
  Status write_reports(std::span<const ir::Module> modules, std::ostream& out) const;

  const DelegationOptions* options_;
  Backends backends_;
  PreservedOps preserved_ops_;
  std::vector<partition::PluginFault> faults_;       // before anything was partitioned
  std::vector<partition::PluginFault> rule_faults_;  // of plugins that take part all the same
  partition::ConstantKeys keys_;
  partition::Partition partition_;
};

}  // namespace etb::tools
