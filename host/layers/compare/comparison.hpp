// SPDX-License-Identifier: Apache-2.0
// The comparing layer: runs an alternative beside a plugin, on the same payloads and inputs, and reports how far its
// outputs are from the plugin's. The application receives the plugin's answers only.
//
//   Comparison comparison(options);
//   start_plugin(library, table, {.layers = {comparison.layer()}, ...});
//   ...
//   for (const ComparedOutput& output : comparison.outputs()) ...
//
// The alternative is another plugin that reads the same payloads, or the portable kernels where the graph of a payload
// is known (graph_source.hpp).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/layers/compare/graph_source.hpp"
#include "host/layers/output_distance.hpp"
#include "host/layers/wrapping.hpp"
#include "host/plugin/plugin_context.hpp"

namespace etb::host {

namespace compare {
class OtherDelegate;
class OtherContext;
}  // namespace compare

struct ComparisonOptions {
  std::string name;  // of the alternative, for people
  // Opens the alternative, without layers. Called at the first delegate.
  std::function<Result<std::shared_ptr<const PluginContext>>()> open;
  bool is_portable = false;           // its payloads are graphs: it needs `graphs`
  std::optional<GraphSource> graphs;  // also names the node of each output
  Tolerance tolerance;
};

// One output of one delegate, over all runs.
struct ComparedOutput {
  uint64_t delegate = 0;  // number, as trace prints it
  std::string method;
  uint32_t output = 0;
  OutputNode node;  // empty when no graph is known
  uint64_t run_count = 0, differing_count = 0, beyond_count = 0;
  uint64_t first_run = 0;  // of the run with `first`, from 1
  OutputDistance first;    // the first run beyond the tolerance, else the first that differs
  double max_abs = 0, max_rel = 0;
};

class Comparison {
 public:
  explicit Comparison(ComparisonOptions options);
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;
  ~Comparison();

  // "compare"
  Layer layer() const noexcept;

  std::vector<ComparedOutput> outputs() const;
  std::vector<std::string> notes() const;  // what was not compared, and why
  bool has_differences() const;            // beyond the tolerance, or in status or sizes

  // ---- for the layer's functions (wrapping.hpp)

  static constexpr const char *kName = "compare", *kServiceId = "etbackend.compare/1";
  struct Data {
    std::shared_ptr<compare::OtherDelegate> delegate;  // of delegates and their contexts
    std::shared_ptr<compare::OtherContext> context;
  };
  ObjectNumbers& numbers() noexcept { return numbers_; }

  template <class Call, class Run>
  etb_status on_call(WrappedObject<Comparison>& object, Call& call, etb_error* error, Run&& run);
  template <class Call, class Run>
  etb_status on_end(WrappedObject<Comparison>& object, Call& call, etb_error* error, Run&& run);
  template <class Call, class Run>
  etb_status on_make(WrappedObject<Comparison>* object, Call& call, MadeObject<Comparison>& made,
                     etb_error* error, Run&& run);

  // Called by the alternative's objects.
  Result<const PluginContext*> alternative();
  const ComparisonOptions& options() const noexcept { return options_; }
  const SourceGraph* next_graph(std::span<const std::byte> payload);  // of a new delegate; NULL when unknown
  void note(const std::string& text, bool is_difference);
  void add(uint64_t delegate, const std::string& method, uint32_t output, const OutputNode& node,
           uint64_t run, const OutputDistance& distance);

 private:
  ComparisonOptions options_;
  mutable std::mutex mutex_;
  std::optional<Result<std::shared_ptr<const PluginContext>>> alternative_;
  std::map<std::pair<uint64_t, uint32_t>, ComparedOutput> outputs_;
  std::map<std::string, uint64_t> notes_;
  std::map<format::Sha256, uint64_t> delegate_counts_;  // by digest of the payload
  bool has_differences_ = false;
  ObjectNumbers numbers_;
  LayerService service_;
};

// "delegate 1 (forward), output 0 'add', debug handle 5: 3 of 10 runs differ, ..."
std::string describe_output(const ComparedOutput& output);

}  // namespace etb::host
