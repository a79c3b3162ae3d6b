// SPDX-License-Identifier: Apache-2.0
// aot: the ahead-of-time functions beyond single cases: op table, ops to preserve, estimates, arguments of
// compile, debug maps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "api/ops/schema.hpp"
#include "conformance/cases/case_builder.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/large_constant.hpp"
#include "conformance/checks/large_values.hpp"
#include "conformance/checks/op_table.hpp"
#include "conformance/subject/monotonic_clock.hpp"

namespace etb::conformance {
namespace {

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
  // An op that stays whole needs a kernel, and the portable ones lack most of them.
  for (const std::string& name : names) {
    const auto row = subject->claimed_rows().lower_bound(name + " ");
    if (row == subject->claimed_rows().end() || !row->starts_with(name + " "))
      context.fail(fmt::format("preserve_ops lists '{}', which has no row in the op table", name));
  }
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

bool is_amount(double number) { return std::isfinite(number) && number >= 0; }

constexpr const char* kAmount = "expected a finite number, 0 or more";

// Returns what is wrong with an estimate, "" if nothing is.
std::string defect_of(const etb_estimate& e) {
  if (!is_amount(e.latency_ns)) return fmt::format("latency_ns is {}, {}", e.latency_ns, kAmount);
  if (!is_amount(e.energy_nj)) return fmt::format("energy_nj is {}, {}", e.energy_nj, kAmount);
  if (!(e.confidence >= 0 && e.confidence <= 1))
    return fmt::format("confidence is {}, expected 0 to 1", e.confidence);
  if (e.flags != 0) return fmt::format("flags is {:#x}, expected 0", e.flags);
  return "";
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
    if (const std::string defect = defect_of(found.estimate); !defect.empty())
      context.fail(fmt::format("estimate of {} of size {}: {}", op, size, defect));
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
    if (const std::string defect = defect_of(found); !defect.empty())
      return context.fail(fmt::format("estimate of {}: {}", item.item->name, defect));
    etb_estimate again{};
    (void)estimate(*subject, item.built.image, again);
    if (!is_equal(again, found)) return context.fail(item.item->name + ": a second estimate differs");
    is_any_known = is_any_known || !is_unknown(found);
  }
  if (has_any && !is_any_known) context.warn("the plugin offers estimate and estimates nothing");
}

// ---- costs of claims

// A cost of 0 is unknown.
bool expect_costs(CheckContext& context, const std::string& name, const Answers& answers) {
  if (answers.status == ETB_OK && !answers.error.empty()) {
    context.fail(fmt::format("{}: {}, {}", name, answers.error, kAmount));
    return false;
  }
  for (const auto& [node, cost] : answers.costs)
    if (!is_amount(cost)) {
      context.fail(fmt::format("{}: node {} is claimed with a cost_ns of {}, {}", name, node, cost, kAmount));
      return false;
    }
  return true;
}

void costs_are_sound(CheckContext& context) {
  constexpr double kMostTimes = 1000;
  const auto subject = open_aot(context, bare());
  if (!subject) return;
  const bool estimates = (subject->table().aot->caps & ETB_AOT_CAP_ESTIMATE) != 0;
  bool is_any_known = false;
  for (const char* op : {"aten.mm.default", "aten.add.Tensor", "aten.mul.Tensor", "aten.relu.default"}) {
    double smaller = 0;
    for (const int64_t size : {8, 64, 256}) {
      const Result<BuiltCase> built = sized_case(op, size);
      if (!built) continue;
      const Answers answers = partition(*subject, built->image);
      if (!answers.is_whole_claim()) continue;
      if (!expect_costs(context, fmt::format("{} of size {}", op, size), answers)) return;
      const double cost = answers.costs.size() == 1 ? answers.costs.begin()->second : 0;
      if (cost == 0) continue;
      is_any_known = true;
      if (cost < smaller)
        return context.fail(
            fmt::format("{} of size {} is claimed with a cost of {} ns, a smaller one with {} ns", op, size,
                        cost, smaller));
      smaller = cost;
      etb_estimate found{};
      if (!estimates || estimate(*subject, built->image, found) != ETB_OK || found.latency_ns == 0) continue;
      if (cost > kMostTimes * found.latency_ns || found.latency_ns > kMostTimes * cost)
        return context.fail(
            fmt::format("{} of size {} is claimed with a cost of {} ns and estimated at {} ns", op, size,
                        cost, found.latency_ns));
    }
  }
  // Any claim may state a cost.
  for (const ClaimedCase& item : context.find_claimed(*subject, 24)) {
    const Answers answers = partition(*subject, item.built.image);
    is_any_known = is_any_known || std::any_of(answers.costs.begin(), answers.costs.end(),
                                               [](const auto& cost) { return cost.second != 0; });
    if (!expect_costs(context, item.item->name, answers)) return;
  }
  if (!is_any_known) context.skip("the claims state no costs");
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
  for (const ConstantUse use : kConstantUses) {
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

// Ops whose run reads each element of its inputs and writes each of its outputs, in every dtype that is claimed.
void moved_bytes_include_tensors(CheckContext& context) {
  constexpr size_t kCases = 6;
  const auto subject = open_aot(context, bare());
  if (!subject) return;
  if ((subject->table().aot->caps & ETB_AOT_CAP_ESTIMATE) == 0)
    return context.skip("the plugin has no estimate");
  bool has_any = false;
  for (const char* pattern : {"op.relu.*", "op.neg.*", "op.abs.*", "op.exp.*", "op.sigmoid.*",
                              "op.add_tensor.*", "op.mul_tensor.*", "op.maximum.*", "op.mm.*", "op.bmm.*",
                              "quant.add_*", "quant.mul_*", "quant.linear.*", "quant.relu.*"})
    for (const char* dtype : {"f32", "f16", "i8", "*"})
      for (const ClaimedCase& item : context.find_claimed_like(
               *subject,
               fmt::format("{}{}.*", std::string_view(pattern).substr(0, std::strlen(pattern) - 1), dtype)
                   .c_str(),
               kCases)) {
        etb_estimate found{};
        if (estimate(*subject, item.built.image, found) != ETB_OK || found.moved_bytes == 0) continue;
        has_any = true;
        if (const uint64_t least = nbytes_of_runs(item.built); found.moved_bytes < least)
          return context.fail(
              fmt::format("{}: {} bytes are estimated to be moved, its inputs and outputs have {}",
                          item.item->name, found.moved_bytes, least));
      }
  if (!has_any) context.skip("the plugin estimates no moved bytes");
}

constexpr Check kChecks[] = {
    {"aot.costs-are-sound",
     "Costs of claims are finite, not negative, no smaller for larger sizes, and not far from estimates.", "",
     costs_are_sound},
    {"aot.moved-bytes-include-weights", "The moved bytes of an estimate count the weights that a run reads.",
     "", moved_bytes_include_weights},
    {"aot.moved-bytes-include-tensors",
     "The moved bytes of an estimate are at least those of the inputs and outputs of a run.", "",
     moved_bytes_include_tensors},
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
