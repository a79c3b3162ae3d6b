// SPDX-License-Identifier: Apache-2.0
// dyn: sizes beyond their bounds. Sizes within bounds are cases.
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
  const std::vector<ClaimedCase> items = context.claimed_like(*subject, "dyn.*.stat", 12);
  context.each_session(*subject, items, [&](ReadyCase& ready) {
    if (!is_all_dynamic(ready.item)) return;
    context.progress().at("sizes above the bound");
    const RunResult result = ready.session.run_damaged(ready.inputs(), Damage::kSize);
    if (result.status == ETB_OK)
      return context.fail(ready.name() + ": sizes above the bound run without an error");
    if (result.error.text[0] == '\0') context.fail(ready.name() + ": rejected with an empty error text");
    for (const TensorData& output : result.outputs)
      if (std::any_of(output.bytes.begin(), output.bytes.end(),
                      [](std::byte b) { return b != std::byte{0xa5}; }))
        return context.fail(ready.name() + ": rejected, but the output was written");
    if (const RunResult after = ready.run(); after.status != ETB_OK)
      context.fail(ready.name() + ": after a rejected run the context does not run any more");
  });
}

constexpr Check kChecks[] = {
    {"dyn.above-bound-is-rejected", "Sizes above their bound are an error, and outputs are not written.",
     "ABI-EXEC-01", above_bound_is_rejected},
};

}  // namespace

std::span<const Check> dyn_checks() { return kChecks; }

}  // namespace etb::conformance
