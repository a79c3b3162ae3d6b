// SPDX-License-Identifier: Apache-2.0
// perf: warnings only. Times depend on the machine, so they fail no check.
#include <fmt/format.h>

#include "conformance/checks/groups.hpp"
#include "conformance/judge/reference.hpp"
#include "conformance/subject/monotonic_clock.hpp"
#include "host/portable_backend/graph_executor.hpp"

namespace etb::conformance {
namespace {

constexpr int kRuns = 50, kLeastRuns = 5;
constexpr uint64_t kMostNs = 500000000;  // for all runs of one kind
constexpr double kMostTimesSlower = 20;

template <class Body>
uint64_t best_ns(Body body) {
  uint64_t best = UINT64_MAX;
  const uint64_t first = monotonic_ns();
  for (int i = 0; i < kRuns && (i < kLeastRuns || monotonic_ns() - first < kMostNs); ++i) {
    const uint64_t begin = monotonic_ns();
    body();
    best = std::min(best, monotonic_ns() - begin);
  }
  return best;
}

// Returns a product, a long vector and a 4-d case, if the plugin claims them, else any claimed cases.
std::vector<ClaimedCase> timed_cases(CheckContext& context, Subject& subject) {
  std::vector<ClaimedCase> out;
  for (const char* pattern : {"op.*.48x512__512x48*", "op.*.65536.*", "op.*.2x3x5x6*"})
    for (ClaimedCase& item : context.find_claimed_like(subject, pattern)) out.push_back(std::move(item));
  return out.empty() ? context.claimed(subject, 3) : std::move(out);
}

void slowdown_is_limited(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  for (const ClaimedCase& item : timed_cases(context, *subject)) {
    const auto session = context.make_session(*subject, item);
    Result<host::GraphExecutor> portable =
        host::GraphExecutor::make(item.built.image.span(), reference_kernels());
    if (!session || !portable) return;
    const std::vector<TensorData>& inputs = item.built.runs[0];
    const uint64_t begin = monotonic_ns();
    (void)session->run(inputs);
    const uint64_t first = monotonic_ns() - begin;
    const uint64_t theirs = best_ns([&] { (void)session->run(inputs); });
    const uint64_t ours = best_ns([&] {
      for (uint32_t i = 0; i < portable->input_count(); ++i)
        (void)portable->set_input(i, inputs[i].shape.sizes, inputs[i].bytes.data(), inputs[i].bytes.size());
      (void)portable->run();
    });
    for (const auto& [what, ns] :
         {std::pair{"first_run_us", first}, std::pair{"steady_us", theirs}, std::pair{"portable_us", ours}})
      context.outcome().measured.emplace_back(item.item->name + "." + what, static_cast<double>(ns) / 1000);
    // Below this, the call costs more than its work, and a comparison means nothing.
    constexpr uint64_t kLeastNs = 20000;
    if (theirs > kLeastNs && static_cast<double>(theirs) > kMostTimesSlower * static_cast<double>(ours))
      context.warn(
          fmt::format("{}: {} us, the portable kernels {} us", item.item->name, theirs / 1000, ours / 1000));
  }
}

constexpr Check kChecks[] = {
    {"perf.slowdown-is-limited",
     "Cases take less than twenty times as long as the portable kernels; a warning otherwise. First "
     "run, later runs and the "
     "portable kernels are recorded.",
     "", slowdown_is_limited},
};

}  // namespace

std::span<const Check> perf_checks() { return kChecks; }

}  // namespace etb::conformance
