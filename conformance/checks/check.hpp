// SPDX-License-Identifier: Apache-2.0
// A check: one statement about a plugin that is not about one op. To add one, add a row in its group's file.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>

#include "conformance/subject/case_flow.hpp"
#include "conformance/subject/case_session.hpp"
#include "conformance/subject/latency.hpp"

namespace etb::conformance {

// A case that the plugin claims, compiled. Most checks use these.
struct ClaimedCase {
  const Case* item = nullptr;
  BuiltCase built;
  Payload payload;
};

// A claimed case with a session.
struct ReadyCase {
  Subject& subject;
  const ClaimedCase& item;
  CaseSession& session;

  const std::string& name() const { return item.item->name; }
  const std::vector<TensorData>& inputs() const { return item.built.runs[0]; }
  RunResult run(const RunOptions& options = {}) const { return session.run(inputs(), options); }
};

// Options without the validate layer, as applications run the plugin.
inline SubjectOptions bare() { return {.is_validated = false}; }

class CheckContext {
 public:
  CheckContext(const SubjectSpec& spec, const PrecisionContract& contract, const Latency& latency,
               Progress& progress, Outcome& out)
      : spec_(spec), contract_(contract), latency_(latency), progress_(progress), out_(out) {}

  const SubjectSpec& spec() const { return spec_; }
  const PrecisionContract& contract() const { return contract_; }
  Progress& progress() { return progress_; }
  Outcome& outcome() { return out_; }

  // Opens the plugin. On failure, adds a finding and returns null.
  std::unique_ptr<Subject> open(const SubjectOptions& options = {});
  // Returns up to `count` small cases that the plugin claims, spread over its ops: of four or more, a layer with constants is
  // the first, and a quarter are graphs.
  std::vector<ClaimedCase> find_claimed(Subject& subject, size_t count = 1);
  // As find_claimed, among cases whose name matches.
  std::vector<ClaimedCase> find_claimed_like(Subject& subject, const char* pattern, size_t count = 1);
  // Likewise, one case of each op, float32 first.
  std::vector<ClaimedCase> find_claimed_of_ops(Subject& subject, const char* pattern, size_t count);
  // For checks about claimed cases only: marks the check unsupported if there is none.
  std::vector<ClaimedCase> claimed(Subject& subject, size_t count = 1);
  std::vector<ClaimedCase> claimed_like(Subject& subject, const char* pattern, size_t count = 1);
  // Creates a session of a claimed case. On failure, adds a finding and returns null.
  std::unique_ptr<CaseSession> make_session(Subject& subject, const ClaimedCase& item);

  // Opens the plugin, creates a session for up to `count` claimed cases in turn and calls `body` for each,
  // until one has a finding. Then adds the violations that the validate layer saw, if it is enabled.
  void each_session(const SubjectOptions& options, size_t count, const std::function<void(ReadyCase&)>& body);
  void each_session(Subject& subject, const std::vector<ClaimedCase>& items,
                    const std::function<void(ReadyCase&)>& body);

  // Returns how often a check repeats a run: `wanted`, or fewer times on a slow device, at least 4. The limit
  // keeps `others` times as many sequential runs within several seconds.
  int repeats(int wanted, double others = 1) const;
  // As repeats(), for cases with so many runs of each.
  size_t cases(size_t wanted, double runs_of_each) const;
  // Returns how long a check waits for an event that one run causes.
  std::chrono::milliseconds patience() const;
  // As repeats(), for opening the plugin.
  int opens(int wanted) const;

  // True if the outputs of a run with the case's own inputs are right: those of its run `number`.
  bool is_right(const ClaimedCase& item, const RunResult& result, size_t number = 0) const;

  // Adds a finding. The check continues.
  void fail(const std::string& text);
  void warn(const std::string& text);
  // Marks the check as not applicable to this plugin.
  void skip(const std::string& reason);
  // Adds the violations that the validate layer saw.
  void take_violations(Subject& subject) { add_violations(subject, out_); }

 private:
  const SubjectSpec& spec_;
  const PrecisionContract& contract_;
  const Latency& latency_;
  Progress& progress_;
  Outcome& out_;
};

// True if sizes and bytes of all outputs are equal.
bool has_same_outputs(const std::vector<TensorData>& a, const std::vector<TensorData>& b);
// True if the statuses are equal, too.
bool has_same_result(const RunResult& a, const RunResult& b);

struct Check {
  const char* id;        // "life.destroy-while-context-lives"
  const char* sentence;  // statement that holds if it passes
  const char* rule;      // rule of the ABI that it proves, or ""
  void (*run)(CheckContext&);
};

// Returns every check of every group, in order.
std::vector<Check> all_checks();
const Check* find_check(const std::string& id);

// `name` may include a round.
Outcome run_check(const Check& check, const std::string& name, const SubjectSpec& spec,
                  const PrecisionContract& contract, const Latency& latency, Progress& progress);

}  // namespace etb::conformance
