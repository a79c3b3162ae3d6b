// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/in_process.hpp"

#include <unistd.h>

#include "conformance/subject/case_flow.hpp"
#include "conformance/subject/monotonic_clock.hpp"

namespace etb::conformance {

void write_all(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(fd, text.data() + done, text.size() - done);
    if (count <= 0) return;
    done += static_cast<size_t>(count);
  }
}

std::vector<Outcome> run_in_process(const Plan& plan, const std::vector<uint32_t>& items) {
  std::vector<Outcome> out;
  Progress progress;
  Result<std::unique_ptr<Subject>> subject = tl::make_unexpected(Error{});
  bool was_opened = false;
  for (const uint32_t number : items) {
    const Item& item = plan.items[number];
    const uint64_t begin = monotonic_ns();
    Outcome outcome;
    if (item.check != nullptr) {
      outcome = run_check(*item.check, item.name, plan.subject, plan.contract, plan.latency, progress);
    } else {
      if (!was_opened) subject = Subject::open(plan.subject);
      was_opened = true;
      if (subject) {
        outcome = run_case(**subject, *item.item, item.name, plan.contract, progress);
      } else {
        outcome = outcome_of(*item.item, item.name);
        outcome.findings.push_back({"life.opens", subject.error().message, ""});
        conclude(outcome);
      }
    }
    outcome.duration_us = (monotonic_ns() - begin) / 1000;
    out.push_back(std::move(outcome));
  }
  return out;
}

}  // namespace etb::conformance
