// SPDX-License-Identifier: Apache-2.0
// info: the facts that query and query_io report about a delegate.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/cases/case_builder.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/large_constant.hpp"
#include "conformance/checks/large_values.hpp"
#include "conformance/subject/process_facts.hpp"

namespace etb::conformance {
namespace {

// One requirement, as a value.
struct IoFacts {
  uint32_t role = 0, index = 0, may_alias_input = 0;
  uint64_t alignment = 0, padding_bytes = 0;
  std::vector<std::string> kinds;
  std::string defect;  // "" if there is none
  friend bool operator==(const IoFacts&, const IoFacts&) = default;
};

// Compares the spec of a requirement with that of the graph.
std::string defect_of_spec(const etb_tensor_spec& spec, const etb_graph_spec& graph) {
  if (spec.dtype != static_cast<etb_dtype>(graph.dtype)) return "the spec has another dtype than the graph";
  if (spec.rank != graph.rank) return "the spec has another rank than the graph";
  for (uint32_t d = 0; d < spec.rank; ++d) {
    if (spec.sizes[d] != graph.sizes[d])
      return fmt::format("size {} of the spec is {}, of the graph {}", d, spec.sizes[d], graph.sizes[d]);
    // A region may run smaller sizes than the graph has, but not fewer.
    if (graph.min_sizes[d] < graph.sizes[d] && spec.min_sizes == nullptr)
      return fmt::format("size {} is dynamic, and the spec has no least sizes", d);
    if (spec.min_sizes != nullptr && spec.min_sizes[d] > graph.min_sizes[d])
      return fmt::format("the least size {} of the spec is {}, of the graph {}", d, spec.min_sizes[d],
                         graph.min_sizes[d]);
    if (spec.min_sizes != nullptr && (spec.min_sizes[d] < 0 || spec.min_sizes[d] > spec.sizes[d]))
      return fmt::format("the least size {} of the spec is {}", d, spec.min_sizes[d]);
    if ((spec.dim_order != nullptr ? spec.dim_order[d] : d) != graph.dim_order[d])
      return "the spec has another dim order than the graph";
  }
  return "";
}

std::string defect_of(const etb_io_req& req, const CaseSession& session) {
  constexpr uint64_t kMostAlignment = uint64_t{1} << 21, kMostPadding = uint64_t{1} << 24;
  if (req.alignment == 0 || (req.alignment & (req.alignment - 1)) != 0 || req.alignment > kMostAlignment)
    return fmt::format("alignment {}, expected a power of two up to {}", req.alignment, kMostAlignment);
  if (req.padding_bytes > kMostPadding) return fmt::format("{} bytes of padding", req.padding_bytes);
  if (req.role != ETB_ROLE_INPUT && req.may_alias_input > session.input_count())
    return fmt::format("may_alias_input {} of {} inputs", req.may_alias_input, session.input_count());
  for (uint32_t i = 0; i < req.kind_count; ++i)
    if (req.kinds == nullptr || req.kinds[i] == nullptr || *req.kinds[i] == '\0')
      return fmt::format("kind {} has no name", i);
  const bool is_output = (req.role & ETB_ROLE_OUTPUT) != 0;
  if (req.spec == nullptr || req.index >= (is_output ? session.output_count() : session.input_count()))
    return "";
  return defect_of_spec(*req.spec,
                        is_output ? session.output_spec(req.index) : session.input_spec(req.index));
}

struct Collected {
  const CaseSession& session;
  std::vector<IoFacts> items;
};

etb_status ETB_CALL take_req(void* ctx, const etb_io_req* req) {
  auto& out = *static_cast<Collected*>(ctx);
  IoFacts& facts = out.items.emplace_back();
  facts = {req->role, req->index, req->may_alias_input, req->alignment, req->padding_bytes, {}, ""};
  facts.defect = defect_of(*req, out.session);
  for (uint32_t i = 0; i < req->kind_count && facts.defect.empty(); ++i)
    facts.kinds.emplace_back(req->kinds[i]);
  return ETB_OK;
}

std::vector<IoFacts> requirements(CheckContext& context, ReadyCase& ready) {
  Collected collected{ready.session, {}};
  const etb_io_req_sink sink = {ETB_INIT_SIZE(etb_io_req_sink), 0, &collected, take_req};
  etb_error error = ETB_ERROR_INIT;
  context.progress().at("query_io");
  if (const etb_status status =
          ready.subject.table().delegate->query_io(ready.session.delegate(), &sink, &error);
      status != ETB_OK)
    context.fail(fmt::format("{}: query_io returns {}: {}", ready.name(), status, error.text));
  return std::move(collected.items);
}

// One item for each input in order, then one for each output in order.
void requirements_are_complete(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  std::vector<ClaimedCase> cases = context.claimed(*subject, 40);
  for (ClaimedCase& item : context.find_claimed_of_ops(*subject, "dyn.*", 12))
    cases.push_back(std::move(item));
  context.each_session(*subject, cases, [&](ReadyCase& ready) {
    const std::vector<IoFacts> items = requirements(context, ready);
    const uint32_t inputs = ready.session.input_count(), outputs = ready.session.output_count();
    if (items.size() != inputs + outputs)
      return context.fail(fmt::format("{}: query_io reports {} tensors, expected {} inputs and {} outputs",
                                      ready.name(), items.size(), inputs, outputs));
    for (uint32_t i = 0; i < items.size(); ++i) {
      const bool is_output = i >= inputs;
      const uint32_t role = is_output ? ETB_ROLE_OUTPUT : ETB_ROLE_INPUT;
      if (items[i].role != role || items[i].index != (is_output ? i - inputs : i))
        return context.fail(fmt::format("{}: item {} of query_io is tensor {} of role {}", ready.name(), i,
                                        items[i].index, items[i].role));
      if (!items[i].defect.empty())
        return context.fail(fmt::format("{}: item {} of query_io: {}", ready.name(), i, items[i].defect));
    }
    (void)ready.run();
    if (!(requirements(context, ready) == items))
      context.fail(ready.name() + ": after a run query_io reports other requirements");
  });
}

void info_is_stable(CheckContext& context) {
  context.each_session(bare(), 16, [&](ReadyCase& ready) {
    const etb_delegate_info& first = ready.session.info();
    (void)ready.run();
    etb_delegate_info now{};
    now.struct_size = sizeof(now);
    etb_error error = ETB_ERROR_INIT;
    if (ready.subject.table().delegate->query(ready.session.delegate(), &now, &error) != ETB_OK)
      return context.fail(ready.name() + ": query fails after a run: " + error.text);
    if (now.input_count != first.input_count || now.output_count != first.output_count ||
        now.max_contexts != first.max_contexts || now.scratch_bytes != first.scratch_bytes ||
        now.scratch_alignment != first.scratch_alignment)
      context.fail(ready.name() + ": query reports other facts after a run");
    if (first.max_contexts == 0) context.fail(ready.name() + ": max_contexts is 0");
    constexpr uint64_t kMostBytes = uint64_t{1} << 30;  // limit for a case of a few kilobytes
    for (const auto& [what, nbytes] :
         {std::pair{"resident_bytes", now.resident_bytes}, std::pair{"context_bytes", now.context_bytes},
          std::pair{"scratch_bytes", now.scratch_bytes}})
      if (nbytes > kMostBytes)
        context.fail(fmt::format("{}: {} is {} for a small case", ready.name(), what, nbytes));
  });
}

struct Measured {
  uint64_t held = 0;      // growth of the process
  uint64_t reported = 0;  // by query
};

void record(CheckContext& context, const char* what, const Measured& measured) {
  context.outcome().measured.emplace_back(std::string(what) + ".reported_bytes",
                                          static_cast<double>(measured.reported));
  context.outcome().measured.emplace_back(std::string(what) + ".measured_bytes",
                                          static_cast<double>(measured.held));
}

uint64_t growth_since(size_t before) {
  const size_t now = held_bytes();
  return now > before ? now - before : 0;
}

// Allocators round up, and small objects have costs of their own.
constexpr uint64_t kSlackBytes = uint64_t{2} << 20;
// Weights may be packed with padding or into a wider dtype.
constexpr uint64_t kMostTimesMore = 4;
constexpr uint64_t kMostTimesLess = 16;

// Compares resident_bytes with what the process holds more. The least of several delegates: the first may
// fill caches.
void resident_bytes_are_true(CheckContext& context) {
  constexpr int64_t kRows = 1024;
  constexpr uint64_t kConstantBytes = kRows * kRows * sizeof(float);
  const auto subject = context.open(bare());
  if (!subject || subject->table().aot == nullptr) return;
  bool has_any = false;
  for (const ConstantUse use : kConstantUses) {
    const Result<BuiltCase> built = with_constant(use, kRows, "large constant");
    if (!built || !partition(*subject, built->image).is_whole_claim()) continue;
    const Compiled compiled = compile(*subject, built->image);
    if (compiled.status != ETB_OK) continue;
    const etb_delegate_table& table = *subject->table().delegate;
    Measured least{UINT64_MAX, 0};
    for (int i = 0; i < 3; ++i) {
      Payload payload = compiled.payload;  // the session holds it, so it is not counted
      const size_t before = held_bytes();
      Result<std::unique_ptr<CaseSession>> made = CaseSession::make(*subject, *built, std::move(payload));
      if (!made) return context.fail("create of a case with a large constant fails: " + made.error().message);
      if (const Status ended = (*made)->end_context(); !ended)
        return context.fail("the end of a context fails: " + ended.error().message);
      const uint64_t held = growth_since(before);
      etb_delegate_info info{};
      info.struct_size = sizeof(info);
      etb_error error = ETB_ERROR_INIT;
      (void)table.query((*made)->delegate(), &info, &error);
      if (held < least.held) least = {held, info.resident_bytes};
      made->reset();
    }
    record(context, "resident", least);
    if (least.reported > kMostTimesLess * (kConstantBytes + least.held) + kSlackBytes)
      context.fail(fmt::format("resident_bytes is {}, the process holds {} more, the constant has {}",
                               least.reported, least.held, kConstantBytes));
    if (kMostTimesMore * least.reported + kSlackBytes < least.held)
      context.fail(fmt::format("resident_bytes is {}, the process holds {} more for a constant of {}",
                               least.reported, least.held, kConstantBytes));
    has_any = true;
  }
  if (!has_any) context.skip("the plugin claims no case with a large constant");
}

// Creates one more context, runs it, and measures what it holds then. The least of several.
Measured measure_context(CheckContext& context, CaseSession& session, const etb_delegate_table& table,
                         const std::vector<TensorData>& inputs) {
  Measured least{UINT64_MAX, 0};
  for (int i = 0; i < 3; ++i) {
    const size_t before = held_bytes();
    etb_context* made = nullptr;
    etb_error error = ETB_ERROR_INIT;
    context.progress().at("one more context");
    if (table.context_create(session.delegate(), nullptr, 0, &made, &error) != ETB_OK) {
      context.fail(std::string("context_create fails: ") + error.text);
      break;
    }
    (void)session.run_on(made, inputs);
    least.held = std::min(least.held, growth_since(before));
    (void)table.context_destroy(made, &error);
  }
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  etb_error error = ETB_ERROR_INIT;
  (void)table.query(session.delegate(), &info, &error);
  least.reported = info.context_bytes;
  return least;
}

// Runs the same graph with few elements, so that what the process loads once is there.
void run_small(Subject& subject, const LargeForm& large) {
  const Result<BuiltCase> built = with_large_values(large.form, large.first_elements);
  if (!built || !partition(subject, built->image).is_whole_claim()) return;
  const Compiled compiled = compile(subject, built->image);
  if (compiled.status != ETB_OK) return;
  const auto session = CaseSession::make(subject, *built, compiled.payload);
  if (session) (void)(*session)->run(built->runs[0]);
}

// Compares context_bytes, an upper bound, with what one more context holds after a run. Returns false if the plugin does
// not claim the form.
bool compare_context_bytes(CheckContext& context, Subject& subject, const LargeForm& large) {
  const uint64_t value_bytes = static_cast<uint64_t>(large.elements) * large.element_bytes;
  constexpr uint64_t kMostValues = 4;
  const Result<BuiltCase> built = with_large_values(large.form, large.elements);
  if (!built || !partition(subject, built->image).is_whole_claim()) return false;
  const Compiled compiled = compile(subject, built->image);
  if (compiled.status != ETB_OK) return false;
  run_small(subject, large);
  Payload payload = compiled.payload;
  const size_t before = held_bytes();
  Result<std::unique_ptr<CaseSession>> made = CaseSession::make(subject, *built, std::move(payload));
  if (!made) return context.fail("create of a case with large values fails: " + made.error().message), true;
  if ((*made)->info().max_contexts < 2) return context.skip("a delegate has only one context"), true;
  (void)(*made)->run(built->runs[0]);
  const uint64_t of_both = growth_since(before), resident = (*made)->info().resident_bytes;
  Measured measured = measure_context(context, **made, *subject.table().delegate, built->runs[0]);
  if (!context.outcome().findings.empty()) return true;
  // Memory that contexts share counts for the first one that needs it.
  if (of_both > resident) measured.held = std::max(measured.held, of_both - resident);
  record(context, large.name, measured);
  if (measured.held > measured.reported + measured.reported / 4 + kSlackBytes)
    context.fail(fmt::format("{}: context_bytes is {}, one more context holds {} after a run", large.name,
                             measured.reported, measured.held));
  if (measured.reported > kMostTimesLess * (kMostValues * value_bytes + measured.held))
    context.fail(
        fmt::format("{}: context_bytes is {}, one more context holds {} after a run, and {} values "
                    "have {} bytes each",
                    large.name, measured.reported, measured.held, kMostValues, value_bytes));
  return true;
}

void context_bytes_are_enough(CheckContext& context) {
  bool has_any = false;
  for (const LargeForm& large : kLargeForms) {
    if (large.form == Large::kOneNode && has_any) continue;
    const auto subject =
        context.open(bare());  // one of its own: contexts may share what the first one needed
    if (!subject || subject->table().aot == nullptr) return;
    has_any = compare_context_bytes(context, *subject, large) || has_any;
    if (!context.outcome().findings.empty()) return;
  }
  if (!has_any) context.skip("the plugin claims no case with large values");
}

// Compares peak_bytes of the estimate with what a context holds after a run, beside one copy of each input and output. Returns
// false if the plugin does not claim the form or states no number.
bool compare_peak_bytes(CheckContext& context, Subject& subject, const LargeForm& large) {
  const Result<BuiltCase> built = with_large_values(large.form, large.elements);
  if (!built || !partition(subject, built->image).is_whole_claim()) return false;
  etb_estimate estimated{};
  context.progress().at("estimate of a graph with large values");
  if (estimate(subject, built->image, estimated) != ETB_OK || estimated.peak_bytes == 0) return false;
  const Compiled compiled = compile(subject, built->image);
  if (compiled.status != ETB_OK) return false;
  run_small(subject, large);
  const auto made = CaseSession::make(subject, *built, compiled.payload);
  if (!made) return context.fail("create of a case with large values fails: " + made.error().message), true;
  (void)(*made)->run(built->runs[0]);
  const Measured measured = measure_context(context, **made, *subject.table().delegate, built->runs[0]);
  const uint64_t copies = nbytes_of_runs(*built), held = measured.held + (*made)->info().scratch_bytes;
  record(context, large.name, {held, estimated.peak_bytes});
  constexpr double kMostTimes = 1.4;
  if (static_cast<double>(held) >
      static_cast<double>(copies + kSlackBytes) + kMostTimes * static_cast<double>(estimated.peak_bytes))
    context.fail(fmt::format(
        "{}: estimate states peak_bytes {}, a context holds {} after a run, and inputs and outputs have {}",
        large.name, estimated.peak_bytes, held, copies));
  return true;
}

void peak_bytes_are_enough(CheckContext& context) {
  bool has_any = false;
  for (const LargeForm& large : kLargeForms) {
    if (large.form == Large::kOneNode || large.form == Large::kConstant) continue;
    const auto subject = context.open(bare());
    if (!subject || subject->table().aot == nullptr) return;
    if ((subject->table().aot->caps & ETB_AOT_CAP_ESTIMATE) == 0)
      return context.skip("the plugin has no estimate");
    has_any = compare_peak_bytes(context, *subject, large) || has_any;
    if (!context.outcome().findings.empty()) return;
  }
  if (!has_any) context.skip("the plugin estimates the memory of no case with large values");
}

// A number that an artifact promises not to exceed; 0: unknown.
struct Bound {
  const char* name;
  uint64_t most;
  uint64_t etb_delegate_info::*fact;
};

// The artifact's bound is for planning; what the delegate says that it holds is not above it. Returns false if the artifact
// states no bound.
bool compare_bounds(CheckContext& context, Subject& subject, const std::string& name, const BuiltCase& built,
                    const Payload& payload) {
  const Bound bounds[] = {{"resident_bytes", payload.resident_bytes, &etb_delegate_info::resident_bytes},
                          {"scratch_bytes", payload.scratch_bytes, &etb_delegate_info::scratch_bytes}};
  if (bounds[0].most == 0 && bounds[1].most == 0) return false;
  const auto session = CaseSession::make(subject, built, payload);
  if (!session) return context.fail(name + ": create fails: " + session.error().message), true;
  (void)(*session)->run(built.runs[0]);
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  etb_error error = ETB_ERROR_INIT;
  if (subject.table().delegate->query((*session)->delegate(), &info, &error) != ETB_OK) return true;
  for (const Bound& bound : bounds)
    if (bound.most != 0 && info.*bound.fact > bound.most)
      context.fail(fmt::format("{}: the artifact bounds {} by {}, the delegate has {}", name, bound.name,
                               bound.most, info.*bound.fact));
  return true;
}

void artifacts_bound_delegates(CheckContext& context) {
  constexpr int64_t kRows[] = {24, 96, 300};
  const auto subject = context.open(bare());
  if (!subject) return;
  bool has_any = false;
  for (const char* pattern : {"model.*", "op.*_w*", "quant.*_w*", "op.convolution.*.large*"})
    for (const ClaimedCase& item : context.find_claimed_like(*subject, pattern, 16))
      has_any = compare_bounds(context, *subject, item.item->name, item.built, item.payload) || has_any;
  // Scratch grows with the sizes of values and windows.
  for (const ClaimedCase& item : context.find_claimed_of_ops(*subject, "op.*.large*", context.cases(40, 2)))
    has_any = compare_bounds(context, *subject, item.item->name, item.built, item.payload) || has_any;
  for (const ConstantUse use : kConstantUses)
    for (const int64_t rows : kRows) {
      const Result<BuiltCase> built = with_constant(use, rows, "bounded constant");
      if (!built || subject->table().aot == nullptr || !partition(*subject, built->image).is_whole_claim())
        continue;
      const Compiled compiled = compile(*subject, built->image);
      if (compiled.status == ETB_OK)
        has_any = compare_bounds(context, *subject, fmt::format("a constant of {} rows", rows), *built,
                                 compiled.payload) ||
                  has_any;
    }
  if (!has_any) context.skip("no artifact states resident_bytes or scratch_bytes");
}

constexpr Check kChecks[] = {
    {"info.artifacts-bound-delegates",
     "resident_bytes and scratch_bytes of an artifact are at least those that its delegate reports.", "",
     artifacts_bound_delegates},
    {"info.requirements-are-complete",
     "query_io reports each input, then each output, with a valid alignment, and the same after a run.",
     "ABI-SINK-03", requirements_are_complete},
    {"info.is-stable", "query reports the same facts after a run, and no absurd ones.", "ABI-EXEC-03",
     info_is_stable},
    {"info.resident-bytes", "resident_bytes is near the memory that a delegate with a large constant holds.",
     "", resident_bytes_are_true},
    {"info.context-bytes", "context_bytes is enough for what one more context holds after a run.", "",
     context_bytes_are_enough},
    {"info.peak-bytes", "peak_bytes of an estimate is enough for what a context holds after a run.", "",
     peak_bytes_are_enough},
};

}  // namespace

std::span<const Check> info_checks() { return kChecks; }

}  // namespace etb::conformance
