// SPDX-License-Identifier: Apache-2.0
// dyn: sizes beyond their bounds, and many runs of each op. Few runs with sizes within bounds are cases.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

// True if every input of the case has the dynamic dimension first.
bool is_all_dynamic(const ClaimedCase& item) {
  const auto& inputs = item.built.runs[0];
  return std::all_of(inputs.begin(), inputs.end(), [&](const TensorData& input) {
    return !input.shape.sizes.empty() && input.shape.sizes[0] == inputs[0].shape.sizes[0];
  });
}

// Runs without layers: they would reject the sizes first.
void above_bound_is_rejected(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::vector<ClaimedCase> items = context.find_claimed_of_ops(*subject, "dyn.*.stat", 12);
  if (items.empty()) return context.skip("the plugin claims no case with dynamic sizes");
  context.each_session(*subject, items, [&](ReadyCase& ready) {
    if (!is_all_dynamic(ready.item)) return;
    context.progress().at("sizes above the bound");
    const RunResult result = ready.session.run_damaged(ready.inputs(), Damage::kSize);
    if (result.status == ETB_OK)
      return context.fail(ready.name() + ": sizes above the bound run without an error");
    if (result.status != ETB_INVALID_ARGUMENT)
      return context.fail(
          fmt::format("{}: sizes above the bound are refused with {}, expected "
                      "ETB_INVALID_ARGUMENT",
                      ready.name(), result.status));
    if (result.error.text[0] == '\0') context.fail(ready.name() + ": rejected with an empty error text");
    for (const TensorData& output : result.outputs)
      if (std::any_of(output.bytes.begin(), output.bytes.end(),
                      [](std::byte b) { return b != std::byte{0xa5}; }))
        return context.fail(ready.name() + ": rejected, but the output was written");
    if (const RunResult after = ready.run(); after.status != ETB_OK)
      context.fail(ready.name() + ": after a rejected run the context does not run any more");
  });
}

// Sizes of inputs that do not fit together, each within its bounds: one is of another run. They are refused each time, not
// only the first, and then the right ones run.
void sizes_of_two_runs(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  bool has_any = false;
  const auto do_not_fit = [](const TensorData& a, const TensorData& b) {
    for (size_t d = 0; d < a.shape.sizes.size(); ++d)
      if (a.shape.sizes[d] != b.shape.sizes[d] && a.shape.sizes[d] > 1 && b.shape.sizes[d] > 1) return true;
    return false;
  };
  constexpr size_t kTried = 80;
  for (const char* pattern : {"dyn.add_tensor.*", "dyn.sub_tensor.*", "dyn.mul_tensor.*", "dyn.maximum.*"})
    for (ClaimedCase& item : context.find_claimed_like(*subject, pattern, kTried)) {
      const auto& runs = item.built.runs;
      if (runs[0].size() < 2 || runs[0][0].shape.sizes != runs[0][1].shape.sizes) continue;
      const auto session = context.make_session(*subject, item);
      if (!session) return;
      for (size_t k = 1; k < runs.size(); ++k) {
        std::vector<TensorData> mixed = runs[k];
        mixed[0] = runs[0][0];
        // Equal sizes in each run, and other ones in the other run.
        if (runs[k][0].shape.sizes != runs[k][1].shape.sizes || !do_not_fit(mixed[0], mixed[1])) continue;
        has_any = true;
        context.progress().restart();
        context.progress().at("sizes that do not fit together");
        (void)session->run(runs[k]);
        for (const char* time : {"the first time", "the second time"})
          if (const etb_status status = session->run(mixed).status; status != ETB_INVALID_ARGUMENT)
            return context.fail(
                fmt::format("{}: inputs whose sizes do not fit together return {} {}, expected "
                            "ETB_INVALID_ARGUMENT",
                            item.item->name, status, time));
        const RunResult after = session->run(runs[0]);
        if (after.status != ETB_OK || !context.is_right(item, after))
          return context.fail(item.item->name +
                              ": after sizes that do not fit together the right ones fail, or are wrong");
      }
    }
  if (!has_any) context.skip("the plugin claims no case of two inputs with dynamic sizes");
}

// Runs a case's inputs in turn, far past the hundredth run. The cases judge the first results of a context; later
// ones must be equal.
void expect_equal_runs(CheckContext& context, ReadyCase& ready) {
  constexpr size_t kRuns = 140;
  const std::vector<std::vector<TensorData>>& runs = ready.item.built.runs;
  std::vector<std::vector<TensorData>> first;
  context.progress().restart();
  context.progress().at("a run after many of other sizes");
  for (size_t i = 0; i < std::max(kRuns, 2 * runs.size()); ++i) {
    RunResult result = ready.session.run(runs[i % runs.size()]);
    if (result.status != ETB_OK)
      return context.fail(
          fmt::format("{}: run {} of a context fails: {}", ready.name(), i + 1, result.error.text));
    if (i < runs.size()) {
      first.push_back(std::move(result.outputs));
      continue;
    }
    if (!has_same_outputs(result.outputs, first[i % runs.size()]))
      return context.fail(
          fmt::format("{}: run {} of a context has another result than run {} with the same inputs",
                      ready.name(), i + 1, i % runs.size() + 1));
  }
}

// Sizes whose first run fails, because an output has no room. The next run has the same sizes and must compute them.
void sizes_after_failed_runs(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::vector<ClaimedCase> items =
      context.find_claimed_of_ops(*subject, "dyn.*", context.cases(1000, 12));
  if (items.empty()) return context.skip("the plugin claims no case with dynamic sizes");
  context.each_session(*subject, items, [&](ReadyCase& ready) {
    constexpr size_t kMostRuns = 4;
    const auto& runs = ready.item.built.runs;
    const auto other = context.make_session(ready.subject, ready.item);  // no run of it fails
    if (!other) return;
    for (size_t k = 0; k < std::min(runs.size(), kMostRuns); ++k) {
      context.progress().at("an output without room");
      (void)ready.session.run_damaged(runs[k], Damage::kCapacity);
      const RunResult after = ready.session.run(runs[k]);
      const RunResult right = other->run(runs[k]);
      if (right.status == ETB_OK &&
          (after.status != ETB_OK || !has_same_outputs(after.outputs, right.outputs)))
        return context.fail(fmt::format(
            "{}: after a run that failed, run {} of the same sizes fails or is wrong", ready.name(), k + 1));
    }
  });
}

void many_runs(CheckContext& context) {
  constexpr size_t kMostOps = 1000;
  constexpr double kRuns = 140;
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::vector<ClaimedCase> items =
      context.find_claimed_of_ops(*subject, "dyn.*", context.cases(kMostOps, kRuns));
  if (items.empty()) return context.skip("the plugin claims no case with dynamic sizes");
  context.each_session(*subject, items, [&](ReadyCase& ready) { expect_equal_runs(context, ready); });
}

constexpr Check kChecks[] = {
    {"dyn.above-bound-is-rejected", "Sizes above their bound are an error, and outputs are not written.",
     "ABI-EXEC-01", above_bound_is_rejected},
    {"dyn.sizes-of-two-runs",
     "Sizes that do not fit together are refused each time, and the context stays usable.", "ABI-EXEC-01",
     sizes_of_two_runs},
    {"dyn.sizes-after-failed-runs", "A run is right whose sizes are those of a run before that failed.",
     "ABI-EXEC-01", sizes_after_failed_runs},
    {"dyn.many-runs-of-each-op",
     "Each op that is claimed with dynamic sizes has equal results in its first run and after more than a "
     "hundred.",
     "ABI-EXEC-01", many_runs},
};

}  // namespace

std::span<const Check> dyn_checks() { return kChecks; }

}  // namespace etb::conformance
