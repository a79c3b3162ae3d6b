// SPDX-License-Identifier: Apache-2.0
// The node of a case with one argument changed, for questions about claims.
#pragma once

#include <string>
#include <vector>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/mutable_graph.hpp"

namespace etb::conformance {

enum class ChangeKind : uint8_t {
  kValue,  // a number, flag or text has another value, or an optional tensor is left out
  kPlace,  // a tensor is a constant instead of an input, or the other way round
};

struct Change {
  ChangeKind kind = ChangeKind::kValue;
  std::string argument;  // its name
  std::string text;      // "alpha is 1", "weight is a constant"
  MutableGraph graph;    // the same node with this change
};

// Returns each change that leaves the sizes and types of the results as they are and keeps the node valid. Returns
// none for graphs of several nodes, and for those that read_mutable_graph rejects.
std::vector<Change> changes_of(const BuiltCase& built);

}  // namespace etb::conformance
