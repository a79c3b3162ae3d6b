// SPDX-License-Identifier: Apache-2.0
// The error model of the conformance suite for test cases of a bundle: results that correct float arithmetic may have,
// from the exported graph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/format/bundled_program_view.hpp"
#include "conformance/judge/expected.hpp"
#include "conformance/networks/compile_network.hpp"
#include "etb/cpp/result.hpp"
#include "host/runtime/evalue.hpp"

namespace etb::tools {

class GraphErrorModel {
 public:
  // Reads an archive of torch.export (.pt2). NOT_SUPPORTED: the reference does not run its graph.
  [[nodiscard]] static Result<GraphErrorModel> open(const std::string& archive);

  // Runs the graph in float64, and again with small changes of all values. NOT_SUPPORTED: the reference does not run the
  // graph with these inputs.
  [[nodiscard]] Result<std::vector<conformance::ExpectedTensor>> expect(const format::BundledCaseView& item,
                                                                        const std::string& seed) const;

 private:
  GraphErrorModel() = default;
  conformance::NetworkGraph graph_;
  conformance::PrecisionContract contract_;
};

// Returns what is wrong with an output, "" if nothing.
std::string describe_difference(const conformance::ExpectedTensor& expected, const host::EValue& found);
std::string describe_difference(const conformance::ExpectedTensor& expected,
                                const format::BundledValueView& found);

}  // namespace etb::tools
