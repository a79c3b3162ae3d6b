// SPDX-License-Identifier: Apache-2.0
// Results that correct float arithmetic may have for a graph of many nodes. No formula bounds the error of a whole
// network well, so it is measured: the float64 reference runs again and again with small random changes of all
// values between nodes, and the results show how far such changes spread (Monte Carlo arithmetic).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/judge/contract.hpp"
#include "host/portable_backend/graph_executor.hpp"

namespace etb::conformance {

// Changes are larger than one rounding, and bounds larger than what they caused: a sum of K terms in a bad
// order has an error of K roundings, its operands' changes cause sqrt(K). 8 * 8 covers sums of 8,192 terms.
inline constexpr double kRoundingsOfAChange = 8;
inline constexpr double kBoundOfAChange = 8;

struct ExpectedTensor {
  std::vector<int64_t> sizes;
  std::vector<double> values;
  std::vector<double> bounds;                // allowed difference, by element
  std::vector<std::vector<double>> answers;  // integer outputs: values in the runs with changes
  bool is_floating = true;
  bool may_flush = false;  // the contract allows zeros in place of subnormals
  // It follows from a value that the stored dtype cannot hold, and float64 can: the reference cannot judge it.
  // Always false without ExpectOptions::find_overflows.
  bool follows_overflow = false;
};

// Errors of values beside their rounding, by node of the image: the results of the node are up to that much off. The
// results of such a node with integers of 8 bits are codes, of which some differ by one.
using NodeErrors = std::map<uint32_t, double>;

struct ExpectOptions {
  NodeErrors errors = {};
  bool find_overflows = false;  // looks at each value between nodes
};

// Runs the graph of a verified image. `inputs` are dense. The contract's units are those of the changes.
[[nodiscard]] Result<std::vector<ExpectedTensor>> expect_results(std::span<const uint8_t> image,
                                                                 const host::ConstantBytes& read_constant,
                                                                 const std::vector<TensorData>& inputs,
                                                                 const PrecisionContract& contract,
                                                                 std::string_view seed,
                                                                 const ExpectOptions& options = {});

// Returns what is wrong with a result, "" if nothing.
std::string describe_difference(const ExpectedTensor& expected, const TensorData& found);

// Returns the largest error of an element as a multiple of its bound: 1 is the limit. Infinity for an integer, NaN or
// size that is wrong.
double find_margin(const ExpectedTensor& expected, const TensorData& found);

}  // namespace etb::conformance
