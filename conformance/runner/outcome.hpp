// What became of one case or check.
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
  kHang,         // killed after its time
  kDishonest,    // a promise that another call broke: claimed and not compiled, refused and compiled, ...
  kUnsupported,  // rejected with a reason, and the rejection holds
  kWaived,       // fails as a waiver says
  kXpass,        // passes although a waiver says that it fails
  kFlaky,        // other results when it ran again
  kWarning,      // worth knowing, breaks no rule
  kNotRun,       // the run ended before it
};
const char* to_text(State state);
bool from_text(const std::string& text, State& out);
// Whether a plugin with such an outcome does not pass.
bool is_failure(State state);

// One thing that is wrong. The check's first word is its group: "mem.unwritten-output".
struct Finding {
  std::string check;
  std::string text;
  std::string rule;  // of the ABI, "" for numbers
};

struct Outcome {
  std::string name;
  State state = State::kNotRun;
  std::vector<Finding> findings;
  std::string reason;  // of unsupported: what the plugin said; of a crash: where it died
  std::string op;
  std::string dtype;
  double margin = 0;  // largest error / bound
  bool is_claimed = false;
  bool is_executed = false;
  uint64_t duration_us = 0;
  std::vector<std::pair<std::string, double>> measured;  // what a check timed: "op.mm...stat.first_run_us"
  std::string smallest;                    // of a failure that was made smaller: its ops and inputs
  std::shared_ptr<const SmallCase> small;  // the same to run; not in reports, but in replay files
  std::string sequence;  // of a state-dependent failure: the cases that must run before it, one a line
};

// The group of a name or of a check id: what stands before the first dot.
std::string group_of(const std::string& id);

}  // namespace etb::conformance
