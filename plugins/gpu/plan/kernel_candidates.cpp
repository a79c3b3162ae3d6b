// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/plan/kernel_candidates.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "plugins/gpu/plan/node_dispatch.hpp"

namespace etb::gpu {

namespace {

constexpr Tile kTiles[] = {Tile::kBySizes, Tile::kWide, Tile::kNarrow, Tile::kThin};

// Returns the dispatch of a product or convolution for the largest sizes.
Dispatch dispatch_of(const ExecutionPlan& plan, uint32_t index, const KernelChoice& choice) {
  const GpuNode& node = plan.graph.nodes[index];
  std::vector<Dispatch> made;
  const NodeDispatch context{
      plan.graph, choice.family, node, plan.bounds, made, choice.tile, plan.fusions.residuals.find(index)};
  node.op == Operator::kMatmul ? dispatch_matmul(context) : dispatch_convolution(context);
  made.front().node = index;
  set_halves(plan.graph, made.front());
  return made.front();
}

bool has_work(const Dispatch& dispatch) {
  return std::all_of(dispatch.items.begin(), dispatch.items.end(), [](uint32_t count) { return count != 0; });
}

// Adds values to the plan of a trial.
class TrialValues {
 public:
  explicit TrialValues(const ExecutionPlan& source, ExecutionPlan& trial) : source_(source), trial_(trial) {
    trial_.graph.computes_halves = source_.graph.computes_halves;
    add({Memory::kTransfer, 0, 16}, 1);
    trial_.memory.transfer_bytes = 16;
  }

  // Returns the value of the trial for one of the source.
  uint32_t value_of(uint32_t id) {
    const auto [found, is_new] = values_.try_emplace(id, 0);
    if (!is_new) return found->second;
    uint64_t& end = trial_.memory.arena_bytes;
    const uint64_t offset = (end + trial_.alignment - 1) / trial_.alignment * trial_.alignment;
    const uint64_t nbytes = source_.memory.locations[id].nbytes;
    end = offset + nbytes;
    const bool is_half = source_.graph.value(id).is_half;
    found->second = add({Memory::kArena, offset, nbytes}, nbytes / (is_half ? 2 : sizeof(float)));
    trial_.graph.values[found->second].is_half = is_half;
    return found->second;
  }

 private:
  uint32_t add(const Location& location, uint64_t count) {
    GpuValue value;
    value.shape.rank = 1;
    value.shape.sizes[0] = static_cast<uint32_t>(count);
    trial_.memory.locations.push_back(location);
    trial_.bounds.push_back(value.shape);
    trial_.graph.values.push_back(std::move(value));
    return static_cast<uint32_t>(trial_.graph.values.size() - 1);
  }

  const ExecutionPlan& source_;
  ExecutionPlan& trial_;
  std::map<uint32_t, uint32_t> values_;  // of the trial, by value of the source
};

// Adds a dispatch that copies the zero to all elements of a value.
void add_fill(ExecutionPlan& plan, uint32_t value) {
  GpuNode node;
  node.op = Operator::kExpand;
  node.inputs = {0};
  node.output = value;
  dispatch_expand({plan.graph, plan.kernels.family, node, plan.bounds, plan.dispatches});
  set_halves(plan.graph, plan.dispatches.back());
}

}  // namespace

std::vector<KernelCandidate> find_candidates(const ExecutionPlan& plan, uint32_t node,
                                             std::span<const KernelFamily> families) {
  const Operator op = plan.graph.nodes[node].op;
  if (!plan.fusions.has_own_kernel(node) || (op != Operator::kMatmul && op != Operator::kConvolution))
    return {};
  std::vector<KernelCandidate> found;
  const auto add = [&](KernelFamily family, Tile tile) {
    const KernelChoice choice{family, tile, plan.bounds[plan.graph.nodes[node].output]};
    const Dispatch dispatch = dispatch_of(plan, node, choice);
    const bool is_known = std::any_of(found.begin(), found.end(), [&](const KernelCandidate& each) {
      return each.dispatch.kernel == dispatch.kernel;
    });
    if (!is_known && has_work(dispatch) && check_limits(dispatch)) found.push_back({choice, dispatch});
  };
  add(plan.kernels.family, Tile::kBySizes);
  if (found.empty()) return {};
  for (const KernelFamily family : families)
    for (const Tile tile : kTiles) add(family, tile);
  return found;
}

Trial make_trial(const ExecutionPlan& plan, std::span<const KernelCandidate> candidates) {
  Trial trial;
  ExecutionPlan& made = trial.plan;
  made.kernels.family = plan.kernels.family;
  made.alignment = plan.alignment;
  TrialValues values(plan, made);
  std::vector<Dispatch> runs;
  std::vector<uint32_t> operands;
  for (const KernelCandidate& candidate : candidates) {
    Dispatch run = candidate.dispatch;
    run.node = 0;
    for (uint32_t b = 0; b < run.binding_count; ++b) {
      run.bindings[b] = values.value_of(run.bindings[b]);
      if (b + 1 < run.binding_count) operands.push_back(run.bindings[b]);
    }
    runs.insert(runs.end(), Trial::kCopies, run);
  }
  std::sort(operands.begin(), operands.end());
  operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
  for (const uint32_t value : operands) add_fill(made, value);
  trial.fill_count = made.dispatches.size();
  trial.candidate_count = candidates.size();
  made.dispatches.insert(made.dispatches.end(), runs.begin(), runs.end());
  made.needs_barrier.assign(made.dispatches.size(), true);
  made.aliases.resize(made.graph.values.size());
  std::iota(made.aliases.begin(), made.aliases.end(), 0u);
  for (const Dispatch& dispatch : made.dispatches) {
    made.uses_kernel[index_of(dispatch.kernel)] = true;
    if (!is_plain(dispatch.variant())) made.variants.push_back(dispatch.variant());
    if (is_plain(dispatch.variant())) made.uses_plain[index_of(dispatch.kernel)] = true;
  }
  return trial;
}

}  // namespace etb::gpu
