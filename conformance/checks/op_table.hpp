// SPDX-License-Identifier: Apache-2.0
// The rows of a plugin's op table, as values.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "conformance/checks/check.hpp"
#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {

// One row of the op table, as a value.
struct OpFacts {
  std::string op;
  std::set<etb_dtype> dtypes;
  uint32_t min_rank = 0, max_rank = 0, layouts = 0, flags = 0;
  std::set<std::string> quant_schemes;
  std::string constraint;
  std::string defect;  // "" if there is none
};

// Returns the row that lists the only node of this image, or null if no row lists it. `out_is_asked` is false for
// images of several nodes and nodes without a tensor operand, which rows do not describe.
const OpFacts* find_row(const std::vector<OpFacts>& rows, const BuiltCase& built, bool& out_is_asked);

// Opens the plugin if it has ahead-of-time functions. Otherwise skips the check and returns null.
std::unique_ptr<Subject> open_aot(CheckContext& context, const SubjectOptions& options);

// True if the rows of the op table are those of the delegate id that is tested: the rows are the plugin's, and for another id
// than its first it may claim fewer of them.
bool has_own_rows(const SubjectSpec& spec);

// True if the row lists all operands of a node.
bool covers_all(const OpFacts& row, const graph::Node& node);

// Reads the op table. A failing call is a finding.
std::vector<OpFacts> op_rows_of(CheckContext& context, Subject& subject);

}  // namespace etb::conformance
