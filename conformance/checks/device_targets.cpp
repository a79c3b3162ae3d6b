// SPDX-License-Identifier: Apache-2.0
// Compiles for each device of the machine, as `etbackend compile --target` does with a file that
// `list --devices --json` wrote, and runs what it compiled there.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "conformance/cases/case_builder.hpp"
#include "conformance/checks/concurrent_runs.hpp"
#include "conformance/checks/devices.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/large_values.hpp"
#include "conformance/subject/payload_verdict.hpp"
#include "host/layers/replay/from_trace.hpp"

namespace etb::conformance {
namespace {

std::vector<format::TraceTarget> describe(const DeviceFacts& facts) {
  format::TraceTarget out;
  out.kind = facts.kind;
  out.name = facts.name;
  std::copy(facts.fingerprint.begin(), facts.fingerprint.end(), out.fingerprint.begin());
  out.attributes = facts.attributes;
  return {std::move(out)};
}

// Returns true if the case was compiled for the device. A device need not suit each case.
bool runs_on_its_device(CheckContext& context, Subject& subject, const ClaimedCase& item,
                        const DeviceFacts& facts, etb_device* device) {
  const std::vector<format::TraceTarget> description = describe(facts);
  const host::replay::Target target(description);
  CompileOptions options;
  options.aot.target = target.get();
  const std::string where = fmt::format("{}, compiled for '{}': ", item.item->name, facts.name);
  context.progress().at("partition for a device");
  if (!partition(subject, item.built.image, options.aot).is_whole_claim()) return false;
  context.progress().at("compile for a device");
  Compiled compiled = compile(subject, item.built.image, options);
  if (compiled.status != ETB_OK) {
    // A claim looks at nodes one by one, dry_check at the region.
    std::string text;
    const etb_status dry = dry_check(subject, item.built.image, text, options.aot);
    if (dry != ETB_OK && dry != ETB_NOT_IMPLEMENTED && item.item->name.starts_with("model.")) return false;
    context.fail(where + "claimed, but compile fails: " + compiled.error);
    return true;
  }
  const Result<std::unique_ptr<CaseSession>> session =
      CaseSession::make(subject, item.built, std::move(compiled.payload), {}, device);
  if (!session) {
    context.fail(where + "create on this device fails: " + session.error().message);
    return true;
  }
  const RunResult result = (*session)->run(item.built.runs[0]);
  if (result.status != ETB_OK)
    context.fail(where + "execute fails: " + result.error.text);
  else if (!context.is_right(item, result))
    context.fail(where + "a wrong result");
  return true;
}

// Ops whose results are exact. Operands are at most 7.
struct ExactOp {
  const char* name;
  bool has_other = false;      // the input
  bool is_exact_often = true;  // in kChainNodes nodes
};
constexpr ExactOp kExactOps[] = {{"aten.relu.default"},          {"aten.neg.default"},
                                 {"aten.abs.default"},           {"aten.add.Tensor", true},
                                 {"aten.sub.Tensor", true},      {"aten.mul.Tensor", true, false},
                                 {"aten.maximum.default", true}, {"aten.minimum.default", true}};
constexpr int kChainNodes = 12;

// Values of an attribute that may be bytes of memory.
constexpr int64_t kTinyValues[] = {int64_t{1} << 18, int64_t{1} << 12};

// Nodes one after the other, each value an output: a node needs little memory, the chain much. With one node, a large value.
Result<BuiltCase> large_values(const ExactOp& op, int64_t elements, int nodes) {
  CaseBuilder builder("large values");
  const Shape shape{ETB_DTYPE_FLOAT32, {elements}, {}};
  const uint32_t input = builder.input(shape, Values::kExact);
  uint32_t last = input;
  for (int i = 0; i < nodes; ++i) {
    std::vector<graph::ArgumentDesc> args = {graph::value_arg(last, "self")};
    if (op.has_other) args.push_back(graph::value_arg(input, "other"));
    last = builder.node(op.name, std::move(args), shape);
    builder.output(last);
  }
  return builder.finish({});
}

// Adds a case if it is claimed and compiles.
bool add_claimed(Subject& subject, const Case& item, Result<BuiltCase> built, std::vector<ClaimedCase>& out) {
  if (!built || !partition(subject, built->image).is_whole_claim()) return false;
  Compiled compiled = compile(subject, built->image);
  if (compiled.status != ETB_OK) return false;
  out.push_back({&item, std::move(*built), std::move(compiled.payload)});
  return true;
}

void add_large_values(Subject& subject, std::vector<ClaimedCase>& out) {
  static const Case kOne{"model.large_value", "model", ETB_DTYPE_FLOAT32, {}},
      kChain{"model.large_values", "model", ETB_DTYPE_FLOAT32, {}},
      kAtOnce{"model.large_values_at_once", "model", ETB_DTYPE_FLOAT32, {}};
  constexpr int64_t kLarge = int64_t{1} << 20, kMiddle = int64_t{1} << 17;
  for (const bool is_chain : {false, true})
    for (const ExactOp& op : kExactOps) {
      if (is_chain && !op.is_exact_often) continue;
      Result<BuiltCase> built = large_values(op, is_chain ? kMiddle : kLarge, is_chain ? kChainNodes : 1);
      if (add_claimed(subject, is_chain ? kChain : kOne, std::move(built), out)) break;
    }
  // Nine values at once, of which the three of a node fit into the memory of a tiny device.
  for (const int64_t tiny : kTinyValues)
    (void)add_claimed(subject, kAtOnce, with_large_values(Large::kWide, tiny / 16), out);
}

void compiled_for_each_device(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  std::vector<ClaimedCase> items = context.claimed(*subject, 6);
  if (!items.empty()) add_large_values(*subject, items);  // a small device may have no room for them
  for (const DeviceFacts& facts : devices_of(context, *subject)) {
    OpenDevice device(context, *subject, facts);
    if (!is_open(context, facts, device)) continue;
    size_t run_count = 0;
    for (const ClaimedCase& item : items) {
      if (runs_on_its_device(context, *subject, item, facts, device.handle())) ++run_count;
      if (!context.outcome().findings.empty()) return;
    }
    if (run_count == 0 && !items.empty())
      context.fail(fmt::format("'{}': the plugin claims none of its cases for this device", facts.name));
    expect_closed(context, facts, device);
  }
}

// Compares what check_payload says about a payload on a device with what create does there. `target` describes the device.
void expect_true_verdict(CheckContext& context, Subject& subject, const ClaimedCase& item,
                         const Payload& payload, const etb_target* target, const DeviceFacts& facts,
                         etb_device* device, bool is_compiled_for_it) {
  etb_verdict verdict;
  context.progress().at("check_payload for a device");
  if (ask_verdict(subject, payload.bytes, payload.bytes.size(), verdict, target) != ETB_OK) return;
  if (is_compiled_for_it && verdict.kind == ETB_VERDICT_PREFER_RECOMPILE)
    context.fail(
        fmt::format("{}: compiled for '{}', and check_payload prefers another compilation there ({})",
                    item.item->name, facts.name, verdict.text));
  const auto session = CaseSession::make(subject, item.built, payload, {}, device);
  if (session && verdict.kind == ETB_VERDICT_UNSUPPORTED)
    context.fail(
        fmt::format("{}: check_payload calls the payload unsupported on '{}' ({}), where create takes it",
                    item.item->name, facts.name, verdict.text));
  const bool is_promised =
      verdict.kind == ETB_VERDICT_OPTIMAL || verdict.kind == ETB_VERDICT_PREFER_RECOMPILE;
  if (!session && is_promised && session.error().code != Code::UNAVAILABLE)
    context.fail(fmt::format("{}: check_payload says that the payload runs on '{}', where create fails: {}",
                             item.item->name, facts.name, session.error().message));
}

// The verdict about the payload of the default device, by device; ETB_VERDICT_UNKNOWN if the call fails.
etb_verdict_kind verdict_for(Subject& subject, const Payload& payload, const DeviceFacts& facts) {
  const std::vector<format::TraceTarget> description = describe(facts);
  const host::replay::Target target(description);
  etb_verdict verdict;
  (void)ask_verdict(subject, payload.bytes, payload.bytes.size(), verdict, target.get());
  return verdict.kind;
}

// Devices with equal fingerprints run each other's payloads at the same verdict.
void expect_equal_verdicts(CheckContext& context, Subject& subject, const ClaimedCase& item,
                           const DeviceList& devices) {
  for (size_t i = 0; i < devices.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (devices[i].fingerprint == devices[k].fingerprint &&
          verdict_for(subject, item.payload, devices[i]) != verdict_for(subject, item.payload, devices[k]))
        context.fail(
            fmt::format("{}: '{}' and '{}' have one fingerprint, and check_payload gives two verdicts",
                        item.item->name, devices[k].name, devices[i].name));
}

void verdicts_for_each_device(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  std::vector<ClaimedCase> items = context.claimed(*subject, 6);
  for (const char* pattern : {"*.large.*", "model.*"})  // a small device has no room for some
    for (ClaimedCase& item : context.find_claimed_like(*subject, pattern, 12))
      items.push_back(std::move(item));
  add_large_values(*subject, items);
  const DeviceList devices = devices_of(context, *subject);
  for (const ClaimedCase& item : items) expect_equal_verdicts(context, *subject, item, devices);
  for (const DeviceFacts& facts : devices) {
    OpenDevice device(context, *subject, facts);
    if (!is_open(context, facts, device)) continue;
    const std::vector<format::TraceTarget> description = describe(facts);
    const host::replay::Target target(description);
    CompileOptions options;
    options.aot.target = target.get();
    for (const ClaimedCase& item : items) {
      context.progress().restart();
      expect_true_verdict(context, *subject, item, item.payload, target.get(), facts, device.handle(), false);
      const Compiled compiled = compile(*subject, item.built.image, options);
      if (compiled.status == ETB_OK)
        expect_true_verdict(context, *subject, item, compiled.payload, target.get(), facts, device.handle(),
                            true);
      if (!context.outcome().findings.empty()) return;
    }
  }
}

// A device of the same kind with less of one attribute, as a target.
struct SmallerDevice {
  std::vector<format::TraceTarget> description;
  std::string text;
  bool is_tiny = false;  // too small for large values, if the attribute is memory
};

constexpr int64_t kMostTimesLess = 64;

// Returns smaller values of an attribute. Those of a large number, which may be bytes of memory, go down to what no large value
// fits into.
std::vector<int64_t> smaller_values(const format::TraceOption& attribute) {
  std::vector<int64_t> out;
  if (attribute.type != ETB_OPTION_I64) return out;
  for (const int64_t divisor : {int64_t{2}, int64_t{8}, kMostTimesLess})
    if (attribute.i64 / divisor >= 1) out.push_back(attribute.i64 / divisor);
  for (const int64_t tiny : kTinyValues)
    if (attribute.i64 / kMostTimesLess > tiny) out.push_back(tiny);
  return out;
}

std::vector<SmallerDevice> smaller_devices(CheckContext& context, Subject& subject) {
  std::vector<SmallerDevice> out;
  for (const DeviceFacts& facts : devices_of(context, subject))
    for (size_t number = 0; number < facts.attributes.size(); ++number)
      for (const int64_t value : smaller_values(facts.attributes[number])) {
        std::vector<format::TraceTarget> description = describe(facts);
        format::TraceOption& attribute = description[0].attributes[number];
        const bool is_tiny = attribute.i64 / kMostTimesLess > value;
        attribute.i64 = value;
        std::string text = fmt::format("'{}' with {} of {}", facts.name, attribute.i64, attribute.key);
        out.push_back({std::move(description), std::move(text), is_tiny});
      }
  return out;
}

// Small cases, and large ones, which need a plan that depends on the memory of the device.
std::vector<ClaimedCase> cases_of_all_sizes(CheckContext& context, Subject& subject) {
  std::vector<ClaimedCase> out = context.claimed(subject, 16);
  if (out.empty()) return out;
  for (const char* pattern : {"*.large.*", "quant.*", "model.*"})
    for (ClaimedCase& item : context.find_claimed_like(subject, pattern, pattern[0] == '*' ? 24 : 6))
      out.push_back(std::move(item));
  add_large_values(subject, out);
  return out;
}

bool is_large_value(const ClaimedCase& item) { return item.item->name.starts_with("model.large_value"); }

// A claim of the only node is about the whole region; of several nodes, only dry_check sees it.
bool has_several_nodes(const ClaimedCase& item) {
  return item.item->name.starts_with("model.") && item.item->name != "model.large_value";
}

// Adds a finding if check_payload calls a payload unsupported on the target that it was compiled for.
void expect_supported(CheckContext& context, Subject& subject, const ClaimedCase& item,
                      const Payload& payload, const SmallerDevice& device, const etb_target* target) {
  etb_verdict verdict;
  (void)ask_verdict(subject, payload.bytes, payload.bytes.size(), verdict, target);
  if (verdict.kind == ETB_VERDICT_UNSUPPORTED)
    context.fail(
        fmt::format("{}: compiled for {}, and check_payload calls the payload unsupported there ({})",
                    item.item->name, device.text, verdict.text));
}

// Compiles each case that is claimed for a smaller device.
void claims_for_smaller_devices(CheckContext& context) {
  constexpr size_t kStepOfTiny = 4;
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::vector<ClaimedCase> items = cases_of_all_sizes(context, *subject);
  if (items.empty()) return;
  const std::vector<SmallerDevice> devices = smaller_devices(context, *subject);
  if (devices.empty()) return context.skip("no device has attributes that are numbers");
  for (const SmallerDevice& device : devices) {
    const host::replay::Target target(device.description);
    CompileOptions options;
    options.aot.target = target.get();
    for (size_t i = 0; i < items.size(); ++i) {
      const ClaimedCase& item = items[i];
      if (device.is_tiny && i % kStepOfTiny != 0 && !is_large_value(item)) continue;
      context.progress().at("partition for a smaller device");
      context.progress().restart();
      if (!partition(*subject, item.built.image, options.aot).is_whole_claim()) continue;
      const Compiled compiled = compile(*subject, item.built.image, options);
      std::string text;
      const etb_status dry = dry_check(*subject, item.built.image, text, options.aot);
      if (dry != ETB_NOT_IMPLEMENTED && (dry == ETB_OK) != (compiled.status == ETB_OK))
        return context.fail(fmt::format("{}: for {}, dry_check returns {} ({}) and compile {} ({})",
                                        item.item->name, device.text, dry, text, compiled.status,
                                        compiled.error));
      // dry_check sees the region as a whole, a claim only nodes.
      if (compiled.status != ETB_OK && (dry == ETB_NOT_IMPLEMENTED || !has_several_nodes(item)))
        return context.fail(fmt::format("{}: claimed for {}, but compile fails: {}", item.item->name,
                                        device.text, compiled.error));
      if (compiled.status == ETB_OK)
        expect_supported(context, *subject, item, compiled.payload, device, target.get());
      if (!context.outcome().findings.empty()) return;
    }
  }
}

// True if check_payload says that the payload runs here.
bool suits_this_device(Subject& subject, const Payload& payload) {
  etb_verdict verdict;
  (void)ask_verdict(subject, payload.bytes, payload.bytes.size(), verdict);
  return verdict.kind == ETB_VERDICT_OPTIMAL || verdict.kind == ETB_VERDICT_PREFER_RECOMPILE;
}

// Compiles claimed cases for smaller devices. Calls body(case, device, target) for each whose payload differs from
// that without a target, and runs here.
template <class Body>
void each_for_smaller_devices(CheckContext& context, Subject& subject, Body body) {
  std::vector<ClaimedCase> items = cases_of_all_sizes(context, subject);
  if (items.empty()) return;
  size_t count = 0;
  for (const SmallerDevice& device : smaller_devices(context, subject)) {
    if (device.is_tiny) continue;
    const host::replay::Target target(device.description);
    CompileOptions options;
    options.aot.target = target.get();
    for (ClaimedCase& item : items) {
      context.progress().at("compile for a smaller device");
      context.progress().restart();
      if (!partition(subject, item.built.image, options.aot).is_whole_claim()) continue;
      Compiled compiled = compile(subject, item.built.image, options);
      if (compiled.status != ETB_OK || compiled.payload == item.payload ||
          !suits_this_device(subject, compiled.payload))
        continue;
      ++count;
      Payload usual = std::exchange(item.payload, std::move(compiled.payload));
      body(std::as_const(item), device, options.aot);
      item.payload = std::move(usual);
      if (!context.outcome().findings.empty()) return;
    }
  }
  if (count == 0)
    context.skip("no case is compiled to another payload for a smaller device, which runs here");
}

// A plan for less memory has more steps, which read and write other parts of it. Contexts that run together have memory
// of their own.
void run_as_for_smaller_devices(CheckContext& context) {
  constexpr std::chrono::milliseconds kTime{5};
  const auto subject = context.open(bare());
  if (!subject) return;
  each_for_smaller_devices(
      context, *subject, [&](const ClaimedCase& item, const SmallerDevice& device, const AotOptions&) {
        const std::string where = fmt::format("{}, compiled for {}: ", item.item->name, device.text);
        const auto session = context.make_session(*subject, item);
        if (!session) return;
        const RunResult result = session->run(item.built.runs[0]);
        if (result.status != ETB_OK) return context.fail(where + "execute fails: " + result.error.text);
        if (!context.is_right(item, result)) return context.fail(where + "a wrong result");
        if (!run_without_pauses(context, *subject, item, kTime)) context.fail(where + "in concurrent runs");
      });
}

// ---- estimates of what is certain

// The time from the first to the last event on a clock of the plugin's own; 0 if there are none.
struct Span {
  uint64_t begin = UINT64_MAX, end = 0;
  double tick_ns = 0;
  double ns() const { return end > begin ? static_cast<double>(end - begin) * tick_ns : 0; }
};

etb_status ETB_CALL extend_span(void* ctx, const etb_event* event) {
  auto& span = *static_cast<Span*>(ctx);
  if (event->timebase == nullptr || std::string_view(event->timebase) == ETB_TIMEBASE_HOST ||
      event->ns_denominator == 0)
    return ETB_OK;
  span.begin = std::min(span.begin, event->begin_ticks);
  span.end = std::max(span.end, event->end_ticks);
  span.tick_ns = static_cast<double>(event->ns_numerator) / static_cast<double>(event->ns_denominator);
  return ETB_OK;
}

// Compares a latency of confidence 1 with the events of a run. Returns false if there is none to compare.
bool compare_with_events(CheckContext& context, Subject& subject, const ClaimedCase& item,
                         const AotOptions& aot, const std::string& target) {
  constexpr double kMostTimes = 1.1;
  etb_estimate found{};
  context.progress().at("estimate");
  if (estimate(subject, item.built.image, found, aot) != ETB_OK || found.confidence < 1 ||
      found.latency_ns <= 0)
    return false;
  const auto session = context.make_session(subject, item);
  if (!session) return false;
  Span span;
  const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &span, extend_span};
  (void)session->run(item.built.runs[0], {.events = &sink});
  if (span.ns() == 0) return false;
  if (span.ns() > kMostTimes * found.latency_ns || found.latency_ns > kMostTimes * span.ns())
    context.fail(fmt::format("{}{}: estimated {} ns with confidence 1, the events of a run take {} ns",
                             item.item->name, target, found.latency_ns, span.ns()));
  return true;
}

void certain_estimates(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || subject->table().aot == nullptr) return;
  if ((subject->table().aot->caps & ETB_AOT_CAP_ESTIMATE) == 0)
    return context.skip("the plugin has no estimate");
  size_t count = 0;
  for (const ClaimedCase& item : cases_of_all_sizes(context, *subject)) {
    count += compare_with_events(context, *subject, item, {}, "") ? 1 : 0;
    if (!context.outcome().findings.empty()) return;
  }
  if (count == 0)
    return context.skip("the plugin has no estimates of confidence 1 and events on a clock of its own");
  each_for_smaller_devices(context, *subject,
                           [&](const ClaimedCase& item, const SmallerDevice& device, const AotOptions& aot) {
                             (void)compare_with_events(context, *subject, item, aot, " for " + device.text);
                           });
}

constexpr Check kChecks[] = {
    {"dev.verdicts-for-each-device",
     "What check_payload says about a payload on a device is what create does there; devices with equal "
     "fingerprints have equal verdicts.",
     "", verdicts_for_each_device},
    {"dev.payloads-for-smaller-devices",
     "A payload for a smaller device that check_payload accepts gives the same result, also in concurrent "
     "runs.",
     "ABI-AOT-03", run_as_for_smaller_devices},
    {"dev.certain-estimates",
     "A latency of confidence 1 is what the events of a run take, also for smaller devices.", "",
     certain_estimates},
    {"dev.smaller-devices",
     "What is claimed for a target with less of a device's attribute compiles, and is not unsupported there.",
     "ABI-AOT-01", claims_for_smaller_devices},
    {"dev.compiled-for-each-device", "What is compiled for a target made from a device runs on this device.",
     "ABI-AOT-03", compiled_for_each_device},
};

}  // namespace

std::span<const Check> device_target_checks() { return kChecks; }

}  // namespace etb::conformance
