// SPDX-License-Identifier: Apache-2.0
// A quantised graph in real numbers: what it would compute if its activations were not rounded to codes.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"
#include "tools/diff/metrics.hpp"

namespace etb::diff {

// Largest error of one rounding to codes that the graph no longer has: half a step.
struct RemovedRounding {
  uint32_t debug_handle = 0;  // of the node with the error, unique in the graph
  double half_step = 0;
};

// True for ops that round real numbers to codes, and for their inverse.
bool is_quantisation(std::string_view op);
bool is_dequantisation(std::string_view op);

enum class RemovalScope : uint8_t {
  kActivations,
  kWithWeights,  // dequantisations of constants stay, and return numbers that are up to half a step off
};

// Replaces each dequantisation of a quantisation in the main graph by a copy of the real number. Codes that come from
// outside or that are needed as codes stay. `find_value`: tensors known from a run, for scales.
std::vector<RemovedRounding> remove_quantisation(
    ir::Module& module, const std::function<const TensorData*(ir::ValueId)>& find_value, RemovalScope scope);

}  // namespace etb::diff
