// SPDX-License-Identifier: Apache-2.0
// The result of a replay: what differs from the recorded answers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/layers/output_distance.hpp"

namespace etb::host::replay {

// Kinds of differences, as --ignore names them: ETB_DIFFERENCE(name, text, description).
#define ETB_DIFFERENCE(name, text, description) name,
enum class DifferenceKind : uint8_t {
#include "host/layers/replay/difference_kinds.def"
};
#undef ETB_DIFFERENCE

const char* to_text(DifferenceKind kind) noexcept;
std::vector<std::string> difference_kinds();

struct Difference {
  DifferenceKind kind;
  size_t trace = 0;      // index of the trace
  uint64_t call = 0;     // number in the trace
  std::string function;  // "delegate.execute"
  std::string object;    // "context 1"
  std::string text;      // what was recorded, and what was found
};

// An output of a call that is not equal to the recorded one.
struct OutputDifference {
  uint64_t call = 0;
  uint32_t output = 0;
  OutputDistance distance;
  bool is_accepted = false;  // within the tolerance or the error model
};

struct FunctionTimes {
  uint64_t call_count = 0;
  uint64_t recorded_ns = 0, found_ns = 0;
};

struct Report {
  uint64_t call_count = 0;  // in the trace
  uint64_t replayed_count = 0;
  uint64_t skipped_count = 0;  // notes say why
  uint64_t output_count = 0;   // outputs compared
  uint64_t equal_count = 0;    // of these, bit for bit
  uint64_t ignored_count = 0;  // differences of ignored kinds
  std::vector<Difference> differences;
  std::vector<OutputDifference> distances;  // of outputs that are not equal
  std::vector<std::string> notes;
  std::map<std::string, FunctionTimes> times;
};

}  // namespace etb::host::replay
