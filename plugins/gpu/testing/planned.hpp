// SPDX-License-Identifier: Apache-2.0
// For fuzz targets: a graph that was read must be rejected or planned, and the plan must hold for other sizes.
#pragma once

#include "plugins/gpu/plan/execution_plan.hpp"

namespace etb::gpu {

// True if the dispatches have the bindings that memory and barriers were planned for.
inline bool has_bindings_of(const std::vector<Dispatch>& dispatches, const ExecutionPlan& plan) {
  if (dispatches.size() != plan.dispatches.size()) return false;
  for (size_t i = 0; i < dispatches.size(); ++i) {
    if (dispatches[i].bindings != plan.dispatches[i].bindings) return false;
    if (!plan.uses_kernel[index_of(dispatches[i].kernel)]) return false;
    if (dispatches[i].binding_count != kKernelBindings[index_of(dispatches[i].kernel)]) return false;
    for (uint32_t b = 0; b < dispatches[i].binding_count; ++b)
      if (plan.memory.locations[dispatches[i].bindings[b]].memory == Memory::kNone) return false;
  }
  return true;
}

// Ends the process if the plan of a graph, for its own sizes and for half of them, is not right. Returns the plan, if there is one.
inline Result<ExecutionPlan> check_plan(GpuGraph graph, KernelFamily family) {
  auto plan = make_execution_plan(std::move(graph), family);
  if (!plan) return plan;
  if (!has_bindings_of(plan->dispatches, *plan)) __builtin_trap();
  ShapeSolver solver(*plan);
  std::vector<Dispatch> dispatches;
  for (size_t i = 0; i < plan->graph.inputs.size(); ++i) {
    const Shape& bound = plan->bounds[plan->graph.inputs[i]];
    std::array<int64_t, kMaxRank> sizes{};
    for (uint32_t d = 0; d < bound.rank; ++d) sizes[d] = bound.sizes[d] / 2;
    if (!solver.set_input(i, {sizes.data(), bound.rank})) __builtin_trap();
  }
  if (!solver.solve()) return plan;
  make_dispatches(plan->graph, plan->fusions, plan->kernels, solver.shapes(), plan->aliases, dispatches);
  if (!has_bindings_of(dispatches, *plan)) __builtin_trap();
  return plan;
}

// Likewise for each family that fuses other nodes. Returns the plan of kRegisters.
inline Result<ExecutionPlan> check_plan(GpuGraph graph) {
  for (const KernelFamily family : {KernelFamily::kTiles, KernelFamily::kVectors})
    (void)check_plan(graph, family);
  return check_plan(std::move(graph), KernelFamily::kRegisters);
}

}  // namespace etb::gpu
