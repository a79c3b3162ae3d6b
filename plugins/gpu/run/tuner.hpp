// SPDX-License-Identifier: Apache-2.0
// Replaces kernels of products and convolutions by those that the device runs fastest.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "plugins/gpu/run/context.hpp"
#include "plugins/gpu/run/tuned_kernels.hpp"

namespace etb::gpu {

enum class Tuning {
  kStored,    // by answers in the host's cache
  kMeasured,  // likewise; kernels without an answer are measured
};

// Returns the index of the fastest candidate of a trial, the first one unless another is faster by a tenth in each third of the
// rounds: the rule stays where the noise of the machine would decide.
[[nodiscard]] Result<size_t> find_fastest(GpuContext& context, const Trial& trial);

// Families to try on a device beside that of a plan. Not `groups` on processors: barriers cost them ten to thirty times the product, so
// trials would take most of a load.
template <class Device>
std::vector<KernelFamily> families_to_try(const Device& device, KernelFamily own) {
  std::vector<KernelFamily> families = {own, KernelFamily::kRegisters};
  if (device.has_groups() && !device.facts().is_cpu) families.push_back(KernelFamily::kGroups);
  return families;
}

// Measures candidates that the device can prepare. Returns nothing if a trial fails, for example for lack of memory; the rule then
// decides. A lost device is an error.
template <class Context, class State>
Result<std::optional<size_t>> measure_candidates(const State& state, const Host& host,
                                                 std::span<const KernelCandidate> candidates) {
  std::vector<KernelCandidate> ready;
  std::vector<size_t> indices;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!state.device->prepare(make_trial(state.plan, candidates.subspan(i, 1)).plan, host)) continue;
    ready.push_back(candidates[i]);
    indices.push_back(i);
  }
  if (indices.empty() || indices[0] != 0) return std::nullopt;
  const Trial trial = make_trial(state.plan, ready);
  Context context(state, trial.plan);
  const Result<size_t> fastest = find_fastest(context, trial);
  if (fastest) return std::optional(indices[*fastest]);
  if (state.device->is_lost()) return tl::make_unexpected(fastest.error());
  return std::nullopt;
}

// State: of a GpuDelegate, with a device and a plan whose kernels are not prepared yet.
template <class Context, class State>
Status tune_kernels(State& state, Tuning tuning, const Host& host) {
  const std::vector<KernelFamily> families = families_to_try(*state.device, state.plan.kernels.family);
  ExecutionPlan& plan = state.plan;
  TunedKernels tuned(host, state.device->facts());
  if (tuning == Tuning::kStored && !tuned.has_cache()) return {};
  uint32_t replaced = 0;
  std::vector<KernelChoice> choices(plan.graph.nodes.size(), {plan.kernels.family});
  for (uint32_t node = 0; node < choices.size(); ++node) {
    const std::vector<KernelCandidate> candidates = find_candidates(plan, node, families);
    if (candidates.size() < 2) continue;
    const format::Sha256 key = tuned.key_of(plan, node, candidates);
    std::optional<size_t> fastest = tuned.find(key, candidates);
    if (!fastest && tuning == Tuning::kMeasured) {
      ETB_ASSIGN(fastest, measure_candidates<Context>(state, host, candidates));
      if (fastest) tuned.put(key, candidates, *fastest);
    }
    if (!fastest) continue;
    choices[node] = candidates[*fastest].choice;
    if (*fastest != 0) ++replaced;
  }
  tuned.report(replaced);
  return choose_kernels(plan, std::move(choices));
}

}  // namespace etb::gpu
