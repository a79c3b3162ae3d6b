// SPDX-License-Identifier: Apache-2.0
// Dispatches: the kernels that compute the nodes of a graph for given sizes, with their arguments. The device half of a
// plugin only has to run them in order.
#pragma once

#include <array>
#include <bit>
#include <span>
#include <vector>

#include "etb/cpp/result.hpp"
#include "plugins/gpu/graph/graph.hpp"
#include "plugins/gpu/kernels/kernel.hpp"
#include "plugins/gpu/plan/fusions.hpp"
#include "plugins/gpu/plan/kernel_choice.hpp"

namespace etb::gpu {

inline constexpr uint32_t kMaxBindings = 6;
// Turns of all loops of an invocation. Lavapipe of Mesa 22.3 ends loops after 65,535 turns, and reports nothing.
inline constexpr uint64_t kMaxTurns = 65000;
inline constexpr uint32_t kMaxPushWords = 32;  // 128 bytes, which every Vulkan device has

struct Dispatch {
  Kernel kernel = Kernel::kCopy;
  uint32_t node = 0;     // index of the graph's node; of a fusion, the last one
  ChainCode chain = {};  // steps of a kernel for chains
  uint32_t binding_count = 0;
  std::array<uint32_t, kMaxBindings> bindings = {};  // values; the last one is written
  uint32_t halves = 0;                               // HALVES of kernel.glsl
  uint32_t push_count = 0;
  std::array<uint32_t, kMaxPushWords> push = {};
  uint64_t turns = 0;                  // of all loops of an invocation
  std::array<uint32_t, 3> items = {};  // invocations along x; workgroups along y and z. Any 0: nothing to do

  void bind(uint32_t value) { bindings[binding_count++] = value; }
  void add(uint32_t word) { push[push_count++] = word; }
  void add_int(int32_t word) { add(static_cast<uint32_t>(word)); }
  void add_float(float word) { add(std::bit_cast<uint32_t>(word)); }
  void set_linear(uint64_t count) { items = {static_cast<uint32_t>(count), 1, 1}; }
  uint32_t written() const { return bindings[binding_count - 1]; }
  KernelVariant variant() const { return {kernel, chain, halves}; }
};

// Sets the bindings that have float16, and if the kernel uses the device's own numbers of float16. Only kernels of kRegisters and
// kGroups read float16.
void set_halves(const GpuGraph& graph, Dispatch& dispatch);

// Replaces `out` by the dispatches of the graph for these sizes of all values. Their number and bindings are the same for
// all sizes, so memory and barriers are planned once; kernels and arguments may differ. Allocates nothing if `out` has room.
// `aliases[v]` is another value than v if v has no memory of its own (memory_plan.hpp). The nodes of a fusion have one dispatch.
void make_dispatches(const GpuGraph& graph, const Fusions& fusions, const KernelChoices& kernels,
                     std::span<const Shape> shapes, std::span<const uint32_t> aliases,
                     std::vector<Dispatch>& out);

// Adds the kernels that a node may need for any sizes.
void add_kernels(const GpuGraph& graph, KernelFamily family, const GpuNode& node,
                 std::span<bool, kKernelCount> kernels);
// Likewise for attention.
void add_kernels(const Attention& attention, KernelFamily family, std::span<bool, kKernelCount> kernels);

// Marks the dispatches that need a barrier before them: those that read what a dispatch after the last barrier writes, or
// write what one reads or writes. `overlap(a, b)`: true if the memory of two values overlaps.
template <class Overlap>
std::vector<bool> plan_barriers(std::span<const Dispatch> dispatches, Overlap overlap) {
  std::vector<bool> needs(dispatches.size(), false);
  size_t first = 0;  // after the last barrier
  for (size_t i = 0; i < dispatches.size(); ++i) {
    const Dispatch& later = dispatches[i];
    for (size_t j = first; j < i && !needs[i]; ++j) {
      const Dispatch& earlier = dispatches[j];
      for (uint32_t b = 0; b < later.binding_count; ++b)
        needs[i] = needs[i] || overlap(later.bindings[b], earlier.written());
      for (uint32_t b = 0; b + 1 < earlier.binding_count; ++b)
        needs[i] = needs[i] || overlap(later.written(), earlier.bindings[b]);
    }
    if (needs[i]) first = i;
  }
  return needs;
}

}  // namespace etb::gpu
