// SPDX-License-Identifier: Apache-2.0
// For fuzz targets: a graph that was read must be rejected or planned, and the plan must hold for other sizes.
#pragma once

#include "etb/cpp/payload.hpp"
#include "plugins/gpu/plan/execution_plan.hpp"

namespace etb::gpu {

// Ends the process if
// - a value is outside of its memory, or has less of it than elements;
// - a dispatch reads a value that no earlier one computed, or that another value has replaced.
void check_memory(const ExecutionPlan& plan);

// Plans a graph for each family of kernels, with and without fusions, and for offsets of several alignments. Ends the process if
// - the memory of a plan is wrong;
// - dispatches for smaller sizes have other bindings, or are beyond the limits of devices;
// - a kernel that can replace the one of a node does not fit the plan.
// Returns a plan of kRegisters, or why there is none.
[[nodiscard]] Result<ExecutionPlan> check_plans(const GpuGraph& graph);

// Packs the constants of a plan, if they are small, to memory without a byte more.
void check_constants(const ExecutionPlan& plan, const NamedData& data);

}  // namespace etb::gpu
