// SPDX-License-Identifier: Apache-2.0
// The error model of the conformance suite for test cases of a bundle: results that correct float arithmetic may have,
// from the exported graph.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/format/bundled_program_view.hpp"
#include "conformance/judge/expected.hpp"
#include "conformance/networks/compile_network.hpp"
#include "etb/cpp/result.hpp"
#include "host/runtime/evalue.hpp"

namespace etb::tools {

// Results that an output may have. Elements are in the order that the graph stores.
struct ModelOutput {
  conformance::ExpectedTensor expected;
  std::vector<uint8_t> dim_order;
};

class GraphErrorModel {
 public:
  // `archive` is an archive of torch.export (.pt2).
  explicit GraphErrorModel(std::string archive) : archive_(std::move(archive)) {}

  // Runs the graph in float64, and again with small changes of all values. NOT_SUPPORTED: the reference cannot run this
  // graph. Other errors: the archive is damaged, or of a model with other inputs.
  [[nodiscard]] Result<std::vector<ModelOutput>> expect(const format::BundledCaseView& item,
                                                        const std::string& seed);

 private:
  using Sizes = std::vector<std::vector<int64_t>>;
  // The graph with the sizes of one case.
  struct Graph {
    Sizes sizes;
    conformance::NetworkGraph graph;
    conformance::PrecisionContract contract;
    std::vector<std::vector<uint8_t>> input_orders, output_orders;
    std::vector<uint32_t> inputs;  // of the case, for each input of the graph
  };
  Result<const Graph*> graph_of(const format::BundledCaseView& item);
  Result<Graph> make_graph(const format::BundledCaseView& item) const;

  std::string archive_;
  std::optional<Graph> latest_;
  Sizes latest_key_;
};

// Returns what is wrong with an output, "" if nothing.
std::string describe_difference(const ModelOutput& expected, const host::EValue& found);
std::string describe_difference(const ModelOutput& expected, const format::BundledValueView& found);

}  // namespace etb::tools
