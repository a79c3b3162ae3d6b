// SPDX-License-Identifier: Apache-2.0
// The outcome of one case or check.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace etb::conformance {

struct SmallCase;

enum class State : uint8_t {
  kPass,
  kFail,
  kCrash,        // the process died; costs this one case
  kHang,         // killed after its time limit
  kDishonest,    // a broken promise: claimed and not compiled, rejected and compiled, ...
  kUnsupported,  // rejected with a reason, and the rejection holds
  kWaived,       // fails, as a waiver allows
  kXpass,        // passes although a waiver expects a failure
  kFlaky,        // other results when repeated
  kWarning,      // worth knowing, breaks no rule
  kNotRun,       // the run ended before it
};
const char* to_text(State state);
bool from_text(const std::string& text, State& out);
// True if a plugin with such an outcome fails.
bool is_failure(State state);

// One defect. The check's first word is its group: "mem.unwritten-output".
struct Finding {
  std::string check;
  std::string text;
  std::string rule;  // rule of the ABI, "" for numbers
};

// A row of the plugin's op table, for one dtype; or an executed node, with the rank and layout of its first operand.
struct ClaimRow {
  std::string op, dtype;
  uint32_t min_rank = 0, max_rank = 0;
  uint32_t layouts = 0;  // ETB_LAYOUT_*
  bool is_dynamic = false;
};

struct Outcome {
  std::string name;
  State state = State::kNotRun;
  std::vector<Finding> findings;
  std::string reason;  // if unsupported: the plugin's text; after a crash: its location
  std::string op;
  std::string dtype;
  double margin = 0;  // largest error / bound
  bool is_claimed = false;
  bool is_executed = false;
  uint64_t duration_us = 0;
  std::vector<std::pair<std::string, double>> measured;  // times by a check: "op.mm...stat.first_run_us"
  std::vector<ClaimRow> claims;                          // result of the check that reads the op table
  std::vector<ClaimRow> nodes;                           // of an executed graph of several nodes, none twice
  std::string smallest;                                  // ops and inputs of the minimised case
  std::shared_ptr<const SmallCase> small;  // the minimised case; stored in replay files, not in reports
  std::string sequence;  // if state-dependent: the cases that must run before it, one per line
};

// Returns the group of a name or of a check id: the text before the first dot.
std::string group_of(const std::string& id);

}  // namespace etb::conformance
