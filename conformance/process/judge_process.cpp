// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/judge_process.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <cstring>
#include <deque>

#include "conformance/outcome/outcome_json.hpp"
#include "conformance/outcome/small_case_json.hpp"
#include "conformance/process/death.hpp"
#include "conformance/process/in_process.hpp"
#include "conformance/process/minimise.hpp"
#include "conformance/process/replay.hpp"
#include "conformance/process/subject_link.hpp"
#include "conformance/subject/case_flow.hpp"
#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {
namespace {

constexpr uint64_t kMillisecond = 1000000;
constexpr uint32_t kLeastBlobMs = 1000;
constexpr uint64_t kMostTimesOfRestarts =
    5;  // limit of an item with several tries, in multiples of its time limit
constexpr uint64_t kMostCheckBytes = uint64_t{1} << 24;
constexpr const char* kChangedPage = "wrote into memory that the suite shares with its process";
constexpr size_t kMostAhead = 8;  // requests queued in the plugin's process: keeps both processes busy

uint64_t limit_ms(const Plan& plan, const Item& item) {
  if (item.check == nullptr) return scaled_ms(plan.latency, plan.case_timeout_ms);
  // Each damaged payload has its own time limit, a fifth of a case's: plugins reject an invalid file at once.
  if (group_of(item.name) == "blob")
    return scaled_ms(plan.latency, std::max(plan.case_timeout_ms / 5, kLeastBlobMs));
  return scaled_ms(plan.latency, plan.check_timeout_ms);
}

// Limit of an answer: bytes of all outputs at their upper bounds, twice, and room for texts.
uint64_t most_answer_bytes(const BuiltCase& built) {
  constexpr uint64_t kTexts = uint64_t{4} << 20;
  const auto view = graph::View::open(built.image.span());
  if (!view) return kTexts;
  const graph::Graph method = view->method();
  uint64_t nbytes = 0;
  for (uint32_t i = 0; i < method.outputs().size(); ++i) {
    const etb_graph_spec spec = method.output(i).spec();
    uint64_t one = element_nbytes(static_cast<etb_dtype>(spec.dtype));
    for (uint32_t d = 0; d < spec.rank; ++d)
      if (spec.sizes[d] >= 0) one *= static_cast<uint64_t>(spec.sizes[d]);
    nbytes += one;
  }
  return kTexts + 2 * built.runs.size() * nbytes;
}

class Judging {
 public:
  Judging(const Plan& plan, const std::vector<uint32_t>& items, int fd)
      : plan_(plan), items_(items), fd_(fd) {}

  Status run() {
    ETB_ASSIGN(link_, SubjectLink::start(plan_));
    while (done_ < items_.size()) {
      send_ahead();
      const uint64_t begin = monotonic_ns();
      Outcome outcome;
      const bool goes_on = finish_first(outcome);
      outcome.duration_us = (monotonic_ns() - begin) / 1000;
      emit(std::move(outcome));
      ++done_;
      if (!goes_on) return {};
    }
    finish();
    return {};
  }

 private:
  struct Pending {
    const Item* item = nullptr;
    Result<BuiltCase> built;
  };

  void send_ahead() {
    while (pending_.size() < kMostAhead && next_ < items_.size()) {
      const Item& item = plan_.items[items_[next_]];
      // A check may change the process, and minimising a case needs the process several times.
      if (!pending_.empty() && (item.check != nullptr || pending_.back().item->check != nullptr)) return;
      ++next_;
      Pending& pending = pending_.emplace_back();
      pending.item = &item;
      if (item.check != nullptr) {
        const auto* name = reinterpret_cast<const std::byte*>(item.name.data());
        link_->send(RequestKind::kCheck, {name, name + item.name.size()});
        continue;
      }
      pending.built = item.item->build(item.name);
      if (pending.built) link_->send(RequestKind::kCase, encode_case(*pending.built));
    }
  }

  SubjectLink::Limits limits_of(const Pending& pending) const {
    const uint64_t time = limit_ms(plan_, *pending.item) * kMillisecond * time_scale();
    const bool is_check = pending.item->check != nullptr;
    return {time,
            is_check ? kMostTimesOfRestarts * scaled_ms(plan_.latency, plan_.check_timeout_ms) *
                           kMillisecond * time_scale()
                     : time,
            is_check ? kMostCheckBytes : most_answer_bytes(*pending.built)};
  }

  // Returns false if the plugin's process is gone.
  bool finish_first(Outcome& out) {
    const Pending pending = std::move(pending_.front());
    pending_.pop_front();
    const Item& item = *pending.item;
    if (item.check == nullptr && !pending.built) {
      out = outcome_of_unbuilt(*item.item, item.name, pending.built.error());
      return true;
    }
    out.name = item.name;
    if (item.item != nullptr) out = outcome_of(*item.item, item.name);
    std::vector<std::byte> answer;
    const LinkState state = link_->receive(limits_of(pending), answer);
    if (state == LinkState::kAnswered && take_answer(pending, answer, out)) {
      add_traces(out);
      if (item.to_minimise != nullptr) return make_smaller(item, pending, out);
      return true;
    }
    out.findings.clear();
    const bool has_changed_page = link_->has_changed_page();  // a possible reason why the process ended
    add_death(state == LinkState::kAnswered ? LinkState::kTampered : state, *link_, out);
    if (has_changed_page) out.findings.push_back({kTampering, kChangedPage, ""});
    return false;
  }

  // Returns false if the answer is invalid.
  bool take_answer(const Pending& pending, const std::vector<std::byte>& answer, Outcome& out) const {
    if (pending.item->check == nullptr) {
      const std::optional<CaseFacts> facts = decode_facts(answer);
      if (facts) assess(*pending.built, *facts, plan_.contract, out);
      return facts.has_value();
    }
    const std::optional<Outcome> seen = read_outcome(answer);
    if (!seen || seen->name != pending.item->name) return false;
    out = *seen;
    // The state follows from the findings here. A check may only add "unsupported" or a warning.
    if (out.state != State::kUnsupported && out.state != State::kWarning) out.state = State::kNotRun;
    conclude(out);
    return true;
  }

  static std::optional<Outcome> read_outcome(const std::vector<std::byte>& answer) {
    const auto* text = reinterpret_cast<const char*>(answer.data());
    return outcome_from_json(nlohmann::json::parse(text, text + answer.size(), nullptr, false));
  }

  // Adds findings for text that the process printed and for writes to the suite's memory.
  void add_traces(Outcome& out) const {
    const size_t before = out.findings.size();
    if (const std::string printed = link_->take_printed(); !printed.empty())
      out.findings.push_back(
          {"hyg.prints-nothing", "wrote to standard output or error: '" + printed + "'", "ABI-HYG-01"});
    if (link_->has_changed_page()) out.findings.push_back({kTampering, kChangedPage, ""});
    if (out.findings.size() == before) return;
    out.state = State::kNotRun;
    conclude(out);
  }

  // Returns false if a candidate ended the process.
  bool make_smaller(const Item& item, const Pending& pending, Outcome& out) {
    bool lives = true;
    const auto try_one = [&](const BuiltCase& built) -> std::optional<Outcome> {
      std::vector<std::byte> answer;
      if (!lives) return std::nullopt;
      link_->send(RequestKind::kCase, encode_case(built));
      SubjectLink::Limits limits = limits_of(pending);
      limits.most_bytes = most_answer_bytes(built);
      const LinkState state = link_->receive(limits, answer);
      const std::optional<CaseFacts> facts =
          state == LinkState::kAnswered ? decode_facts(answer) : std::nullopt;
      lives = facts.has_value();
      if (!lives) return std::nullopt;
      Outcome seen = outcome_of(*item.item, item.name);
      assess(built, *facts, plan_.contract, seen);
      return seen;
    };
    if (std::optional<SmallCase> small = minimise_by(*pending.built, *item.to_minimise, try_one))
      out.small = std::make_shared<const SmallCase>(std::move(*small));
    if (lives) return true;
    out.findings.clear();
    add_death(LinkState::kEnded, *link_, out);
    return false;
  }

  // After the last item: adds findings from deinit, unloading and the plugin's remains.
  void finish() {
    Outcome out;
    out.name = end_of(plan_.items[items_.back()].name);
    link_->look();
    link_->send(RequestKind::kClose, {});
    std::vector<std::byte> answer;
    const uint64_t time = limit_ms(plan_, plan_.items[items_.back()]) * kMillisecond * time_scale();
    const LinkState state = link_->receive({time, time, kMostCheckBytes}, answer);
    const std::optional<Outcome> seen = state == LinkState::kAnswered ? read_outcome(answer) : std::nullopt;
    if (seen) {
      out.findings = seen->findings;
      add_end(link_->end(time), *link_, out);
      add_traces(out);
    } else {
      add_death(state == LinkState::kAnswered ? LinkState::kTampered : state, *link_, out);
      if (!out.findings.empty() && out.findings[0].check.rfind("hyg.", 0) != 0)
        out.findings[0].check = "unload.end-of-batch";
    }
    if (out.findings.empty()) return;
    if (!is_failure(out.state)) out.state = State::kNotRun;
    conclude_unless_dead(out);
    emit(std::move(out));
  }

  static void conclude_unless_dead(Outcome& out) {
    if (out.state == State::kNotRun) conclude(out);
  }

  void emit(Outcome out) const {
    nlohmann::ordered_json line = to_json(out);
    if (out.small != nullptr) line["small"] = to_json(*out.small);
    write_all(fd_, dump_line(line));
  }

  const Plan& plan_;
  const std::vector<uint32_t>& items_;
  const int fd_;
  std::unique_ptr<SubjectLink> link_;
  std::deque<Pending> pending_;
  size_t next_ = 0, done_ = 0;
};

}  // namespace

void run_judge(const Plan& plan, const std::vector<uint32_t>& items, int fd) {
  const Status run = Judging(plan, items, fd).run();
  // Without this line the parent knows that the suite itself failed.
  write_all(fd, run ? "\"end\"\n" : dump_line({{"error", run.error().message}}));
}

}  // namespace etb::conformance
