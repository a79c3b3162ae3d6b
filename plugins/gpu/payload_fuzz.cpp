// SPDX-License-Identifier: Apache-2.0
// Fuzzes payloads: any bytes must be rejected or planned. A plan must hold for its own sizes and for smaller ones.
#include "plugins/gpu/graph/payload.hpp"
#include "plugins/gpu/plan/execution_plan.hpp"

namespace etb::gpu {
namespace {

// True if the dispatches have the bindings that memory and barriers were planned for.
bool has_bindings_of(const std::vector<Dispatch>& dispatches, const ExecutionPlan& plan) {
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

void run(std::span<const std::byte> bytes) {
  auto graph = read_payload(bytes);
  if (!graph || graph->nodes.size() > 256) return;
  if (write_payload(*graph).size() != bytes.size()) __builtin_trap();
  const auto plan = make_execution_plan(*std::move(graph));
  if (!plan || !has_bindings_of(plan->dispatches, *plan)) {
    if (plan) __builtin_trap();
    return;
  }
  ShapeSolver solver(*plan);
  std::vector<Dispatch> dispatches;
  for (size_t i = 0; i < plan->graph.inputs.size(); ++i) {
    const Shape& bound = plan->bounds[plan->graph.inputs[i]];
    std::array<int64_t, kMaxRank> sizes{};
    for (uint32_t d = 0; d < bound.rank; ++d) sizes[d] = bound.sizes[d] / 2;
    if (!solver.set_input(i, {sizes.data(), bound.rank})) __builtin_trap();
  }
  if (!solver.solve()) return;
  make_dispatches(plan->graph, plan->family, solver.shapes(), plan->aliases, dispatches);
  if (!has_bindings_of(dispatches, *plan)) __builtin_trap();
}

}  // namespace
}  // namespace etb::gpu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  etb::gpu::run(std::as_bytes(std::span(data, size)));
  return 0;
}
