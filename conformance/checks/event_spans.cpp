// SPDX-License-Identifier: Apache-2.0
// prof: the time that the events of a long run span, on any clock, beside the time that the run takes.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/long_case.hpp"
#include "conformance/subject/monotonic_clock.hpp"

namespace etb::conformance {
namespace {

// From the first begin to the last end of the events of one clock.
struct Span {
  uint64_t begin = UINT64_MAX, end = 0;
  double tick_ns = 0;
  double ns() const { return end > begin ? static_cast<double>(end - begin) * tick_ns : 0; }
};
using Spans = std::map<std::string, Span>;

etb_status ETB_CALL extend(void* ctx, const etb_event* event) {
  if (event->timebase == nullptr || event->ns_denominator == 0) return ETB_OK;
  Span& span = (*static_cast<Spans*>(ctx))[event->timebase];
  span.begin = std::min(span.begin, event->begin_ticks);
  span.end = std::max(span.end, event->end_ticks);
  span.tick_ns = static_cast<double>(event->ns_numerator) / static_cast<double>(event->ns_denominator);
  return ETB_OK;
}

// How many times longer than the span a run takes, of several runs the least and the most.
struct Ratio {
  double least = 1e300, most = 0;
};

// Runs several times. Returns the ratios by clock, none if a run is short.
std::map<std::string, Ratio> ratios_of(ReadyCase& ready) {
  constexpr int kRuns = 6;
  constexpr uint64_t kLeastNs = 2000000;  // in a shorter run the call itself counts
  std::map<std::string, Ratio> out;
  (void)ready.run();  // may prepare what later runs use
  for (int i = 0; i < kRuns; ++i) {
    Spans spans;
    const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &spans, extend};
    const uint64_t begin = monotonic_ns();
    if (ready.run({.events = &sink}).status != ETB_OK) return {};
    const uint64_t wall = monotonic_ns() - begin;
    if (wall < kLeastNs) return {};
    for (const auto& [clock, span] : spans) {
      const double ratio = static_cast<double>(wall) / std::max(span.ns(), 1.0);
      out[clock].least = std::min(out[clock].least, ratio);
      out[clock].most = std::max(out[clock].most, ratio);
    }
  }
  return out;
}

// The events of a long run are most of it. A busy machine makes the run longer, so the nearest of several runs counts.
void spans_of_long_runs(CheckContext& context) {
  constexpr double kMostTimes = 32, kMostSpan = 1.5;
  const auto subject = context.open(bare());
  if (!subject) return;
  bool has_any = false;
  context.each_session(*subject, every_long_claimed(*subject), [&](ReadyCase& ready) {
    context.progress().restart();
    context.progress().at("long runs with events");
    for (const auto& [clock, ratio] : ratios_of(ready)) {
      has_any = true;
      if (ratio.least > kMostTimes)
        context.fail(fmt::format(
            "{}: by the length of their ticks on '{}', the events of a run span less than a {:.0f}th of it",
            ready.name(), clock, ratio.least));
      if (ratio.most < 1 / kMostSpan)
        context.fail(
            fmt::format("{}: by the length of their ticks on '{}', the events of a run span {:.1f} times it",
                        ready.name(), clock, 1 / ratio.most));
    }
  });
  if (!has_any && context.outcome().findings.empty()) context.skip("no long run of the plugin has events");
}

// Times on the host's clock, and those of them that are no whole microseconds.
struct HostTimes {
  size_t count = 0, odd_count = 0;
  void add(uint64_t ns) {
    ++count;
    if (ns % 1000 != 0) ++odd_count;
  }
};
using TimesOfEvents = std::map<std::string, HostTimes>;  // by name or debug id

etb_status ETB_CALL take_host_times(void* ctx, const etb_event* event) {
  if (event->timebase == nullptr || std::string_view(event->timebase) != ETB_TIMEBASE_HOST ||
      (event->flags & ETB_EVENT_LOSSY) != 0)
    return ETB_OK;
  HostTimes& times = (*static_cast<TimesOfEvents*>(
      ctx))[event->name != nullptr ? std::string(event->name) : std::to_string(event->debug_id)];
  times.add(event->begin_ticks);
  times.add(event->end_ticks);
  return ETB_OK;
}

// Times of an event that are whole microseconds in each run were rounded: they may begin before the run.
void rounded_times_are_lossy(CheckContext& context) {
  constexpr size_t kLeastTimes = 24;
  HostTimes clock;
  for (size_t i = 0; i < kLeastTimes; ++i) clock.add(monotonic_ns());
  if (clock.odd_count < kLeastTimes / 2) return context.skip("the clock of this machine counts microseconds");
  bool has_any = false;
  context.each_session(bare(), 4, [&](ReadyCase& ready) {
    TimesOfEvents events;
    const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &events, take_host_times};
    for (size_t i = 0; i < kLeastTimes; ++i) (void)ready.run({.events = &sink});
    for (const auto& [name, times] : events) {
      if (times.count < kLeastTimes) continue;
      has_any = true;
      if (times.odd_count == 0)
        return context.fail(
            fmt::format("{}: all {} times of the event '{}' are whole microseconds, without ETB_EVENT_LOSSY",
                        ready.name(), times.count, name));
    }
  });
  if (!has_any && context.outcome().findings.empty())
    context.skip("no run of the plugin has exact events on the host's clock");
}

constexpr Check kChecks[] = {
    {"prof.rounded-times-are-lossy", "Events whose times are rounded say so.", "ABI-PROF-01",
     rounded_times_are_lossy},
    {"prof.spans-are-of-long-runs",
     "By the length of its ticks, the span of the events of a long run is near the time that the run takes.",
     "ABI-PROF-01", spans_of_long_runs},
};

}  // namespace

std::span<const Check> event_span_checks() { return kChecks; }

}  // namespace etb::conformance
