// SPDX-License-Identifier: Apache-2.0
// The rows of a plugin's op table, as a child process sends them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "etb/aot.h"

namespace etb::host {

inline constexpr size_t kMaxProbedOps = 8192;

struct ProbedOp {
  std::string op;                   // "aten.add.Tensor"
  std::vector<std::string> dtypes;  // of the first tensor input
  uint64_t min_rank = 0;            // of tensor inputs and results
  uint64_t max_rank = 0;
  std::vector<std::string> layouts;  // "contiguous", "channels-last", "any"
  std::vector<std::string> quant_schemes;
  bool has_dynamic_sizes = false;
  std::string constraint;  // what else must hold; "": nothing
};

// Writes a row in the child.
nlohmann::json from_op(const etb_op_capability& op);

// Reads the rows in the parent, which trusts none of it: rows of another form are left out, texts are escaped for output.
std::vector<ProbedOp> read_ops(const nlohmann::json& rows);

}  // namespace etb::host
