// SPDX-License-Identifier: Apache-2.0
// Order in which the instructions of a method run where its delegates go on while the host does other work.
//
// Host instructions keep the order of the program. A delegate starts as soon as all that it needs has ended, or is under way
// where the plugin itself can wait for that. An instruction waits only for the runs that it depends on: through bytes that
// either writes, views and reused memory included, or through a value's sizes.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "host/runtime/method_state.hpp"

namespace etb::host {

struct OrderedStep {
  uint32_t instruction;
  bool is_start;                // starts a delegate's run; else the instruction runs to its end
  std::vector<uint32_t> waits;  // instructions whose runs end before
  std::vector<uint32_t> after;  // of a start: instructions whose runs go on, and end before this run begins
};

// Abilities of a delegate's runs.
struct DelegateStarts {
  bool can_start = false;   // go on while the host does other work
  bool can_follow = false;  // begin when runs of other delegates have ended, without the host
};

struct InstructionOrder {
  std::vector<OrderedStep> steps;  // empty: nothing can overlap, or the method's order depends on its values
  // Memory of the method's own that its instructions use, as sorted ranges [begin, end). Memory that a caller sets for an
  // input or output is not in it, and must not overlap it, or memory of another one that is written.
  std::vector<std::pair<uintptr_t, uintptr_t>> planned;
};

// Returns the instructions that each one depends on, sorted; nothing if the method's order depends on its values.
std::vector<std::vector<uint32_t>> find_dependencies(const MethodState& state);

// Finds the order of a loaded method. `starts` has one entry for each of its delegates.
InstructionOrder find_order(const MethodState& state, const std::vector<DelegateStarts>& starts);

}  // namespace etb::host
