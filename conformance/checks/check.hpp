// A check: one statement about a plugin that is not about one op. Adding one is one row in its group's file.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "conformance/runner/case_flow.hpp"
#include "conformance/runner/latency.hpp"
#include "conformance/runner/session.hpp"

namespace etb::conformance {

// A case that the plugin claims, compiled: what most checks work on.
struct ClaimedCase {
  const Case* item = nullptr;
  BuiltCase built;
  Payload payload;
};

// A claimed case made ready.
struct Ready {
  Subject& subject;
  const ClaimedCase& item;
  Session& session;

  const std::string& name() const { return item.item->name; }
  const std::vector<TensorData>& inputs() const { return item.built.runs[0]; }
  RunResult run(const RunOptions& options = {}) const { return session.run(inputs(), options); }
};

// As applications have the plugin: without the validate layer.
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

  // Opens the plugin; a failure is a finding, and null.
  std::unique_ptr<Subject> open(const SubjectOptions& options = {});
  // Up to `count` cases of few sizes that the plugin claims, spread over its ops.
  std::vector<ClaimedCase> find_claimed(Subject& subject, size_t count = 1);
  // The same among cases whose name fits.
  std::vector<ClaimedCase> find_claimed_like(Subject& subject, const char* pattern, size_t count = 1);
  // For checks that are about claimed cases alone: when there is none the check is unsupported.
  std::vector<ClaimedCase> claimed(Subject& subject, size_t count = 1);
  std::vector<ClaimedCase> claimed_like(Subject& subject, const char* pattern, size_t count = 1);
  // A session of a claimed case; a failure is a finding, and null.
  std::unique_ptr<Session> make_session(Subject& subject, const ClaimedCase& item);

  // Opens the plugin, makes up to `count` claimed cases ready one after the other and calls `body` for each, until one has a finding. Then adds
  // what the validate layer saw, if it was there.
  void each_session(const SubjectOptions& options, size_t count, const std::function<void(Ready&)>& body);
  void each_session(Subject& subject, const std::vector<ClaimedCase>& items,
                    const std::function<void(Ready&)>& body);

  // How many times a check repeats a run: `wanted`, or fewer of a slow device, so that `others` times as many runs one after the other take
  // about half a minute. At least 4.
  int repeats(int wanted, double others = 1) const;

  // Whether outputs of a run with the case's own inputs are what it should give.
  bool is_right(const ClaimedCase& item, const RunResult& result) const;

  // What is wrong; the check goes on.
  void fail(const std::string& text);
  void warn(const std::string& text);
  // The check does not concern this plugin.
  void skip(const std::string& reason);
  // Adds what the validate layer saw.
  void take_violations(Subject& subject) { add_violations(subject, out_); }

 private:
  const SubjectSpec& spec_;
  const PrecisionContract& contract_;
  const Latency& latency_;
  Progress& progress_;
  Outcome& out_;
};

struct Check {
  const char* id;        // "life.destroy-while-context-lives"
  const char* sentence;  // what holds when it passes
  const char* rule;      // of the ABI that it proves, "" for none
  void (*run)(CheckContext&);
};

// Every check of every group, in order.
std::vector<Check> all_checks();
const Check* find_check(const std::string& id);

// Under a name with or without a round.
Outcome run_check(const Check& check, const std::string& name, const SubjectSpec& spec,
                  const PrecisionContract& contract, const Latency& latency, Progress& progress);

}  // namespace etb::conformance
