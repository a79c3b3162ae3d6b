// SPDX-License-Identifier: Apache-2.0
// Results that correct float arithmetic may have for a graph of many nodes. No formula bounds the error of a whole
// network well, so it is measured: the float64 reference runs again and again with small random changes of all
// values between nodes, and the results show how far such changes spread (Monte Carlo arithmetic).
#pragma once

#include <string>
#include <vector>

#include "conformance/judge/contract.hpp"
#include "conformance/networks/compile_network.hpp"
#include "host/portable_backend/graph_executor.hpp"

namespace etb::conformance {

struct ExpectedTensor {
  std::vector<int64_t> sizes;
  std::vector<double> values;
  std::vector<double> bounds;                // allowed difference, by element
  std::vector<std::vector<double>> answers;  // integer outputs: values in the runs with changes
  bool is_floating = true;
};

// A verified graph image, and the bytes of its constants by key.
struct GraphWithConstants {
  std::span<const uint8_t> image;
  host::ConstantBytes read_constant;
};

// Runs the graph. `inputs` are dense and row-major. The contract's units are those of the changes.
[[nodiscard]] Result<std::vector<ExpectedTensor>> expect_results(const NetworkGraph& graph,
                                                                 const std::vector<TensorData>& inputs,
                                                                 const PrecisionContract& contract,
                                                                 std::string_view seed);

[[nodiscard]] Result<std::vector<ExpectedTensor>> expect_results(const GraphWithConstants& graph,
                                                                 const std::vector<TensorData>& inputs,
                                                                 const PrecisionContract& contract,
                                                                 std::string_view seed);

// Returns what is wrong with a result, "" if nothing.
std::string describe_difference(const ExpectedTensor& expected, const TensorData& found);

}  // namespace etb::conformance
