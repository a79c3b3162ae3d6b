#include "conformance/runner/runner.hpp"

#include <poll.h>
#include <unistd.h>

#include <deque>
#include <map>
#include <memory>

#include "conformance/runner/child.hpp"
#include "conformance/runner/child_body.hpp"
#include "conformance/runner/minimise.hpp"
#include "conformance/runner/shrink.hpp"

namespace etb::conformance {
namespace {

constexpr int kPollMs = 20;
constexpr int kRestUs =
    2000;  // so that one look finds several lines: waking up for each costs as much as a small case
// How many failures of one kind are looked at more closely; a plugin that fails everywhere must not take hours.
constexpr int kMaxConfirmed = 2;
constexpr int kMaxConfirmedInAll = 24;

class PlanRun {
 public:
  PlanRun(const Plan& plan, const std::function<void(const Outcome&)>& on_outcome,
          const std::atomic<bool>& stop)
      : plan_(plan), on_outcome_(on_outcome), stop_(stop) {}

  Result<RunTotals> run() {
    cut_batches();
    while (!stop_.load() && !is_late() && (!jobs_.empty() || !children_.empty())) {
      ETB_TRY(start_children());
      wait();
      step();
    }
    if (stop_.load()) report_not_run();
    children_.clear();
    return totals_;
  }

 private:
  bool is_late() const { return plan_.deadline_ns != 0 && monotonic_ns() >= plan_.deadline_ns; }

  struct Job {
    std::vector<uint32_t> items;
  };
  struct Running {
    std::unique_ptr<Child> child;
    Job job;
  };

  void cut_batches() {
    std::vector<uint32_t> batch;
    const auto flush = [&] {
      if (!batch.empty()) jobs_.push_back({std::exchange(batch, {})});
    };
    for (uint32_t i = 0; i < plan_.items.size(); ++i) {
      if (plan_.items[i].check != nullptr) {
        flush();
        jobs_.push_back({{i}});
        continue;
      }
      batch.push_back(i);
      if (batch.size() == plan_.batch_size) flush();
    }
    flush();
  }

  Status start_children() {
    while (children_.size() < std::max(plan_.worker_count, 1u) && !jobs_.empty()) {
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      ETB_ASSIGN(std::unique_ptr<Child> child, Child::start(plan_, job.items));
      ++totals_.child_count;
      children_.push_back({std::move(child), std::move(job)});
    }
    return {};
  }

  void wait() {
    std::vector<pollfd> waiting;
    for (const Running& running : children_) waiting.push_back({running.child->fd(), POLLIN, 0});
    ::poll(waiting.data(), waiting.size(), kPollMs);
    ::usleep(kRestUs);
  }

  void step() {
    for (size_t i = 0; i < children_.size();) {
      Running& running = children_[i];
      const bool lives = running.child->step([&](Outcome outcome) { take(running, std::move(outcome)); });
      if (lives) {
        ++i;
        continue;
      }
      const Running ended = std::move(running);
      children_.erase(children_.begin() + static_cast<long>(i));
      if (!ended.child->is_complete()) take_death(ended);
    }
  }

  void take(const Running& running, Outcome outcome) {
    if (is_failure(outcome.state) && plan_.confirms) confirm(running.job, outcome);
    on_outcome_(outcome);
  }

  void take_death(const Running& ended) {
    const Child& child = *ended.child;
    const size_t done = child.done_count();
    if (done == child.items().size()) {  // while closing
      Outcome out = death_of(child, "leak.after-" + plan_.items[child.items().back()].name);
      out.findings.push_back({"unload.end-of-batch", child.death(), ""});
      return on_outcome_(out);
    }
    const uint32_t number = child.items()[done];
    Outcome out = death_of(child, plan_.items[number].name);
    if (const Case* item = plan_.items[number].item; item != nullptr) {
      out.op = item->op;
      out.dtype = short_name(item->dtype);
    }
    out.findings.push_back(
        {group_of(out.name) + (child.was_hanging() ? ".hang" : ".crash"), child.death(), ""});
    if (!child.stacks().empty()) out.findings.back().text += "\n" + child.stacks();
    if (plan_.confirms) confirm(ended.job, out);
    on_outcome_(out);
    Job rest{{child.items().begin() + static_cast<long>(done) + 1, child.items().end()}};
    if (!rest.items.empty()) jobs_.push_front(std::move(rest));
  }

  static Outcome death_of(const Child& child, const std::string& name) {
    Outcome out;
    out.name = name;
    out.state = child.was_hanging() ? State::kHang : State::kCrash;
    out.reason = child.death();
    return out;
  }

  // Runs a failure again, alone. Where it then passes, the shortest sequence of earlier items that brings it back is looked for.
  void confirm(const Job& job, Outcome& out) {
    const uint32_t number = number_of(job, out.name);
    if (number == UINT32_MAX || plan_.items[number].check != nullptr) return;
    const std::string kind = out.findings.empty() ? "" : out.findings[0].check + out.op;
    if (++confirmed_[kind] > kMaxConfirmed || ++confirmed_count_ > kMaxConfirmedInAll) return;
    const Shrunk shrunk = shrink(plan_, prefix_of(job, number), number, out.state, stop_);
    totals_.replay_count += shrunk.replay_count;
    if (shrunk.fails_alone) return make_smaller(number, out);
    if (!shrunk.fails_again) {
      out.state = State::kFlaky;
      out.findings.push_back(
          {"det.repeats", "did not fail again, neither alone nor after what ran before it", ""});
      return;
    }
    for (const uint32_t before : shrunk.sequence) out.sequence += plan_.items[before].name + "\n";
    out.findings.push_back(
        {group_of(out.name) + ".state-dependent",
         "passes alone, fails after " + std::to_string(shrunk.sequence.size()) +
             " earlier cases: " + (shrunk.sequence.empty() ? "" : plan_.items[shrunk.sequence[0]].name),
         ""});
  }

  void make_smaller(uint32_t number, Outcome& out) {
    Minimised minimised = minimise(plan_, number, out, stop_);
    totals_.replay_count += minimised.replay_count;
    if (!minimised.found) return;
    out.smallest = describe(*minimised.found);
    out.small = std::make_shared<const SmallCase>(std::move(*minimised.found));
  }

  uint32_t number_of(const Job& job, const std::string& name) const {
    for (const uint32_t number : job.items)
      if (plan_.items[number].name == name) return number;
    return UINT32_MAX;
  }

  static std::vector<uint32_t> prefix_of(const Job& job, uint32_t number) {
    std::vector<uint32_t> out;
    for (const uint32_t before : job.items) {
      if (before == number) break;
      out.push_back(before);
    }
    return out;
  }

  void report_not_run() {
    for (const Running& running : children_)
      for (size_t i = running.child->done_count(); i < running.job.items.size(); ++i)
        not_run(running.job.items[i]);
    for (const Job& job : jobs_)
      for (const uint32_t number : job.items) not_run(number);
  }
  void not_run(uint32_t number) {
    Outcome out;
    out.name = plan_.items[number].name;
    on_outcome_(out);
  }

  const Plan& plan_;
  const std::function<void(const Outcome&)>& on_outcome_;
  const std::atomic<bool>& stop_;
  std::deque<Job> jobs_;
  std::vector<Running> children_;
  std::map<std::string, int> confirmed_;
  int confirmed_count_ = 0;
  RunTotals totals_;
};

}  // namespace

Result<RunTotals> run_plan(const Plan& plan, const std::function<void(const Outcome&)>& on_outcome,
                           const std::atomic<bool>& stop) {
  return PlanRun(plan, on_outcome, stop).run();
}

}  // namespace etb::conformance
