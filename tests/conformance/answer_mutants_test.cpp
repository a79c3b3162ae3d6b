// SPDX-License-Identifier: Apache-2.0
// Changes one field of one answer of a correct plugin, and asks cert whether it notices. A machine makes the mutants: each
// field of answer_fields.def, each change that its type has, from the first answer on or from the sixth, so that a plugin
// also breaks what it has said before. The test judges every 40th mutant; all of them, an hour on two cores:
//
//   ETB_ALL_MUTANTS=1 ETB_REBASE=1 build/dev/bin/answer_mutants_test
//
// All mutants write docs/conformance_answers.md. A run that was stopped goes on with the mutants that answer_mutants.txt in
// the current folder does not have; with ETB_ONLY_PAGE=1 it writes the page of those that the file has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <thread>
#include <type_traits>

#include "conformance/report/results.hpp"
#include "etb/all.h"
#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using conformance::Outcome;

// ---- mutants

struct Mutant {
  std::string field, change;
  int first = 1;
  std::string text() const { return field + " " + change + " " + std::to_string(first); }
};

template <class T>
std::vector<const char*> changes_of(const std::string& field) {
  using Element = std::remove_cv_t<std::remove_pointer_t<T>>;
  if (field == "flags" || field == "reserved") return {"more", "most"};
  if (field == "struct_size") return {"zero"};
  if (std::is_array_v<T>) return {"zero", "more"};
  if (std::is_same_v<T, const char*>) return {"zero", "more", "most", "null"};
  if (std::is_pointer_v<T>)
    return std::is_arithmetic_v<Element> ? std::vector<const char*>{"more", "null"}
                                         : std::vector<const char*>{"null"};
  if (!std::is_arithmetic_v<T>) return {"null"};
  return {"zero", "more", "less", "most", "twice"};
}

std::vector<Mutant> all_mutants() {
  std::vector<Mutant> out;
  const auto add = [&](const char* type, const char* field, const std::vector<const char*>& changes) {
    for (const char* change : changes)
      for (const int first : {1, 6}) out.push_back({std::string(type) + "." + field, change, first});
  };
#define ETB_ANSWER(type, field) add(#type, #field, changes_of<decltype(type::field)>(#field));
#define ETB_ANSWER_ARRAY(type, field, count) ETB_ANSWER(type, field)
#include "tests/conformance/fault_plugin/answer_fields.def"
#undef ETB_ANSWER_ARRAY
#undef ETB_ANSWER
  add("etb_tensor", "first_size", changes_of<int64_t>("first_size"));
  add("etb_tensor", "last_size", changes_of<int64_t>("last_size"));
  add("begin_payload", "graph_index", changes_of<uint32_t>("graph_index"));
  return out;
}

// ---- judges

constexpr const char* kNoEffect = "no effect";
constexpr const char* kSurvives = "survives";

// Checks and a few cases, which notice most mutants in a second. Whole cert judges the others.
const std::vector<std::string> kFew = {"abi.*",
                                       "aot.*",
                                       "cap.*",
                                       "det.*",
                                       "dev.*",
                                       "err.*",
                                       "ext.*",
                                       "host.*",
                                       "info.*",
                                       "life.*",
                                       "mem.*",
                                       "opt.*",
                                       "prof.*",
                                       "run.*",
                                       "ver.*",
                                       "blob.o*",
                                       "blob.r*",
                                       "net.*.batch1",
                                       "dyn.neg.f32.*",
                                       "hyg.*",
                                       "op.neg.f32.*",
                                       "op.mm.f32.2*",
                                       "op.add_tensor.f32.*"};

// Asks about one mutant in a process of its own, so that several run at once.
class Trial {
 public:
  explicit Trial(const Mutant& mutant) : mutant_(mutant) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    std::ofstream(dir_->path("answer.txt")) << judge();
    ::_exit(0);
  }

  const Mutant& mutant() const { return mutant_; }

  // Returns the check or case that notices the mutant, kNoEffect or kSurvives.
  std::string finish() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    std::string answer;
    std::getline(std::ifstream(dir_->path("answer.txt")), answer);
    return answer.empty() ? "no answer" : answer;
  }

 private:
  std::string judge() const {
    ::setenv("ETB_ANSWER_FIELD", mutant_.field.c_str(), 1);
    ::setenv("ETB_ANSWER_CHANGE", mutant_.change.c_str(), 1);
    ::setenv("ETB_ANSWER_FIRST", std::to_string(mutant_.first).c_str(), 1);
    if (const std::string first = failure(kFew); !first.empty()) return first;
    ::setenv("ETB_ANSWER_PROBE", "1", 1);
    if (failure(kFew).empty()) return kNoEffect;
    ::unsetenv("ETB_ANSWER_PROBE");
    const std::string first = failure({});
    return first.empty() ? kSurvives : first;
  }

  // Returns the name of the first failure, "" if cert passes.
  std::string failure(const std::vector<std::string>& patterns) const {
    const std::string results_path = dir_->path("r.jsonl");
    std::vector<std::string> args = {
        "verify",    ETB_BREAKABLE_PLUGIN, "--profile",         "cert",  "--fail-fast",        "--no-confirm",
        "--results", results_path,         "--case-timeout-ms", "20000", "--check-timeout-ms", "20000"};
    for (const std::string& pattern : patterns) args.insert(args.end(), {"--case", pattern});
    const CliRun run = cli(args);
    if (run.exit == 0) return "";
    const Result<conformance::Results> results = conformance::read_results(results_path);
    if (results)
      for (const Outcome& outcome : results->outcomes)
        if (conformance::is_failure(outcome.state)) return outcome.name;
    return "loading";  // no check ran: the host refuses the library
  }

  std::unique_ptr<host::ScratchDir> dir_ = std::make_unique<host::ScratchDir>();
  Mutant mutant_;
  pid_t pid_ = -1;
};

// Calls `body` with the answer of each mutant, in their order.
template <class Body>
void judge_all(const std::vector<Mutant>& mutants, Body body) {
  std::deque<Trial> started;
  const auto finish_first = [&] {
    const std::string answer = started.front().finish();
    std::printf("%s: %s\n", started.front().mutant().text().c_str(), answer.c_str());
    std::fflush(stdout);  // before the next process starts
    body(started.front().mutant(), answer);
    started.pop_front();
  };
  // This process makes all cases now, and the others share them.
  (void)cli({"verify", ETB_BREAKABLE_PLUGIN, "--case", "op.neg.f32.7.stat"});
  for (const Mutant& mutant : mutants) {
    started.emplace_back(mutant);
    if (started.size() > std::thread::hardware_concurrency()) finish_first();
  }
  while (!started.empty()) finish_first();
}

// ---- survivors that are right to survive

constexpr const char* kReasons = ETB_SOURCE_DIR "/tests/conformance/answer_reasons.txt";

// Lines "field change first: reason", where * means all. A fact that must not change from one answer to the next has a
// reason for the first answer only.
std::string reason_of(const Mutant& mutant) {
  std::ifstream in(kReasons);
  for (std::string line; std::getline(in, line);)
    for (const std::string& change : {mutant.change, std::string("*")})
      for (const std::string& first : {std::to_string(mutant.first), std::string("*")})
        if (const std::string begin = mutant.field + " " + change + " " + first + ": ";
            line.rfind(begin, 0) == 0)
          return line.substr(begin.size());
  return "";
}

// ---- the page

struct Row {
  size_t mutants = 0, without_effect = 0, noticed = 0, allowed = 0, survivors = 0;
};

class Page {
 public:
  void add(const Mutant& mutant, const std::string& answer) {
    const std::string reason = answer == kSurvives ? reason_of(mutant) : "";
    for (Row* row : {&rows_[mutant.field.substr(0, mutant.field.find('.'))], &total_}) {
      ++row->mutants;
      row->without_effect += answer == kNoEffect ? 1 : 0;
      row->noticed += answer != kNoEffect && answer != kSurvives ? 1 : 0;
      row->allowed += reason.empty() ? 0 : 1;
      row->survivors += answer == kSurvives && reason.empty() ? 1 : 0;
    }
    if (answer == kSurvives)
      survivors_[mutant.field + "` " + mutant.change + ", from answer " + std::to_string(mutant.first)] =
          reason;
  }

  // `count`: of all mutants, also those that were not judged.
  std::string text(size_t count) const {
    std::string out =
        "# Conformance: answers\n\nWritten by `answer_mutants_test` "
        "([how](writing_checks.md#measure-the-suite-with-answers)). "
        "A mutant is a correct plugin one of whose answers has one changed field; a machine makes them. "
        "Changes that the "
        "contract allows are listed with the reason. Judged: " +
        std::to_string(total_.mutants) + " of " + std::to_string(count) +
        ", in an order that makes them a sample.\n\n"
        "| answer | mutants | without effect | cert notices | allowed | cert does not notice "
        "|\n|---|---|---|---|---|---|\n";
    for (const auto& [name, row] : rows_) out += line("`" + name + "`", row);
    out += line("all", total_);
    out +=
        "\n## Mutants that cert does not notice\n\n| field and change | why that is allowed |\n|---|---|\n";
    for (const auto& [what, reason] : survivors_)
      out += "| `" + what + " | " + (reason.empty() ? "**open**" : reason) + " |\n";
    return out;
  }

 private:
  static std::string line(const std::string& name, const Row& row) {
    std::string out = "| " + name + " |";
    for (const size_t count : {row.mutants, row.without_effect, row.noticed, row.allowed, row.survivors})
      out += " " + std::to_string(count) + " |";
    return out + "\n";
  }

  std::map<std::string, Row> rows_;
  std::map<std::string, std::string> survivors_;
  Row total_;
};

std::vector<Mutant> sample(std::vector<Mutant> all) {
  constexpr size_t kStep = 40;
  std::vector<Mutant> out;
  for (size_t i = 7; i < all.size(); i += kStep) out.push_back(std::move(all[i]));
  return out;
}

TEST(AnswerMutants, ASampleIsNoticed) {
  size_t noticed = 0;
  judge_all(sample(all_mutants()), [&](const Mutant& mutant, const std::string& answer) {
    noticed += answer != kNoEffect && answer != kSurvives ? 1 : 0;
    EXPECT_TRUE(answer != kSurvives || !reason_of(mutant).empty()) << mutant.text();
  });
  EXPECT_GE(noticed, 10u);
}

// Goes on where an earlier run stopped.
TEST(AnswerMutants, All) {
  if (std::getenv("ETB_ALL_MUTANTS") == nullptr) GTEST_SKIP() << "an hour; ETB_ALL_MUTANTS=1 runs it";
  constexpr const char* kAnswers = "answer_mutants.txt";
  std::map<std::string, std::string> known;
  std::ifstream in(kAnswers);
  for (std::string line; std::getline(in, line);)
    if (const size_t end = line.find(": "); end != std::string::npos)
      known[line.substr(0, end)] = line.substr(end + 2);
  const std::vector<Mutant> mutants = all_mutants();
  // In an order that spreads fields and changes, so that those judged so far are a sample of all.
  constexpr size_t kStride = 1009;
  std::vector<Mutant> rest;
  for (size_t i = 0; i < mutants.size(); ++i)
    if (const Mutant& mutant = mutants[i * kStride % mutants.size()]; !known.contains(mutant.text()))
      rest.push_back(mutant);
  std::ofstream out(kAnswers, std::ios::app);
  if (std::getenv("ETB_ONLY_PAGE") != nullptr) rest.clear();
  judge_all(rest, [&](const Mutant& mutant, const std::string& answer) {
    known[mutant.text()] = answer;
    out << mutant.text() << ": " << answer << std::endl;
  });
  Page page;
  for (const Mutant& mutant : mutants)
    if (known.contains(mutant.text())) page.add(mutant, known[mutant.text()]);
  if (std::getenv("ETB_REBASE") != nullptr)
    std::ofstream(ETB_SOURCE_DIR "/docs/conformance_answers.md") << page.text(mutants.size());
}

}  // namespace
}  // namespace etb::tools
