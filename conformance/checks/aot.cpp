// SPDX-License-Identifier: Apache-2.0
// aot: the ahead-of-time functions beyond single cases: op table, ops to preserve, estimates, arguments of
// compile, debug maps.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <set>

#include "api/ops/schema.hpp"
#include "conformance/cases/case_builder.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/large_constant.hpp"
#include "conformance/checks/option_trial.hpp"
#include "conformance/subject/monotonic_clock.hpp"
#include "conformance/subject/node_rows.hpp"
#include "etb/cpp/graph_view.hpp"
#include "etb/cpp/tensor.hpp"
#include "host/layers/validate/call.hpp"

namespace etb::conformance {
namespace {

// Opens the plugin if it has ahead-of-time functions.
std::unique_ptr<Subject> open_aot(CheckContext& context, const SubjectOptions& options) {
  std::unique_ptr<Subject> subject = context.open(options);
  if (subject && subject->table().aot == nullptr) {
    context.skip("the plugin has no ahead-of-time functions");
    subject.reset();
  }
  return subject;
}

// One row of the op table, as a value.
struct OpFacts {
  std::string op;
  std::set<etb_dtype> dtypes;
  uint32_t min_rank = 0, max_rank = 0, layouts = 0, flags = 0;
  std::set<std::string> quant_schemes;
  std::string constraint;
  std::string defect;  // "" if there is none
};

std::string defect_of(const etb_op_capability& op) {
  if (op.op == nullptr || *op.op == '\0') return "an op without a name";
  const std::string name = op.op;
  // Vendors may list ops of their own namespaces.
  if (name.rfind("aten.", 0) == 0 && ops::find_schema(name) == nullptr)
    return "no op of ATen has this name and overload";
  if (op.dtype_count == 0 || op.dtypes == nullptr) return "no dtype";
  for (uint32_t i = 0; i < op.dtype_count; ++i)
    if (dtype_bits(op.dtypes[i]) == 0) return fmt::format("the unknown dtype {}", op.dtypes[i]);
  if (op.min_rank > op.max_rank || op.max_rank > ETB_MAX_RANK)
    return fmt::format("ranks {} to {}", op.min_rank, op.max_rank);
  constexpr uint32_t kLayouts = ETB_LAYOUT_CONTIGUOUS | ETB_LAYOUT_CHANNELS_LAST | ETB_LAYOUT_ANY;
  if (op.layouts == 0 || (op.layouts & ~kLayouts) != 0) return fmt::format("layouts {:#x}", op.layouts);
  if ((op.flags & ~ETB_OP_DYNAMIC_SIZES) != 0) return fmt::format("flags {:#x}", op.flags);
  if (op.constraint == nullptr || !host::validate::is_utf8(op.constraint))
    return "a constraint that is no text";
  for (uint32_t i = 0; i < op.quant_scheme_count; ++i)
    if (op.quant_schemes == nullptr || op.quant_schemes[i] == nullptr || *op.quant_schemes[i] == '\0')
      return "a quantisation scheme without a name";
  return "";
}

std::vector<OpFacts> op_rows_of(CheckContext& context, Subject& subject) {
  std::vector<OpFacts> out;
  const etb_op_sink sink = {ETB_INIT_SIZE(etb_op_sink), 0, &out, [](void* ctx, const etb_op_capability* op) {
                              OpFacts& facts = static_cast<std::vector<OpFacts>*>(ctx)->emplace_back();
                              facts.defect = defect_of(*op);
                              facts.op = op->op != nullptr ? op->op : "";
                              facts.min_rank = op->min_rank;
                              facts.max_rank = op->max_rank;
                              facts.layouts = op->layouts;
                              facts.flags = op->flags;
                              if (!facts.defect.empty()) return etb_status{ETB_OK};
                              facts.constraint = op->constraint;
                              facts.dtypes.insert(op->dtypes, op->dtypes + op->dtype_count);
                              for (uint32_t i = 0; i < op->quant_scheme_count; ++i)
                                facts.quant_schemes.insert(op->quant_schemes[i]);
                              return etb_status{ETB_OK};
                            }};
  etb_error error = ETB_ERROR_INIT;
  context.progress().at("op_table");
  if (const etb_status status = subject.table().aot->op_table(subject.handle(), &sink, &error);
      status != ETB_OK)
    context.fail(fmt::format("op_table returns {}: {}", status, error.text));
  return out;
}

template <class T>
bool have_common(const std::set<T>& a, const std::set<T>& b) {
  return std::any_of(a.begin(), a.end(), [&](const T& item) { return b.contains(item); });
}

// True if a tensor could be accepted by both rows.
bool overlap(const OpFacts& a, const OpFacts& b) {
  const bool are_float = a.quant_schemes.empty() && b.quant_schemes.empty();
  return a.op == b.op && have_common(a.dtypes, b.dtypes) && a.min_rank <= b.max_rank &&
         b.min_rank <= a.max_rank && (a.layouts & b.layouts) != 0 && a.flags == b.flags &&
         (are_float || have_common(a.quant_schemes, b.quant_schemes));
}

void op_rows_are_sound(CheckContext& context) {
  const auto subject = open_aot(context, bare());
  if (!subject) return;
  const std::vector<OpFacts> rows = op_rows_of(context, *subject);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].defect.empty())
      context.fail(fmt::format("row {} of the op table, '{}': {}", i, rows[i].op, rows[i].defect));
    for (size_t k = 0; k < i; ++k)
      if (rows[i].defect.empty() && overlap(rows[i], rows[k]))
        context.fail(fmt::format("rows {} and {} of the op table describe the same tensors for '{}'", k, i,
                                 rows[i].op));
    if (context.outcome().findings.size() > 3) return;
  }
}

// True if the row lists the node's first tensor operand.
bool covers(const OpFacts& row, const etb_graph_spec& spec) {
  return row.dtypes.contains(static_cast<etb_dtype>(spec.dtype)) && spec.rank >= row.min_rank &&
         spec.rank <= row.max_rank && (row.layouts & layouts_of(spec)) != 0 &&
         (spec.dynamic_dims == 0 || (row.flags & ETB_OP_DYNAMIC_SIZES) != 0);
}

// Returns the row that lists the only node of this image, or null if no row lists it. `out_is_asked` is false for
// images of several nodes and nodes without a tensor operand, which rows do not describe.
const OpFacts* find_row(const std::vector<OpFacts>& rows, const BuiltCase& built, bool& out_is_asked) {
  const auto view = graph::View::open(built.image.span());
  out_is_asked = false;
  if (!view || view->graph_count() != 1 || view->method().nodes().size() != 1) return nullptr;
  const graph::Node node = view->method().node(0);
  const auto operands = node.operands();
  if (operands.empty() || !operands[0].is_tensor()) return nullptr;
  out_is_asked = true;
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const OpFacts& row) {
    return row.op == node.op_name() && covers(row, operands[0].spec());
  });
  return found != rows.end() ? &*found : nullptr;
}

// Compares claims of single nodes with the rows: dtype, rank, layout and dynamic sizes.
void claims_are_listed(CheckContext& context) {
  constexpr size_t kStep = 11;
  const auto subject = open_aot(context, bare());
  if (!subject) return;
  const std::vector<OpFacts> rows = op_rows_of(context, *subject);
  const auto& cases = all_cases();
  for (size_t i = 0; i < cases.size(); i += kStep) {
    const Result<BuiltCase> built = cases[i].build(cases[i].name);
    if (!built) continue;
    bool is_asked = false;
    const OpFacts* const row = find_row(rows, *built, is_asked);
    if (is_asked && row == nullptr && partition(*subject, built->image).is_whole_claim())
      return context.fail(
          fmt::format("{} is claimed, but no row of the op table has this op with the dtype, rank, layout "
                      "and dynamic sizes of "
                      "its first operand",
                      cases[i].name));
  }
}

// Cases of one node whose first operand some row lists, by op and dtype.
struct CoveredCases {
  bool is_restricted = false;  // by the constraint of a row
  size_t rejected_count = 0;
  std::string example;  // the first rejected case, and the reason
  bool is_plain_claimed = false, is_claimed = false;
};

// Asks for a case if it is covered and if its answer still matters.
void ask(Subject& subject, const std::vector<OpFacts>& rows, const Case& item, bool is_plain,
         std::map<std::string, CoveredCases>& out) {
  const auto known = out.find(item.op + " " + short_name(item.dtype));
  if (!is_plain && (known == out.end() || known->second.is_claimed)) return;
  const Result<BuiltCase> built = item.build(item.name);
  if (!built) return;
  bool is_asked = false;
  const OpFacts* const row = find_row(rows, *built, is_asked);
  if (row == nullptr) return;
  CoveredCases& found = out[item.op + " " + short_name(item.dtype)];
  found.is_restricted = found.is_restricted || !row->constraint.empty();
  const Answers answers = partition(subject, built->image);
  if (answers.is_whole_claim()) {
    found.is_claimed = true;
    found.is_plain_claimed = found.is_plain_claimed || is_plain;
    return;
  }
  ++found.rejected_count;
  if (found.example.empty())
    found.example =
        item.name + ": " + (answers.reasons.empty() ? answers.error : answers.reasons.begin()->second);
}

// A plugin that lists an op and rejects its plain cases looks complete and runs nothing. A row without a constraint
// accepts all tensors that it describes.
void listed_ops_are_claimed(CheckContext& context) {
  // The rows are those of the plugin. For another delegate id it may claim fewer of them.
  const auto& manifest = context.spec().entry.manifest;
  if (manifest && !manifest->provides.empty() && manifest->provides.front().id != context.spec().backend_id)
    return context.skip("'" + context.spec().backend_id + "' is not the plugin's first delegate id");
  const auto subject = open_aot(context, bare());
  if (!subject) return;
  const std::vector<OpFacts> rows = op_rows_of(context, *subject);
  std::map<std::string, CoveredCases> cases;
  for (const Case* item : plain_cases()) ask(*subject, rows, *item, true, cases);
  for (auto at = cases.begin(); at != cases.end();)
    at = at->second.is_plain_claimed ? cases.erase(at) : std::next(at);
  if (!cases.empty())
    for (const Case& item : all_cases()) ask(*subject, rows, item, false, cases);
  std::string warned;
  for (const auto& [name, found] : cases) {
    if (found.is_restricted && found.is_claimed) continue;
    const std::string text = fmt::format(
        "{} is listed, and {} are rejected ({})", name,
        found.is_claimed ? "its plain cases" : fmt::format("all {} cases of it", found.rejected_count),
        found.example);
    if (!found.is_restricted && !found.is_claimed)
      context.fail(text);
    else
      warned += (warned.empty() ? "" : "; ") + text;
    if (context.outcome().findings.size() > 3) return;
  }
  if (!warned.empty() && context.outcome().findings.empty()) context.warn(warned);
}

void preserved_ops_are_known(CheckContext& context) {
  const auto subject = open_aot(context, bare());
  if (!subject) return;
  if ((subject->table().aot->caps & ETB_AOT_CAP_PRESERVE_OPS) == 0)
    return context.skip("the plugin preserves no ops");
  std::vector<std::string> names;
  const etb_text_sink sink = {
      ETB_INIT_SIZE(etb_text_sink), 0, &names, [](void* ctx, const char* text) {
        static_cast<std::vector<std::string>*>(ctx)->emplace_back(text != nullptr ? text : "");
        return etb_status{ETB_OK};
      }};
  etb_error error = ETB_ERROR_INIT;
  context.progress().at("preserve_ops");
  if (const etb_status status = subject->table().aot->preserve_ops(subject->handle(), &sink, &error);
      status != ETB_OK)
    return context.fail(fmt::format("preserve_ops returns {}: {}", status, error.text));
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) context.fail(fmt::format("preserve_ops lists '{}' twice", name));
    if (name.rfind("aten.", 0) == 0 && ops::find_schema(name) == nullptr)
      context.fail(fmt::format("preserve_ops lists '{}', which is no op of ATen", name));
    if (std::count(name.begin(), name.end(), '.') < 2)
      context.fail(fmt::format("preserve_ops lists '{}', expected namespace, name and overload", name));
  }
  if (names.empty()) context.warn("the plugin offers preserve_ops and lists no op");
}

// ---- estimate

// A sum of this many elements, or a product of these rows and columns.
Result<BuiltCase> sized_case(const char* op, int64_t size) {
  CaseBuilder builder("sized");
  const bool is_product = std::string_view(op) == "aten.mm.default";
  const Shape shape{ETB_DTYPE_FLOAT32,
                    is_product ? std::vector<int64_t>{size, size} : std::vector<int64_t>{size * size},
                    {}};
  std::vector<graph::ArgumentDesc> args = {graph::value_arg(builder.input(shape, Values::kExact), "self")};
  if (std::string_view(op) != "aten.relu.default")
    args.push_back(graph::value_arg(builder.input(shape, Values::kExact), is_product ? "mat2" : "other"));
  builder.output(builder.node(op, std::move(args), shape));
  return builder.finish({});
}

struct Estimated {
  int64_t size = 0;
  etb_estimate estimate{};
  BuiltCase built;
};

bool is_sound(const etb_estimate& e) {
  return std::isfinite(e.latency_ns) && e.latency_ns >= 0 && e.confidence >= 0 && e.confidence <= 1 &&
         std::isfinite(e.energy_nj) && e.energy_nj >= 0 && e.flags == 0;
}

bool is_unknown(const etb_estimate& e) {
  return e.latency_ns == 0 && e.moved_bytes == 0 && e.peak_bytes == 0 && e.energy_nj == 0;
}

// Returns the estimates of one op at growing sizes, as far as they are claimed.
std::vector<Estimated> estimates_of(CheckContext& context, Subject& subject, const char* op) {
  std::vector<Estimated> out;
  for (const int64_t size : {8, 64, 256}) {
    Result<BuiltCase> built = sized_case(op, size);
    if (!built || !partition(subject, built->image).is_whole_claim()) continue;
    Estimated& found = out.emplace_back(Estimated{size, {}, std::move(*built)});
    etb_estimate again{};
    context.progress().at("estimate");
    const etb_status status = estimate(subject, found.built.image, found.estimate);
    if (status != ETB_OK) {
      context.fail(fmt::format("estimate of a claimed {} returns {}", op, status));
      return {};
    }
    if (!is_sound(found.estimate))
      context.fail(fmt::format("estimate of {} of size {}: latency {} ns, confidence {}, energy {} nJ", op,
                               size, found.estimate.latency_ns, found.estimate.confidence,
                               found.estimate.energy_nj));
    (void)estimate(subject, found.built.image, again);
    if (!is_equal(again, found.estimate))
      context.fail(fmt::format("a second estimate of {} of size {} differs", op, size));
  }
  return out;
}

void warn_if_far_off(CheckContext& context, Subject& subject, const char* op, const Estimated& found) {
  constexpr double kMostTimes = 1000, kLeastNs = 20000;  // shorter runs measure the call
  const Compiled compiled = compile(subject, found.built.image);
  if (compiled.status != ETB_OK || found.estimate.latency_ns == 0) return;
  const auto session = CaseSession::make(subject, found.built, compiled.payload);
  if (!session) return;
  double best = 1e300;
  for (int i = 0; i < context.repeats(10); ++i) {
    const uint64_t begin = monotonic_ns();
    (void)(*session)->run(found.built.runs[0]);
    best = std::min(best, static_cast<double>(monotonic_ns() - begin));
  }
  context.outcome().measured.emplace_back(fmt::format("{}.estimated_us", op),
                                          found.estimate.latency_ns / 1000);
  context.outcome().measured.emplace_back(fmt::format("{}.measured_us", op), best / 1000);
  if (best > kLeastNs &&
      (best > kMostTimes * found.estimate.latency_ns || found.estimate.latency_ns > kMostTimes * best))
    context.warn(fmt::format("{} of size {}: estimated {} ns, measured {} ns", op, found.size,
                             found.estimate.latency_ns, best));
}

void estimates_are_sound(CheckContext& context) {
  const auto subject = open_aot(context, bare());
  if (!subject) return;
  if ((subject->table().aot->caps & ETB_AOT_CAP_ESTIMATE) == 0)
    return context.skip("the plugin has no estimate");
  bool has_any = false, is_any_known = false;
  for (const char* op : {"aten.mm.default", "aten.add.Tensor", "aten.mul.Tensor", "aten.relu.default"}) {
    const std::vector<Estimated> found = estimates_of(context, *subject, op);
    for (size_t i = 0; i < found.size(); ++i) {
      has_any = true;
      is_any_known = is_any_known || !is_unknown(found[i].estimate);
      const auto shrinks = [&](auto smaller, auto larger) { return larger != 0 && larger < smaller; };
      if (i != 0 && (shrinks(found[i - 1].estimate.latency_ns, found[i].estimate.latency_ns) ||
                     shrinks(found[i - 1].estimate.moved_bytes, found[i].estimate.moved_bytes)))
        context.fail(fmt::format("{} of size {} is estimated smaller than of size {}", op, found[i].size,
                                 found[i - 1].size));
    }
    if (found.size() > 1 && !is_unknown(found[0].estimate) &&
        is_equal(found[0].estimate, found.back().estimate))
      context.fail(
          fmt::format("{} of size {} has the estimate of size {}", op, found.back().size, found[0].size));
    if (!found.empty()) warn_if_far_off(context, *subject, op, found.back());
    if (!context.outcome().findings.empty()) return;
  }
  // Any claimed case must have an estimate.
  for (const ClaimedCase& item : context.find_claimed(*subject, 24)) {
    etb_estimate found{};
    has_any = true;
    if (const etb_status status = estimate(*subject, item.built.image, found); status != ETB_OK)
      return context.fail(fmt::format("estimate of the claimed {} returns {}", item.item->name, status));
    if (!is_sound(found)) return context.fail(item.item->name + ": the estimate is negative or not finite");
    etb_estimate again{};
    (void)estimate(*subject, item.built.image, again);
    if (!is_equal(again, found)) return context.fail(item.item->name + ": a second estimate differs");
    is_any_known = is_any_known || !is_unknown(found);
  }
  if (has_any && !is_any_known) context.warn("the plugin offers estimate and estimates nothing");
}

// A run reads its weights, so they count as moved. Packed weights may be smaller.
void moved_bytes_include_weights(CheckContext& context) {
  constexpr int64_t kRows = 512;
  constexpr uint64_t kLeast = kRows * kRows * sizeof(float) / 16;
  const auto subject = open_aot(context, bare());
  if (!subject) return;
  if ((subject->table().aot->caps & ETB_AOT_CAP_ESTIMATE) == 0)
    return context.skip("the plugin has no estimate");
  bool has_any = false;
  for (const ConstantUse use : {ConstantUse::kLinear, ConstantUse::kProduct}) {
    const Result<BuiltCase> built = with_constant(use, kRows, "estimate");
    etb_estimate found{};
    if (!built || !partition(*subject, built->image).is_whole_claim() ||
        estimate(*subject, built->image, found) != ETB_OK || found.moved_bytes == 0)
      continue;
    has_any = true;
    if (found.moved_bytes < kLeast)
      context.fail(
          fmt::format("{} bytes are estimated to be moved by a run that reads weights of {} x {} floats",
                      found.moved_bytes, kRows, kRows));
  }
  if (!has_any) context.skip("the plugin estimates no moved bytes of a layer with weights");
}

constexpr Check kChecks[] = {
    {"aot.moved-bytes-include-weights", "The moved bytes of an estimate count the weights that a run reads.",
     "", moved_bytes_include_weights},
    {"aot.op-rows-are-sound", "Rows of the op table name known ops, dtypes and layouts, and none twice.",
     "ABI-TYPE-03", op_rows_are_sound},
    {"aot.claims-are-listed", "A claimed node has a row with its op, dtype, rank, layout and dynamic sizes.",
     "", claims_are_listed},
    {"aot.listed-ops-are-claimed",
     "Of each op and dtype that a row lists without a constraint, some case is claimed; a warning if only "
     "the plain "
     "cases are rejected, or with a constraint all.",
     "", listed_ops_are_claimed},
    {"aot.preserved-ops-are-known", "preserve_ops lists known ops with their overloads, and none twice.", "",
     preserved_ops_are_known},
    {"aot.estimates-are-sound",
     "Estimates are finite, not negative, the same again, and not smaller for larger sizes; a warning if far "
     "from "
     "measured times.",
     "ABI-AOT-02", estimates_are_sound},
};

}  // namespace

std::span<const Check> aot_checks() { return kChecks; }

}  // namespace etb::conformance
