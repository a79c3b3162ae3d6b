// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/testing/planned.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "plugins/gpu/plan/kernel_candidates.hpp"
#include "plugins/gpu/run/constants.hpp"

namespace etb::gpu {

namespace {

// Ends the process. libFuzzer then stores the input.
void require(bool is_right, const char* what) {
  if (is_right) return;
  std::fprintf(stderr, "a plan is wrong: %s\n", what);
  __builtin_trap();
}

void check_bindings(std::span<const Dispatch> dispatches, const ExecutionPlan& plan) {
  require(dispatches.size() == plan.dispatches.size(), "another number of dispatches");
  for (size_t i = 0; i < dispatches.size(); ++i) {
    const Dispatch& dispatch = dispatches[i];
    require(dispatch.bindings == plan.dispatches[i].bindings, "other bindings");
    require(dispatch.binding_count == kKernelBindings[index_of(dispatch.kernel)],
            "bindings of another kernel");
    require(dispatch.push_count <= kMaxPushWords, "too many push constants");
    require(dispatch.halves == plan.dispatches[i].halves, "other bindings of float16");
    const KernelFamily family = family_of(dispatch.kernel);
    require(dispatch.halves == 0 || family == KernelFamily::kRegisters || family == KernelFamily::kGroups,
            "float16 for a kernel that cannot read it");
    const bool is_prepared = is_plain(dispatch.variant())
                                 ? plan.uses_plain[index_of(dispatch.kernel)]
                                 : std::ranges::binary_search(plan.variants, dispatch.variant());
    require(is_prepared, "a variant that was not prepared");
    for (uint32_t b = 0; b < dispatch.binding_count; ++b)
      require(plan.memory.locations[dispatch.bindings[b]].memory != Memory::kNone, "a value without memory");
  }
}

uint64_t total_bytes(const MemoryPlan& memory, Memory kind) {
  switch (kind) {
    case Memory::kTransfer:
      return memory.transfer_bytes;
    case Memory::kArena:
      return memory.arena_bytes;
    case Memory::kConstants:
      return memory.constant_bytes;
    case Memory::kNone:
      break;
  }
  return 0;
}

// Elements of a value for the largest sizes. Transposed keys are those before heads share them.
uint64_t element_count(const ExecutionPlan& plan, uint32_t value) {
  for (const Attention& attention : plan.fusions.attentions.all)
    if (attention.turns_k && attention.key_columns == plan.aliases[value])
      return plan.bounds[attention.k].numel();
  return plan.bounds[value].numel();
}

void check_locations(const ExecutionPlan& plan) {
  for (uint32_t i = 0; i < plan.graph.values.size(); ++i) {
    const Location& at = plan.memory.locations[i];
    if (at.memory == Memory::kNone) continue;
    const GpuValue& value = plan.graph.value(i);
    require(at.offset % plan.alignment == 0, "an offset that is not aligned");
    require(at.offset + at.nbytes <= total_bytes(plan.memory, at.memory), "a value outside of its memory");
    const bool has_elements = at.memory != Memory::kConstants && value.host != HostNumbers::kSize;
    require(!has_elements || at.nbytes >= element_count(plan, i) * element_nbytes(value),
            "a value with less memory than elements");
  }
}

// Follows the dispatches: by value without alias, the last dispatch that wrote it.
void check_lifetimes(const ExecutionPlan& plan) {
  constexpr size_t kNever = SIZE_MAX;
  std::vector<size_t> written(plan.graph.values.size(), kNever);
  const auto& locations = plan.memory.locations;
  for (size_t i = 0; i < plan.dispatches.size(); ++i) {
    const Dispatch& dispatch = plan.dispatches[i];
    const uint32_t made = plan.aliases[dispatch.written()];
    for (uint32_t b = 0; b + 1 < dispatch.binding_count; ++b) {
      const uint32_t read = plan.aliases[dispatch.bindings[b]];
      require(read == made || !locations[read].overlaps(locations[made]),
              "a dispatch that overwrites its operand");
      if (plan.graph.value(read).role != ValueRole::kResult) continue;
      require(written[read] != kNever || read == made, "a value that is read before it is written");
      if (written[read] == kNever) continue;
      for (uint32_t other = 0; other < written.size(); ++other)
        require(other == read || written[other] == kNever || written[other] < written[read] ||
                    !locations[other].overlaps(locations[read]),
                "a value that another one has replaced");
    }
    written[made] = i;
  }
}

}  // namespace

void check_memory(const ExecutionPlan& plan) {
  check_locations(plan);
  check_lifetimes(plan);
}

namespace {

void check_sizes(const ExecutionPlan& plan, const std::function<uint32_t(uint32_t)>& smaller) {
  ShapeSolver solver(plan);
  for (size_t i = 0; i < plan.graph.inputs.size(); ++i) {
    const Shape& bound = plan.bounds[plan.graph.inputs[i]];
    std::array<int64_t, kMaxRank> sizes{};
    for (uint32_t d = 0; d < bound.rank; ++d) sizes[d] = smaller(bound.sizes[d]);
    require(solver.set_input(i, {sizes.data(), bound.rank}).has_value(), "smaller sizes that are rejected");
  }
  if (!solver.solve()) return;
  std::vector<Dispatch> dispatches;
  make_dispatches(plan.graph, plan.fusions, plan.kernels, solver.shapes(), plan.aliases, dispatches);
  check_bindings(dispatches, plan);
  for (const Dispatch& dispatch : dispatches)
    if (const Status fits = check_limits(dispatch); !fits) require(false, fits.error().message.c_str());
}

void check_candidates(ExecutionPlan plan) {
  constexpr KernelFamily kFamilies[] = {KernelFamily::kRegisters, KernelFamily::kGroups};
  std::vector<KernelChoice> choices(plan.graph.nodes.size(), {plan.kernels.family});
  for (uint32_t node = 0; node < choices.size(); ++node) {
    const std::vector<KernelCandidate> found = find_candidates(plan, node, kFamilies);
    if (found.empty()) continue;
    const Trial trial = make_trial(plan, found);
    for (const Dispatch& dispatch : trial.plan.dispatches)
      for (uint32_t b = 0; b < dispatch.binding_count; ++b) {
        const Location& at = trial.plan.memory.locations[dispatch.bindings[b]];
        require(at.offset + at.nbytes <= total_bytes(trial.plan.memory, at.memory),
                "a trial outside of its memory");
      }
    choices[node] = found.back().choice;
  }
  if (!choose_kernels(plan, std::move(choices))) return;
  check_bindings(plan.dispatches, plan);
  check_memory(plan);
}

Result<ExecutionPlan> check_plan(const GpuGraph& graph, KernelFamily family, uint64_t alignment,
                                 Fusion fusion, HalfStorage halves = HalfStorage::kOff) {
  auto plan = make_execution_plan(graph, family, alignment, fusion, halves);
  if (!plan) {
    require(!plan.error().message.empty(), "an error without a text");
    return plan;
  }
  check_bindings(plan->dispatches, *plan);
  check_memory(*plan);
  check_sizes(*plan, [](uint32_t size) { return size / 2; });
  check_sizes(*plan, [](uint32_t size) { return size - std::min(size, 1u); });
  check_sizes(*plan, [](uint32_t size) { return std::min(size, 1u); });
  check_sizes(*plan, [](uint32_t) { return 0u; });
  (void)check_ranges(*plan, kLeastRangeBytes);
  return plan;
}

}  // namespace

Result<ExecutionPlan> check_plans(const GpuGraph& graph) {
  for (const KernelFamily family : {KernelFamily::kTiles, KernelFamily::kVectors, KernelFamily::kGroups}) {
    if (auto plan = check_plan(graph, family, 16, Fusion::kOn)) check_candidates(*std::move(plan));
    (void)check_plan(graph, family, 64, Fusion::kOff);
    for (const HalfStorage halves : {HalfStorage::kOn, HalfStorage::kArithmetic})
      if (auto plan = check_plan(graph, family, 16, Fusion::kOn, halves)) check_candidates(*std::move(plan));
  }
  (void)check_plan(graph, KernelFamily::kGroups, 16, Fusion::kAll);
  (void)check_plan(graph, KernelFamily::kRegisters, 64, Fusion::kOff);
  return check_plan(graph, KernelFamily::kRegisters, kMostOffsetAlignment, Fusion::kOn);
}

void check_constants(const ExecutionPlan& plan, const NamedData& data) {
  constexpr uint64_t kMost = 1 << 20;
  if (plan.memory.constant_bytes > kMost) return;
  const auto bytes = std::make_unique<std::byte[]>(plan.memory.constant_bytes);
  if (const Status written = write_constants(plan, data, bytes.get()); !written)
    require(!written.error().message.empty(), "an error without a text");
}

}  // namespace etb::gpu
