// SPDX-License-Identifier: Apache-2.0
// Everything about a payload that does not depend on the device or on the sizes of a run.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "plugins/gpu/plan/dispatch.hpp"
#include "plugins/gpu/plan/fold_batch_norm.hpp"
#include "plugins/gpu/plan/half_storage.hpp"
#include "plugins/gpu/plan/memory_plan.hpp"

namespace etb::gpu {

struct ExecutionPlan {
  KernelChoices kernels;
  uint64_t alignment = 1;     // of offsets of values
  GpuGraph graph;             // with a value for each packing
  std::vector<Shape> bounds;  // by value
  std::vector<uint32_t> aliases;
  std::vector<BatchNormFold> folds;
  std::vector<PackedConstant> constants;
  Fusions fusions;
  MemoryPlan memory;
  std::vector<Dispatch> dispatches;  // for the bounds
  std::vector<bool> needs_barrier;   // by dispatch
  // Kernels that the plan may need for any sizes; those of them that are needed as they are; and the variants.
  std::array<bool, kKernelCount> uses_kernel = {}, uses_plain = {};
  std::vector<KernelVariant> variants;
};

// On: chains of functions of single elements, and products with residuals, become one dispatch each, with the same bits as
// results; so does attention, whose sums have another order. On: not attention by the kernels of kGroups, which no GPU has measured.
enum class Fusion : uint8_t { kOff, kOn, kAll };

// Checks the limits that every device has.
[[nodiscard]] Status check_limits(const Dispatch& dispatch);

// Checks that kernels of a device can read each value as a buffer of at most so many bytes.
[[nodiscard]] Status check_ranges(const ExecutionPlan& plan, uint64_t max_range_bytes);

// Limits that every Vulkan device has; claims use them, because they have no device.
inline constexpr uint64_t kLeastRangeBytes = uint64_t{1} << 27;
inline constexpr uint64_t kMostOffsetAlignment = 256;
inline constexpr uint32_t kMaxGroups = 65535;   // workgroups along a dimension
inline constexpr uint32_t kLeastLocalSize = 8;  // invocations of a workgroup

// Checks a payload's graph and plans it. A plan of kRegisters suits every device, and is within the limits of the other
// families. `alignment`: of offsets of values, a power of two. The kernels of kTiles and kVectors have no float16: with it in
// memory, their plans are those of kRegisters.
[[nodiscard]] Result<ExecutionPlan> make_execution_plan(GpuGraph graph,
                                                        KernelFamily family = KernelFamily::kRegisters,
                                                        uint64_t alignment = kMostOffsetAlignment,
                                                        Fusion fusion = Fusion::kOn,
                                                        HalfStorage halves = HalfStorage::kOff);

// Returns the plan with a dispatch for each node. Constants are at the same locations.
[[nodiscard]] Result<ExecutionPlan> without_fusions(ExecutionPlan plan);

// Returns the first node that may need a kernel of the plan, for some sizes.
uint32_t find_user(const ExecutionPlan& plan, const KernelVariant& kernel);

// Name of a node for messages: its operator, the value it computes, and the exporter's id if it has one. Plans that measure kernels
// have no nodes.
std::string name_of_node(const ExecutionPlan& plan, uint32_t node);

// Replaces the kernels of nodes. Families must be those for which constants are packed alike: the plan's own, kRegisters and
// kGroups.
[[nodiscard]] Status choose_kernels(ExecutionPlan& plan, std::vector<KernelChoice> of_node);

// The sizes of values for given sizes of the inputs, in memory that is allocated once. The sizes must be within the bounds.
class ShapeSolver {
 public:
  explicit ShapeSolver(const ExecutionPlan& plan) : plan_(&plan), shapes_(plan.bounds) {}

  std::span<const Shape> shapes() const { return shapes_; }
  // Sets the sizes of input `index`.
  [[nodiscard]] Status set_input(size_t index, std::span<const int64_t> sizes);
  // Computes the sizes of the results.
  [[nodiscard]] Status solve();

 private:
  const ExecutionPlan* plan_;
  std::vector<Shape> shapes_;
};

}  // namespace etb::gpu
