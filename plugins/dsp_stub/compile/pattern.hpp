// SPDX-License-Identifier: Apache-2.0
// A whole quantised pattern: dequantize -> op -> clamps, moves -> quantize. The DSP has no other work.
#pragma once

#include <vector>

#include "plugins/dsp_stub/compile/graph_facts.hpp"

namespace etb::dsp_stub {

// Part of an op in a pattern.
enum class Role {
  kNone,
  kCore,   // computes on int32 sums: one in a pattern
  kUnary,  // a function of one element: a table, or a limit of the core's result
  kMove,   // changes places only
};
Role role_of(std::string_view op);
bool is_clamp(std::string_view op);

// One operand of a core, or the operand of a pattern without one.
struct Operand {
  uint32_t codes = graph::kNone;     // the value with the codes
  Params params = {};                // of the dequantize node
  std::vector<uint32_t> steps = {};  // indices of unary and move nodes from the codes to the core, in order
  bool is_constant = false;
  uint32_t dequantize = graph::kNone;  // index of that node
};

struct Pattern {
  uint32_t quantize = graph::kNone;  // node indices
  uint32_t core = graph::kNone;      // kNone: only unary and move nodes
  std::vector<Operand> operands = {};
  std::vector<uint32_t> tail = {};   // unary and move nodes after the core, in order
  std::vector<uint32_t> nodes = {};  // all, with weights' dequantize nodes; ascending
  Params params = {};                // of the result
};

// Finds the pattern that a quantize node ends. An error is the reason why there is none; `out_seen` has the
// nodes that the reason is about.
[[nodiscard]] Result<Pattern> match_pattern(const GraphFacts& facts, uint32_t quantize,
                                            std::vector<uint32_t>& out_seen);

}  // namespace etb::dsp_stub
