// SPDX-License-Identifier: Apache-2.0
#include "conformance/runner/runner.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "conformance/process/child.hpp"
#include "conformance/process/cleanup_process.hpp"
#include "conformance/process/in_process.hpp"
#include "conformance/process/measure_latency.hpp"
#include "conformance/process/replay.hpp"
#include "conformance/process/trusted_subject.hpp"
#include "conformance/runner/refine.hpp"

namespace etb::conformance {
namespace {

constexpr int kPollMs = 20;
// Lets one poll find several lines: each wake-up costs as much as a small case.
constexpr int kRestUs = 2000;

// While it lives, other processes of the user cannot trace this one or read its memory.
class Undumpable {
 public:
  Undumpable() : before_(::prctl(PR_GET_DUMPABLE)) { ::prctl(PR_SET_DUMPABLE, 0); }
  ~Undumpable() { ::prctl(PR_SET_DUMPABLE, before_ == 1 ? 1 : 0); }
  Undumpable(const Undumpable&) = delete;
  Undumpable& operator=(const Undumpable&) = delete;

 private:
  int before_;
};

class PlanRun {
 public:
  PlanRun(const Plan& plan, const OnOutcome& on_outcome, const OnOutcome& on_refined,
          const std::atomic<bool>& stop)
      : plan_(plan), on_outcome_(on_outcome), on_refined_(on_refined), stop_(stop) {}

  Status run() {
    ETB_TRY(expect_trusted(plan_.subject));
    ETB_ASSIGN(cleanup_, CleanupProcess::start());
    plan_.cleanup = cleanup_.get();
    plan_.main_pid = ::getpid();
    // Inside a user namespace that maps one user, root's files have this owner. Ownership was checked before,
    // outside.
    if (plan_.confinement.has_user_namespace && ::geteuid() != 0)
      plan_.subject.load_options.trust.root = overflow_user();
    const Undumpable undumpable;
    if (has_checks()) plan_.latency = measure_latency(plan_);
    if (plan_.may_add_workers) plan_.worker_count *= batches_at_once(plan_.latency);
    cut_batches();
    while (!is_over() && !plan_.is_late() && (!jobs_.empty() || !children_.empty())) {
      ETB_TRY(start_children());
      wait();
      step();
    }
    if (is_over()) report_not_run();
    children_.clear();
    if (!failures_.empty() && !stop_.load()) refine(plan_, std::move(failures_), on_refined_, stop_);
    return {};
  }

 private:
  bool is_over() const { return stop_.load() || (plan_.fail_fast && has_failed_); }

  bool has_checks() const {
    return std::any_of(plan_.items.begin(), plan_.items.end(),
                       [](const Item& item) { return item.check != nullptr; });
  }

  struct Job {
    std::vector<uint32_t> items;
  };
  using Batch = std::shared_ptr<const std::vector<uint32_t>>;
  struct Running {
    std::unique_ptr<Child> child;
    Batch batch;
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
      children_.push_back({std::move(child), std::make_shared<const std::vector<uint32_t>>(job.items)});
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
      const bool lives = running.child->step([&](const Outcome& outcome) { take(running, outcome); });
      if (lives) {
        ++i;
        continue;
      }
      const Running ended = std::move(running);
      children_.erase(children_.begin() + static_cast<long>(i));
      take_end(ended);
    }
  }

  void take(const Running& running, const Outcome& outcome) {
    has_failed_ |= is_failure(outcome.state);
    if (is_failure(outcome.state) && plan_.confirms) note_failure(running.batch, outcome);
    on_outcome_(outcome);
  }

  void take_end(const Running& ended) {
    const Child& child = *ended.child;
    size_t done = child.done_count();
    if (!child.has_judged()) {
      take(ended, outcome_of_failed_judge(plan_, child));
      ++done;
    }
    if (done < child.items().size())
      jobs_.push_front({{child.items().begin() + static_cast<long>(done), child.items().end()}});
  }

  void note_failure(const Batch& batch, const Outcome& outcome) {
    size_t position = 0;
    while (position < batch->size() && plan_.items[(*batch)[position]].name != outcome.name) ++position;
    failures_.push_back({outcome, batch, position});
  }

  void report_not_run() {
    for (const Running& running : children_)
      for (size_t i = running.child->done_count(); i < running.batch->size(); ++i)
        not_run((*running.batch)[i]);
    for (const Job& job : jobs_)
      for (const uint32_t number : job.items) not_run(number);
  }
  void not_run(uint32_t number) {
    Outcome out;
    out.name = plan_.items[number].name;
    on_outcome_(out);
  }

  Plan plan_;
  const OnOutcome& on_outcome_;
  const OnOutcome& on_refined_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<CleanupProcess> cleanup_;  // outlives the children
  std::deque<Job> jobs_;
  std::vector<Running> children_;
  std::vector<Failure> failures_;
  bool has_failed_ = false;
};

}  // namespace

Status run_plan(const Plan& plan, const OnOutcome& on_outcome, const OnOutcome& on_refined,
                const std::atomic<bool>& stop) {
  return PlanRun(plan, on_outcome, on_refined, stop).run();
}

}  // namespace etb::conformance
