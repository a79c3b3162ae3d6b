// SPDX-License-Identifier: Apache-2.0
// Kernels that can compute the same node, and a plan that runs them on scratch memory to compare their times.
#pragma once

#include <span>
#include <vector>

#include "plugins/gpu/plan/execution_plan.hpp"

namespace etb::gpu {

struct KernelCandidate {
  KernelChoice choice;
  Dispatch dispatch;  // for the largest sizes of the plan
};

// Returns the kernels of the families that can compute a product or convolution of the plan, each once. The first one is that of
// the plan's own family and rule. Empty for nodes of other operators, without elements, or inside of a fusion.
std::vector<KernelCandidate> find_candidates(const ExecutionPlan& plan, uint32_t node,
                                             std::span<const KernelFamily> families);

// Dispatches of a trial: those that fill the operands with zeros, then kCopies of each candidate.
struct Trial {
  static constexpr uint32_t kCopies = 8;
  ExecutionPlan plan;
  size_t fill_count = 0;
  size_t candidate_count = 0;

  size_t first_of(size_t candidate) const { return fill_count + candidate * kCopies; }
};

// Plans a trial of candidates of one node. Operands and result are in the arena. Value 0 is a zero that the host writes.
[[nodiscard]] Trial make_trial(const ExecutionPlan& plan, std::span<const KernelCandidate> candidates);

}  // namespace etb::gpu
