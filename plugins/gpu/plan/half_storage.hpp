// SPDX-License-Identifier: Apache-2.0
// Values of float16 that a device has as numbers of 16 bits. Kernels compute in float32: they widen such numbers when they read, and
// round to the nearest one when they write, as PyTorch does between nodes.
#pragma once

#include "plugins/gpu/graph/graph.hpp"

namespace etb::gpu {

// Off: values of float16 are float32 on the device.
enum class HalfStorage : bool { kOff, kOn };

// Marks the values of a payload of our own that are float16 in the model. Steps, which no node of the model has, are float32, so that
// an operator rounds once; those that only move numbers have the bits of what they move. Returns true if there are any.
bool mark_halves(GpuGraph& graph);

}  // namespace etb::gpu
