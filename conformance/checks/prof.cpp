// SPDX-License-Identifier: Apache-2.0
// prof: events.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "conformance/cases/case_builder.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/option_trial.hpp"
#include "conformance/subject/monotonic_clock.hpp"
#include "etb/cpp/graph_view.hpp"
#include "etb/ext/draft/values.h"

namespace etb::conformance {
namespace {

struct Collected {
  std::vector<std::pair<uint64_t, uint64_t>> times;
  std::vector<std::string> names;
  std::vector<int64_t> ids;
  std::vector<uint64_t> host_ns;                       // length in nanoseconds by the event's own ratio
  std::vector<std::pair<uint64_t, uint64_t>> on_host;  // begin and end of events on the host's clock
  bool has_odd_ticks = false;                          // of the host's clock, which counts nanoseconds
  bool has_two_ids = false;                            // an event has a name and an id
};

// Returns two events that overlap without nesting; nothing if all nest.
const std::pair<uint64_t, uint64_t>* overlapping(std::vector<std::pair<uint64_t, uint64_t>>& events) {
  // If two begin together, the longer comes first. Then each must end inside all open ones.
  std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  std::vector<uint64_t> open;
  for (const auto& event : events) {
    while (!open.empty() && open.back() <= event.first) open.pop_back();
    if (!open.empty() && event.second > open.back()) return &event;
    open.push_back(event.second);
  }
  return nullptr;
}

etb_status ETB_CALL take_event(void* ctx, const etb_event* event) {
  auto& out = *static_cast<Collected*>(ctx);
  out.times.emplace_back(event->begin_ticks, event->end_ticks);
  out.has_two_ids = out.has_two_ids || (event->name != nullptr && event->debug_id != -1);
  out.ids.push_back(event->name != nullptr ? -1 : event->debug_id);
  const double ratio = event->ns_denominator != 0 ? static_cast<double>(event->ns_numerator) /
                                                        static_cast<double>(event->ns_denominator)
                                                  : 0;
  const double ticks =
      event->end_ticks > event->begin_ticks ? static_cast<double>(event->end_ticks - event->begin_ticks) : 0;
  out.host_ns.push_back(static_cast<uint64_t>(ticks * ratio));
  if (event->timebase != nullptr && std::strcmp(event->timebase, ETB_TIMEBASE_HOST) == 0) {
    out.on_host.emplace_back(event->begin_ticks, event->end_ticks);
    out.has_odd_ticks = out.has_odd_ticks || event->ns_numerator != event->ns_denominator;
  }
  out.names.push_back(event->name != nullptr ? event->name : std::to_string(event->debug_id));
  return ETB_OK;
}

void events_are_consistent(CheckContext& context) {
  bool has_events = false;
  context.each_session({}, 6, [&](ReadyCase& ready) {
    Collected collected;
    const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &collected, take_event};
    const RunResult with = ready.run({.events = &sink});
    const RunResult without = ready.run();
    if (with.status != ETB_OK) context.fail(ready.name() + ": fails with an event sink: " + with.error.text);
    for (const auto& [begin, end] : collected.times)
      if (begin > end)
        return context.fail(
            fmt::format("{}: an event ends at {}, before it begins at {}", ready.name(), end, begin));
    if (collected.has_two_ids) return context.fail(ready.name() + ": an event has both a name and an id");
    if (collected.has_odd_ticks)
      return context.fail(ready.name() + ": a tick of " ETB_TIMEBASE_HOST " is no nanosecond");
    for (size_t i = 0; i < without.outputs.size() && with.status == ETB_OK; ++i)
      if (with.outputs[i].bytes != without.outputs[i].bytes)
        context.fail(ready.name() + ": profiling changes the result");
    has_events = has_events || !collected.times.empty();
    // In later runs, too, events are within their own run: the validate layer compares them with the call.
    for (int i = 0; i < 3 && context.outcome().findings.empty(); ++i) (void)ready.run({.events = &sink});
  });
  if (!has_events && context.outcome().findings.empty() && context.outcome().state == State::kNotRun)
    context.skip("the plugin reports no events");
}

// The first and the last time of each timebase of the plugin's own in one run.
struct OwnTimes {
  std::map<std::string, std::pair<uint64_t, uint64_t>> of_timebase;
};

etb_status ETB_CALL take_own_times(void* ctx, const etb_event* event) {
  if (event->timebase == nullptr || std::strcmp(event->timebase, ETB_TIMEBASE_HOST) == 0) return ETB_OK;
  auto& [first, last] = static_cast<OwnTimes*>(ctx)
                            ->of_timebase.try_emplace(event->timebase, event->begin_ticks, event->end_ticks)
                            .first->second;
  first = std::min(first, event->begin_ticks);
  last = std::max(last, event->end_ticks);
  return ETB_OK;
}

// The runs of one context follow each other. So do their events, on the plugin's clock, too.
void runs_follow_each_other(CheckContext& context) {
  constexpr int kRuns = 6;
  bool has_own_clock = false;
  context.each_session(bare(), 4, [&](ReadyCase& ready) {
    std::map<std::string, uint64_t> ended;
    for (int run = 0; run < kRuns; ++run) {
      OwnTimes times;
      const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &times, take_own_times};
      if (ready.run({.events = &sink}).status != ETB_OK) return;  // prof.events-are-consistent reports it
      for (const auto& [timebase, span] : times.of_timebase) {
        has_own_clock = true;
        if (const auto before = ended.find(timebase); before != ended.end() && span.first < before->second)
          return context.fail(
              fmt::format("{}: events of run {} begin at {} of {}, the run before ended at {}", ready.name(),
                          run + 1, span.first, timebase, before->second));
        ended[timebase] = span.second;
      }
      // A run without events takes time, too.
      (void)ready.run();
    }
  });
  if (!has_own_clock && context.outcome().findings.empty() && context.outcome().state == State::kNotRun)
    context.skip("the plugin reports no events on a clock of its own");
}

// The sink of an earlier run must get no events.
void off_means_none(CheckContext& context) {
  context.each_session({}, 1, [&](ReadyCase& ready) {
    Collected collected;
    const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &collected, take_event};
    (void)ready.run({.events = &sink});
    const size_t before = collected.times.size();
    (void)ready.run();
    if (collected.times.size() != before)
      context.fail("a run without an event sink wrote events to the sink of the previous run");
  });
}

std::set<uint32_t> handles_of(const BuiltCase& built) {
  std::set<uint32_t> out;
  const auto view = graph::View::open(built.image.span());
  if (!view) return out;
  const graph::Graph method = view->method();
  for (const graph::Node& node : method.nodes()) out.insert(node.debug_handle());
  return out;
}

// True if event i has the name or the id of an entry of the debug map.
bool has_entry(const Collected& events, size_t i, const DebugEntry& entry) {
  return events.ids[i] == -1 ? entry.name == events.names[i]
                             : entry.name.empty() && entry.id == events.ids[i];
}

// True if an event is in the debug map of the artifact.
bool has_announced(const Collected& events, const Payload& payload) {
  for (size_t i = 0; i < events.ids.size(); ++i)
    if (std::any_of(payload.debug_map.begin(), payload.debug_map.end(),
                    [&](const DebugEntry& entry) { return has_entry(events, i, entry); }))
      return true;
  return false;
}

// Adds a finding if no event is in the debug map of the artifact, or one has an id that the artifact does not list.
void expect_announced(CheckContext& context, const std::string& name, const Collected& events,
                      const Payload& payload) {
  if (!events.ids.empty() && !payload.debug_map.empty() && !has_announced(events, payload))
    return context.fail(fmt::format("{}: no event of a run is in the debug map, not even '{}', the first",
                                    name, events.names[0]));
  for (const int64_t id : events.ids)
    if (id != -1 &&
        std::find(payload.debug_ids.begin(), payload.debug_ids.end(), id) == payload.debug_ids.end())
      return context.fail(
          fmt::format("{}: an event has debug id {}, which the artifact does not list", name, id));
}

// The events of a run.
Collected events_of(CaseSession& session, const BuiltCase& built, RunOptions run = {}) {
  Collected collected;
  const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &collected, take_event};
  run.events = &sink;
  (void)session.run(built.runs[0], run);
  return collected;
}

// Events refer to handles that the artifact announced, and these to existing nodes.
void ids_are_announced(CheckContext& context) {
  context.each_session({}, 6, [&](ReadyCase& ready) {
    const std::set<uint32_t> handles = handles_of(ready.item.built);
    for (const uint32_t handle : ready.item.payload.debug_handles)
      if (handles.count(handle) == 0)
        return context.fail(fmt::format("{}: the artifact names debug handle {}, the graph has {}",
                                        ready.name(), handle, fmt::join(handles, ", ")));
    expect_announced(context, ready.name(), events_of(ready.session, ready.item.built), ready.item.payload);
  });
}

// True if all events are phases of the run, such as an option leaves that has no events of nodes. Usual runs have them, too.
bool are_phases(const Collected& events, const Collected& usual) {
  for (size_t i = 0; i < events.ids.size(); ++i)
    if (events.ids[i] != -1 ||
        std::find(usual.names.begin(), usual.names.end(), events.names[i]) == usual.names.end())
      return false;
  return true;
}

// Options of delegates and runs may choose other events.
void ids_with_options(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  size_t count = 0;
  const std::vector<ClaimedCase> items = context.claimed(*subject, 4);
  for (const OptionFacts& facts : options_of(*subject, context)) {
    const bool is_of_run = facts.has(ETB_OBJECT_RUN), is_of_delegate = facts.has(ETB_OBJECT_DELEGATE);
    if ((!is_of_run && !is_of_delegate) || facts.key == kLoseDevice) continue;
    for (const etb_option& option : ordinary_values(facts))
      for (const ClaimedCase& item : items) {
        const std::vector<etb_option> options = {option};
        const auto session = CaseSession::make(*subject, item.built, item.payload,
                                               is_of_run ? std::vector<etb_option>{} : options);
        if (!session) continue;  // opt.every-value-is-correct reports it
        const Collected collected =
            events_of(**session, item.built, {.options = is_of_run ? options : std::vector<etb_option>{}});
        ++count;
        if (!has_announced(collected, item.payload)) {
          const auto usual = CaseSession::make(*subject, item.built, item.payload);
          if (usual && are_phases(collected, events_of(**usual, item.built))) continue;
        }
        expect_announced(context, item.item->name + ", with " + to_text(option), collected, item.payload);
        if (!context.outcome().findings.empty()) return;
      }
  }
  if (count == 0) context.skip("the plugin has no options of delegates or runs");
}

// A chain of ops of two operands and functions of one, written in the order of computing: "add relu add sigmoid". The
// second operand of each op of two is the second input.
Result<BuiltCase> chain_of(const std::vector<const char*>& ops) {
  CaseBuilder builder("events of a chain");
  const Shape shape{ETB_DTYPE_FLOAT32, {3, 1024}, {}};
  const uint32_t x = builder.input(shape, Values::kStatistical),
                 y = builder.input(shape, Values::kStatistical);
  uint32_t value = x;
  for (const std::string_view op : ops) {
    std::vector<graph::ArgumentDesc> args = {graph::value_arg(value, "self")};
    if (op == "aten.hardtanh.default") {
      args.push_back(graph::float_arg(-1, "min_val"));
      args.push_back(graph::float_arg(1, "max_val"));
    } else if (op.ends_with(".Tensor")) {
      args.push_back(graph::value_arg(y, "other"));
    }
    value = builder.node(std::string(op), args, shape);
  }
  builder.output(value);
  return builder.finish({});
}

// The debug map joins events to nodes. If it joins one event, each node in it has one.
void nodes_have_events(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || subject->table().aot == nullptr) return;
  bool has_any = false;
  for (const std::vector<const char*>& ops :
       {std::vector<const char*>{"aten.add.Tensor", "aten.relu.default", "aten.add.Tensor",
                                 "aten.sigmoid.default"},
        {"aten.mul.Tensor", "aten.hardtanh.default", "aten.sub.Tensor", "aten.tanh.default",
         "aten.abs.default"},
        {"aten.add.Tensor", "aten.add.Tensor", "aten.add.Tensor"}}) {
    const Result<BuiltCase> built = chain_of(ops);
    if (!built || !partition(*subject, built->image).is_whole_claim()) continue;
    Compiled compiled = compile(*subject, built->image);
    if (compiled.status != ETB_OK) continue;
    const std::vector<DebugEntry> entries = compiled.payload.debug_map;
    const auto session = CaseSession::make(*subject, *built, std::move(compiled.payload));
    if (!session) continue;
    const Collected collected = events_of(**session, *built);
    const auto has_event = [&](const DebugEntry& entry) {
      for (size_t i = 0; i < collected.ids.size(); ++i)
        if (entry.name.empty() ? collected.ids[i] == entry.id : collected.names[i] == entry.name) return true;
      return false;
    };
    if (std::none_of(entries.begin(), entries.end(), has_event)) continue;
    has_any = true;
    std::set<uint32_t> joined;
    for (const DebugEntry& entry : entries)
      if (has_event(entry)) joined.insert(entry.handles.begin(), entry.handles.end());
    for (const DebugEntry& entry : entries)
      for (const uint32_t handle : entry.handles)
        if (joined.count(handle) == 0)
          return context.fail(
              fmt::format("the debug map joins node {} to '{}', and no event of a run has it or another name "
                          "of the node; the events are {}",
                          handle, entry.name.empty() ? std::to_string(entry.id) : entry.name,
                          fmt::join(collected.names, ", ")));
  }
  if (!has_any) context.skip("no event of the plugin is in its debug map");
}

// Two ops that do not depend on each other: one of many elements, and one of few.
Result<BuiltCase> large_and_small(const char* op, bool is_large_first) {
  CaseBuilder builder("events of a large and a small op");
  const Shape shapes[] = {{ETB_DTYPE_FLOAT32, {1024, 1024}, {}}, {ETB_DTYPE_FLOAT32, {2, 8}, {}}};
  uint32_t inputs[2], values[2];
  for (size_t i = 0; i < 2; ++i) inputs[i] = builder.input(shapes[i], Values::kStatistical);
  for (const size_t i : is_large_first ? std::array<size_t, 2>{0, 1} : std::array<size_t, 2>{1, 0}) {
    std::vector<graph::ArgumentDesc> args = {graph::value_arg(inputs[i], "self")};
    if (std::string_view(op).ends_with(".Tensor")) args.push_back(graph::value_arg(inputs[i], "other"));
    values[i] = builder.node(op, args, shapes[i]);
  }
  for (const uint32_t value : values) builder.output(value);
  return builder.finish({});
}

// Returns the ticks of the events of one node, nothing if no event is about that node alone.
std::optional<uint64_t> ticks_of(const Collected& events, const std::vector<DebugEntry>& map,
                                 uint32_t handle) {
  std::optional<uint64_t> out;
  for (size_t i = 0; i < events.times.size(); ++i)
    for (const DebugEntry& entry : map)
      if (entry.handles == std::vector{handle} && has_entry(events, i, entry)) {
        out = out.value_or(0) + events.times[i].second - events.times[i].first;
        break;
      }
  return out;
}

// Returns how many times longer than all its events a run takes, of several runs the least; 0 for short runs and for none
// with events.
double times_of_events(CaseSession& session, const std::vector<TensorData>& inputs) {
  constexpr int kRuns = 6;
  constexpr uint64_t kLeastNs = 200000;  // shorter runs measure the call
  double least = 1e300;
  (void)session.run(inputs);  // may prepare what later runs use
  for (int i = 0; i < kRuns; ++i) {
    Collected events;
    const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &events, take_event};
    const uint64_t begin = monotonic_ns();
    (void)session.run(inputs, {.events = &sink});
    const uint64_t wall = monotonic_ns() - begin;
    if (events.host_ns.empty() || wall < kLeastNs) return 0;
    const uint64_t sum = std::accumulate(events.host_ns.begin(), events.host_ns.end(), uint64_t{0});
    least = std::min(least, static_cast<double>(wall) / static_cast<double>(sum + 1));
  }
  return least;
}

// Times of events are those of the work: 65,536 times as many elements take longer.
void times_are_of_the_work(CheckContext& context) {
  constexpr int kRuns = 6;
  const auto subject = context.open(bare());
  if (!subject || subject->table().aot == nullptr) return;
  bool has_any = false;
  for (const char* op : {"aten.add.Tensor", "aten.mul.Tensor", "aten.relu.default", "aten.sigmoid.default"})
    for (const bool is_large_first : {true, false}) {
      const Result<BuiltCase> built = large_and_small(op, is_large_first);
      if (!built || !partition(*subject, built->image).is_whole_claim()) continue;
      Compiled compiled = compile(*subject, built->image);
      if (compiled.status != ETB_OK) continue;
      const std::set<uint32_t> handles = handles_of(*built);
      const std::vector<DebugEntry> map = compiled.payload.debug_map;
      const auto session = CaseSession::make(*subject, *built, std::move(compiled.payload));
      if (!session || handles.size() != 2) continue;
      constexpr double kMostTimes = 200;  // a wrong unit makes 1,000
      if (!map.empty() && times_of_events(**session, built->runs[0]) > kMostTimes)
        return context.fail(
            fmt::format("{} of 1,048,576 elements: all events together are less than a {:.0f}th of each run",
                        op, kMostTimes));
      uint32_t large = *handles.begin(), small = *handles.rbegin();
      if (!is_large_first) std::swap(large, small);
      bool is_longer = false;
      std::string seen;
      for (int i = 0; i < kRuns; ++i) {
        const Collected events = events_of(**session, *built);
        const std::optional<uint64_t> of_large = ticks_of(events, map, large),
                                      of_small = ticks_of(events, map, small);
        if (!of_large || !of_small || *of_large + *of_small == 0) break;
        is_longer = is_longer || *of_large > *of_small;
        seen += fmt::format("{}{} and {}", seen.empty() ? "" : ", ", *of_large, *of_small);
      }
      has_any = has_any || !seen.empty();
      if (!seen.empty() && !is_longer)
        return context.fail(fmt::format(
            "in one program, {} of 1,048,576 elements and of 16 have events of these ticks: {}", op, seen));
    }
  if (!has_any) context.skip("the plugin has no events of single nodes");
}

// No event may be longer than its run. The host has one thread here. So events on the host's clock nest for a
// plugin without own threads, and their sum must not exceed the run.
void times_add_up(CheckContext& context) {
  context.each_session({}, 6, [&](ReadyCase& ready) {
    const bool has_one_lane = (ready.subject.library().ident().flags & ETB_PLUGIN_OWN_THREADS) == 0;
    Collected collected;
    const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &collected, take_event};
    const uint64_t begin = monotonic_ns();
    (void)ready.run({.events = &sink});
    const uint64_t wall = monotonic_ns() - begin;
    for (size_t i = 0; i < collected.times.size(); ++i)
      if (collected.host_ns[i] > wall)
        return context.fail(fmt::format("{}: an event of {} ns is longer than its run of {} ns", ready.name(),
                                        collected.host_ns[i], wall));
    if (const auto* const event = has_one_lane ? overlapping(collected.on_host) : nullptr; event != nullptr)
      return context.fail(
          fmt::format("{}: the event from {} to {} overlaps another, and neither contains the other",
                      ready.name(), event->first, event->second));
  });
}

// ---- values inside of a delegate

struct InnerValues {
  std::vector<std::vector<int64_t>> sizes;
};

uint32_t ETB_CALL wants_all(void*, const char*, int64_t) { return 1; }

etb_status ETB_CALL take_inner(void* ctx, const etb_inner_value* value) {
  auto& out = *static_cast<InnerValues*>(ctx);
  for (uint32_t i = 0; value->kind == ETB_INNER_TENSORS && i < value->tensor_count; ++i) {
    const etb_tensor& tensor = *ETB_AT(etb_tensor, value->tensors, i);
    out.sizes.emplace_back(tensor.sizes, tensor.sizes + tensor.rank);
  }
  return ETB_OK;
}

int64_t numel_of(const std::vector<int64_t>& sizes) {
  int64_t out = 1;
  for (const int64_t size : sizes) out *= size;
  return out;
}

// Values inside of a delegate, which a recording has, are of the run: elementwise ops keep the number of elements.
void inner_values_are_of_the_run(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  bool has_any = false;
  for (const char* pattern : {"dyn.relu.*", "dyn.sigmoid.*", "dyn.tanh.*", "dyn.neg.*", "dyn.add_tensor.*"})
    for (ClaimedCase& item : context.find_claimed_like(*subject, pattern, 3)) {
      const auto session = context.make_session(*subject, item);
      if (!session) return;
      for (const std::vector<TensorData>& inputs : item.built.runs) {
        InnerValues inner;
        const etb_value_sink sink = {{static_cast<uint32_t>(sizeof(etb_value_sink)), 0, &inner,
                                      [](void*, const etb_event*) { return etb_status{ETB_OK}; }},
                                     ETB_VALUE_SINK_ID,
                                     wants_all,
                                     take_inner};
        const RunResult result = session->run(inputs, {.events = &sink.events});
        if (result.status != ETB_OK)
          return context.fail(item.item->name + ": a run that is recorded fails: " + result.error.text);
        if (!context.outcome().findings.empty()) return;
        for (const std::vector<int64_t>& sizes : inner.sizes) {
          has_any = true;
          if (numel_of(sizes) != numel_of(result.outputs[0].shape.sizes))
            return context.fail(fmt::format("{}: a value of {} elements is recorded, its output has {}",
                                            item.item->name, numel_of(sizes),
                                            numel_of(result.outputs[0].shape.sizes)));
        }
      }
    }
  if (!has_any) context.skip("the plugin records no values");
}

constexpr Check kChecks[] = {
    {"prof.inner-values-are-of-the-run", "Recorded values have the sizes of their run.", "",
     inner_values_are_of_the_run},
    {"prof.events-are-consistent", "Events begin before they end, inside their run, and change no result.",
     "ABI-PROF-01", events_are_consistent},
    {"prof.runs-follow-each-other",
     "Events of a run begin no earlier than those of the run before ended, on the plugin's clock, too.",
     "ABI-PROF-01", runs_follow_each_other},
    {"prof.ids-are-announced", "Debug ids of events and handles of artifacts are those of the graph.", "",
     ids_are_announced},
    {"prof.ids-with-options", "So are they with each value of an option.", "", ids_with_options},
    {"prof.nodes-have-events", "If events of a chain are in the debug map, each node of the map has one.", "",
     nodes_have_events},
    {"prof.times-are-of-the-work",
     "Events of much work are longer than those of little, and all together take a part of a long run.",
     "ABI-PROF-01", times_are_of_the_work},
    {"prof.times-add-up",
     "No event is longer than its run, by its own ticks and their length; events of one thread nest.",
     "ABI-PROF-01", times_add_up},
    {"prof.off-means-none", "Without an event sink no event is reported.", "ABI-PROF-02", off_means_none},
};

}  // namespace

std::span<const Check> prof_checks() { return kChecks; }

}  // namespace etb::conformance
