// SPDX-License-Identifier: Apache-2.0
#include "conformance/runner/confirm.hpp"

#include <algorithm>
#include <set>

#include "conformance/process/in_process.hpp"
#include "conformance/process/minimise.hpp"
#include "conformance/process/replay.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kMaxReplays = 60;

class Confirmation {
 public:
  Confirmation(const Plan& plan, Failure& failure, KnownSequences& known)
      : plan_(plan), out_(failure.outcome), known_(known) {
    const std::vector<uint32_t>& batch = *failure.batch;
    is_end_ = failure.position == batch.size();
    item_ = is_end_ ? batch.back() : batch[failure.position];
    const size_t length = is_end_ ? batch.size() - 1 : failure.position;
    prefix_.assign(batch.begin(), batch.begin() + static_cast<long>(length));
  }

  bool run() {
    if (plan_.is_late()) return false;
    if (plan_.items[item_].check != nullptr) return confirm_check();
    if (fails_after({})) return sometimes_passes() ? true : make_smaller();
    if (!find_sequence()) return false;
    if (sequence_.empty())
      say_flaky("did not fail again, neither alone nor after what ran before it");
    else
      say_sequence();
    return true;
  }

 private:
  // A check already had its own child. One that hangs is not repeated.
  bool confirm_check() {
    if (out_.state == State::kHang || fails_after({}))
      out_.smallest = "the check itself";
    else
      say_flaky("did not fail again");
    return true;
  }

  // Repeats a failure whose text changes from run to run: it may depend on chance. Wrong each time, with other
  // numbers, is wrong; right at some time is flaky.
  bool sometimes_passes() {
    constexpr int kTries = 3;
    if (again_ == text_of(out_)) return false;
    for (int i = 0; i < kTries && !plan_.is_late(); ++i)
      if (!fails_after({})) {
        say_flaky("failed, with another result each time, and passed at another time");
        return true;
      }
    return false;
  }

  static std::string text_of(const Outcome& outcome) {
    return outcome.findings.empty() ? "" : outcome.findings[0].text;
  }

  bool make_smaller() {
    if (is_end_) {
      out_.smallest = "the case itself, and the end of its process";
      return true;
    }
    Minimised minimised = minimise(plan_, item_, out_);
    if (!minimised.has_ended) return false;
    out_.smallest = minimised.found ? describe(*minimised.found) : "the case itself";
    if (minimised.found) out_.small = std::make_shared<const SmallCase>(std::move(*minimised.found));
    return true;
  }

  void say_flaky(const char* text) {
    out_.state = State::kFlaky;
    out_.findings.push_back({"det.repeats", text, ""});
  }

  void say_sequence() {
    for (const uint32_t before : sequence_) out_.sequence += plan_.items[before].name + "\n";
    out_.findings.push_back({group_of(out_.name) + ".state-dependent",
                             "passes alone, fails after " + std::to_string(sequence_.size()) +
                                 (sequence_.size() == 1 ? " earlier case: " : " earlier cases: ") +
                                 plan_.items[sequence_[0]].name,
                             ""});
  }

  bool fails_after(const std::vector<uint32_t>& before) {
    ++replay_count_;
    std::vector<uint32_t> items = before;
    items.push_back(item_);
    const std::vector<Outcome> outcomes = replay(plan_, items);
    const Outcome* const again = find_outcome(outcomes, out_.name);
    if (again == nullptr || !is_failure(again->state)) return false;
    again_ = text_of(*again);
    return true;
  }

  // Returns false if the time is over.
  bool find_sequence() {
    if (prefix_.empty()) return true;
    for (const std::vector<uint32_t>& one : known_)
      if (is_in_prefix(one) && fails_after(one)) {
        sequence_ = one;
        break;
      }
    if (sequence_.empty()) {
      if (!fails_after(prefix_)) return true;
      sequence_ = prefix_;
    }
    shorten();
    if (std::find(known_.begin(), known_.end(), sequence_) == known_.end()) known_.push_back(sequence_);
    return sequence_.size() < prefix_.size() || !plan_.is_late();
  }

  bool is_in_prefix(const std::vector<uint32_t>& sequence) const {
    const std::set<uint32_t> all(prefix_.begin(), prefix_.end());
    return std::all_of(sequence.begin(), sequence.end(),
                       [&](uint32_t number) { return all.count(number) != 0; });
  }

  // ddmin: leaves out one of an increasing number of pieces.
  void shorten() {
    for (size_t pieces = 2; sequence_.size() > 1 && pieces <= sequence_.size() &&
                            replay_count_ < kMaxReplays && !plan_.is_late();) {
      if (leave_out_one(pieces)) {
        pieces = std::max<size_t>(pieces - 1, 2);
      } else {
        if (pieces >= sequence_.size()) break;
        pieces = std::min(pieces * 2, sequence_.size());
      }
    }
  }

  bool leave_out_one(size_t pieces) {
    const size_t piece = (sequence_.size() + pieces - 1) / pieces;
    for (size_t at = 0; at < sequence_.size() && replay_count_ < kMaxReplays; at += piece) {
      std::vector<uint32_t> less = sequence_;
      less.erase(less.begin() + static_cast<long>(at),
                 less.begin() + static_cast<long>(std::min(at + piece, less.size())));
      if (less.empty() || !fails_after(less)) continue;
      sequence_ = std::move(less);
      return true;
    }
    return false;
  }

  const Plan& plan_;
  Outcome& out_;
  KnownSequences& known_;
  bool is_end_ = false;
  uint32_t item_ = 0;
  std::vector<uint32_t> prefix_, sequence_;
  size_t replay_count_ = 0;
  std::string again_;  // text of the latest failure
};

}  // namespace

bool confirm(const Plan& plan, Failure& failure, KnownSequences& known) {
  return Confirmation(plan, failure, known).run();
}

}  // namespace etb::conformance
