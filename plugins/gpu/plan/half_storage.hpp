// SPDX-License-Identifier: Apache-2.0
// Values of float16 that a device has as numbers of 16 bits. Kernels widen such numbers to float32 when they read, and round to the
// nearest one when they write, as PyTorch does between nodes. Some functions of single elements are computed in float16.
#pragma once

#include "plugins/gpu/graph/graph.hpp"

namespace etb::gpu {

// Off: values of float16 are float32 on the device. On: kernels convert the bits of float16 themselves, and compute in float32.
// Arithmetic: they use the device's own numbers of float16, with the same results.
enum class HalfStorage : uint8_t { kOff, kOn, kArithmetic };

// Marks the values of a payload of our own that are float16 in the model. Steps, which no node of the model has, are float32, so that
// an operator rounds once; those that only move numbers have the bits of what they move. Returns true if there are any.
bool mark_halves(GpuGraph& graph, HalfStorage storage = HalfStorage::kOn);

// True if a function of single elements is computed in float16 in this plan: its operands, numbers and result are numbers of float16, and
// its result has the same bits as that of float32, rounded. Results of comparisons are 0 and 1, which may be float32.
bool computes_in_half(const GpuGraph& graph, const GpuNode& node);

}  // namespace etb::gpu
