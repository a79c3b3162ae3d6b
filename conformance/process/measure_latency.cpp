// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/measure_latency.hpp"

#include <sys/resource.h>

#include <algorithm>

#include "conformance/process/subject_link.hpp"
#include "conformance/subject/assess.hpp"
#include "conformance/subject/monotonic_clock.hpp"

namespace etb::conformance {
namespace {

constexpr double kMostMs = 10000;  // for cases that are not claimed
constexpr int kRepeats = 3;

double milliseconds_since(uint64_t begin_ns) { return static_cast<double>(monotonic_ns() - begin_ns) / 1e6; }

// Returns the time of one request, or nothing if the case does not execute well.
std::optional<double> time_case(SubjectLink& link, const BuiltCase& built,
                                const SubjectLink::Limits& limits) {
  std::vector<std::byte> answer;
  const uint64_t begin = monotonic_ns();
  link.send(RequestKind::kCase, encode_case(built));
  if (link.receive(limits, answer) != LinkState::kAnswered) return std::nullopt;
  const double ms = milliseconds_since(begin);
  const std::optional<CaseFacts> facts = decode_facts(answer);
  const bool has_run = facts && !facts->runs.empty() && facts->runs[0][1].status == ETB_OK &&
                       !facts->runs[0][1].outputs.empty();
  return has_run ? ms : 0;
}

// Returns the processor time of ended children and their descendants.
double processor_ms() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

Latency measure(SubjectLink& link, const Plan& plan) {
  Latency out;
  SubjectLink::Limits limits;
  limits.time_ns = limits.whole_time_ns = uint64_t{plan.case_timeout_ms} * time_scale() * 1000000u;
  limits.most_bytes = uint64_t{1} << 28;
  std::vector<std::byte> answer;
  const uint64_t begin = monotonic_ns();
  link.send(RequestKind::kOpen, {});
  if (link.receive(limits, answer) != LinkState::kAnswered || !answer.empty()) return out;
  out.open_ms = milliseconds_since(begin);
  std::vector<const Case*> cases = plain_cases();
  cases.insert(cases.end(), plain_patterns().begin(), plain_patterns().end());
  for (const Case* item : cases) {
    if (milliseconds_since(begin) > out.open_ms + kMostMs) break;
    const Result<BuiltCase> built = item->build(item->name);
    if (!built) continue;
    std::optional<double> ms = time_case(link, *built, limits);
    if (!ms) break;
    if (*ms == 0) continue;
    // The fastest of a few: the first run may warm up the device.
    for (int i = 0; i < kRepeats; ++i)
      if (const std::optional<double> again = time_case(link, *built, limits); again && *again > 0)
        ms = std::min(*ms, *again);
    out.run_ms = *ms / 2;
    break;
  }
  return out;
}

}  // namespace

Latency measure_latency(const Plan& plan) {
  const double before_ms = processor_ms();
  Result<std::unique_ptr<SubjectLink>> link = SubjectLink::start(plan);
  if (!link) return {};
  const uint64_t begin = monotonic_ns();
  Latency out = measure(**link, plan);
  const double ms = milliseconds_since(begin);
  link->reset();  // waits for the end of the process
  out.busy = std::min(1.0, (processor_ms() - before_ms) / std::max(ms, 1e-3));
  return out;
}

}  // namespace etb::conformance
