// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/plan/execution_plan.hpp"

#include <algorithm>
#include <string>

#include "plugins/gpu/graph/shapes.hpp"
#include "plugins/gpu/plan/product.hpp"

namespace etb::gpu {

namespace {

// Adds the kernels other than those of chains that a node may need for any sizes.
void add_kernels_of(const ExecutionPlan& plan, uint32_t node, std::span<bool, kKernelCount> kernels) {
  if (plan.fusions.has_own_kernel(node))
    add_kernels(plan.graph, plan.kernels.at(node).family, plan.graph.nodes[node], kernels);
  if (const Attention* const attention = plan.fusions.attentions.find(node); attention != nullptr)
    add_kernels(*attention, plan.kernels.family, kernels);
}

// Adds the kernels and variants that nodes, chains and products with residuals may need for any sizes. A node with a choice of
// kernels has one dispatch, whose bindings are the same for all of them.
void add_variants(ExecutionPlan& plan) {
  std::vector<KernelVariant>& kernels = plan.variants;
  std::vector<uint32_t> halves(plan.graph.nodes.size(), 0);  // by node
  for (const Dispatch& dispatch : plan.dispatches) {
    halves[dispatch.node] = dispatch.halves;
    kernels.push_back(dispatch.variant());
  }
  // Sizes of a run may let operands broadcast that do not for the bounds; not the only operand.
  for (const Chain& chain : plan.fusions.chains.chains)
    if (chain.operand_count > 1)
      kernels.push_back({Kernel::kChainBroadcast, chain.code, halves[chain.nodes.back()]});
  for (uint32_t i = 0; i < plan.graph.nodes.size(); ++i) {
    std::array<bool, kKernelCount> needed = {};
    add_kernels_of(plan, i, needed);
    const ChainCode code{{plan.fusions.residuals.find(i) != nullptr ? 1u : 0u}};
    for (uint32_t k = 0; k < kKernelCount; ++k)
      if (needed[k]) kernels.push_back({static_cast<Kernel>(k), code, halves[plan.fusions.computed_at(i)]});
  }
  for (const KernelVariant& each : kernels) {
    plan.uses_kernel[index_of(each.kernel)] = true;
    if (is_plain(each)) plan.uses_plain[index_of(each.kernel)] = true;
  }
  std::erase_if(kernels, is_plain);
  std::sort(kernels.begin(), kernels.end());
  kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
}

// Plans memory, dispatches and barriers of a plan with fusions.
Status schedule(ExecutionPlan& plan) {
  plan.uses_kernel = plan.uses_plain = {};
  plan.variants.clear();
  ETB_ASSIGN(plan.memory, plan_memory(plan.graph, plan.fusions, plan.bounds, plan.aliases, plan.constants,
                                      plan.alignment));
  make_dispatches(plan.graph, plan.fusions, plan.kernels, plan.bounds, plan.aliases, plan.dispatches);
  for (const Dispatch& dispatch : plan.dispatches) ETB_TRY(check_limits(dispatch));
  const auto& locations = plan.memory.locations;
  plan.needs_barrier = plan_barriers(std::span<const Dispatch>(plan.dispatches), [&](uint32_t a, uint32_t b) {
    return locations[a].overlaps(locations[b]);
  });
  add_variants(plan);
  return {};
}

}  // namespace

Status check_limits(const Dispatch& dispatch) {
  const uint32_t fixed = fixed_group_of(dispatch.kernel);
  const bool fits = is_linear(dispatch.kernel) ||
                    (dispatch.items[0] <= kMaxGroups * (fixed != 0 ? fixed : kLeastLocalSize) &&
                     dispatch.items[1] <= kMaxGroups && dispatch.items[2] <= kMaxGroups);
  const std::string name = kKernelNames[index_of(dispatch.kernel)];
  if (!fits)
    return make_error(Code::NOT_SUPPORTED, name + ": more workgroups than " + std::to_string(kMaxGroups));
  if (dispatch.turns > kMaxTurns)
    return make_error(Code::NOT_SUPPORTED, name + ": a loop of " + std::to_string(dispatch.turns) +
                                               " turns, expected at most " + std::to_string(kMaxTurns));
  return {};
}

Status check_ranges(const ExecutionPlan& plan, uint64_t max_range_bytes) {
  for (size_t i = 0; i < plan.memory.locations.size(); ++i) {
    if (const uint64_t nbytes = plan.memory.locations[i].nbytes; nbytes > max_range_bytes)
      return make_error(Code::NOT_SUPPORTED, "value " + std::to_string(i) + " of " + std::to_string(nbytes) +
                                                 " bytes, expected at most " +
                                                 std::to_string(max_range_bytes) +
                                                 ", the largest buffer that a kernel can read");
  }
  return {};
}

Result<ExecutionPlan> make_execution_plan(GpuGraph graph, KernelFamily family, uint64_t alignment,
                                          Fusion fusion, HalfStorage halves) {
  ExecutionPlan plan;
  plan.alignment = alignment;
  plan.graph = std::move(graph);
  std::vector<Shape> bounds;
  for (const GpuValue& value : plan.graph.values) bounds.push_back(value.shape);
  if (Status inferred = infer_shapes(plan.graph, bounds); !inferred) {
    inferred.error().code = Code::INVALID_DATA;
    return tl::make_unexpected(with_context(std::move(inferred).error(), "payload"));
  }
  const bool has_halves = mark_halves(plan.graph, halves);
  if (has_halves && family != KernelFamily::kGroups) family = KernelFamily::kRegisters;
  plan.kernels.family = family;
  plan.folds = fold_batch_norms(plan.graph);
  plan.constants = plan_packing(plan.graph, family, bounds);
  for (size_t i = bounds.size(); i < plan.graph.values.size(); ++i)
    bounds.push_back(plan.graph.values[i].shape);
  for (GpuNode& node : plan.graph.nodes) node.is_exact = is_exact_product(plan.graph, node, bounds);
  plan.bounds = std::move(bounds);
  plan.aliases = find_aliases(plan.graph);
  const bool attends = !has_halves && (fusion == Fusion::kAll || attends_by_default(family));
  if (fusion != Fusion::kOff) plan.fusions = find_fusions(plan.graph, plan.bounds, family, attends);
  ETB_TRY(schedule(plan));
  return plan;
}

Result<ExecutionPlan> without_fusions(ExecutionPlan plan) {
  plan.fusions = {};
  ETB_TRY(schedule(plan));
  return plan;
}

uint32_t find_user(const ExecutionPlan& plan, const KernelVariant& kernel) {
  for (const Dispatch& dispatch : plan.dispatches)
    if (dispatch.variant() == kernel) return dispatch.node;
  for (const Chain& chain : plan.fusions.chains.chains)
    if (is_chain(kernel.kernel) && chain.code == kernel.chain) return chain.nodes.back();
  const auto count = static_cast<uint32_t>(plan.graph.nodes.size());
  for (uint32_t i = 0; i < count; ++i) {
    std::array<bool, kKernelCount> kernels = {};
    add_kernels_of(plan, i, kernels);
    if (kernels[index_of(kernel.kernel)]) return i;
  }
  return count;
}

std::string name_of_node(const ExecutionPlan& plan, uint32_t node) {
  if (node >= plan.graph.nodes.size()) return "node " + std::to_string(node);
  const GpuNode& found = plan.graph.nodes[node];
  return event_name(found) + (found.debug_id < 0 ? "" : ", debug id " + std::to_string(found.debug_id));
}

Status choose_kernels(ExecutionPlan& plan, std::vector<KernelChoice> of_node) {
  plan.kernels.of_node = std::move(of_node);
  return schedule(plan);
}

Status ShapeSolver::set_input(size_t index, std::span<const int64_t> sizes) {
  const uint32_t id = plan_->graph.inputs[index];
  const Shape& bound = plan_->bounds[id];
  bool fits = sizes.size() == bound.rank;
  for (uint32_t d = 0; fits && d < bound.rank; ++d)
    fits = sizes[d] >= 0 && sizes[d] <= int64_t{bound.sizes[d]};
  if (!fits)
    return make_error(Code::INVALID_ARGUMENT,
                      "input " + std::to_string(index) + ": sizes beyond those it was compiled for");
  for (uint32_t d = 0; d < bound.rank; ++d) shapes_[id].sizes[d] = static_cast<uint32_t>(sizes[d]);
  return {};
}

Status ShapeSolver::solve() {
  ETB_TRY(infer_shapes(plan_->graph, shapes_));
  for (size_t i = 0; i < shapes_.size(); ++i) {
    // Sizes of a view may grow where others shrink, but never beyond the memory planned for them.
    if (shapes_[i].numel() > plan_->bounds[i].numel())
      return make_error(Code::INVALID_ARGUMENT,
                        "value " + std::to_string(i) + ": more elements than planned");
  }
  for (const Attention& attention : plan_->fusions.attentions.all)
    ETB_TRY(check_sizes(plan_->graph, attention, shapes_));
  for (const Residual& residual : plan_->fusions.residuals.all)
    ETB_TRY(check_sizes(plan_->graph, residual, shapes_));
  return {};
}

}  // namespace etb::gpu
