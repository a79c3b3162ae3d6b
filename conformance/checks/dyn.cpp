// dyn: sizes beyond what was compiled for. Sizes within it are cases.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

// Every input of the case has the dynamic dimension first.
bool is_all_dynamic(const ClaimedCase& item) {
  const auto& inputs = item.built.runs[0];
  return std::all_of(inputs.begin(), inputs.end(), [&](const TensorData& input) {
    return !input.shape.sizes.empty() && input.shape.sizes[0] == inputs[0].shape.sizes[0];
  });
}

// The layers would not let it through, so they are not there.
void above_bound_is_refused(CheckContext& context) {
  const auto subject = context.open({.is_validated = false});
  if (!subject) return;
  for (const ClaimedCase& item : context.claimed_like(*subject, "dyn.*.stat", 12)) {
    if (!is_all_dynamic(item)) continue;
    const auto session = context.make_session(*subject, item);
    if (!session) return;
    context.progress().at("sizes above the bound");
    const RunResult result = session->run_damaged(item.built.runs[0], Damage::kSize);
    if (result.status == ETB_OK)
      return context.fail(item.item->name + ": sizes above the bound ran without an error");
    if (result.error.text[0] == '\0') context.fail(item.item->name + ": refused without a text");
    for (const TensorData& output : result.outputs)
      if (std::any_of(output.bytes.begin(), output.bytes.end(),
                      [](std::byte b) { return b != std::byte{0xa5}; }))
        return context.fail(item.item->name + ": refused, and wrote into the output all the same");
    if (const RunResult after = session->run(item.built.runs[0]); after.status != ETB_OK)
      context.fail(item.item->name + ": after a refused run the context does not run any more");
  }
}

constexpr Check kChecks[] = {
    {"dyn.above-bound-is-refused", "Sizes above their bound are an error, and outputs stay untouched.",
     "ABI-EXEC-01", above_bound_is_refused},
};

}  // namespace

std::span<const Check> dyn_checks() { return kChecks; }

}  // namespace etb::conformance
