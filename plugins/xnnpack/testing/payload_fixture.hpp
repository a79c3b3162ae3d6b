// SPDX-License-Identifier: Apache-2.0
// For tests: parts of handmade payloads.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "plugins/xnnpack/payload/payload.hpp"

namespace etb::xnnpack {

// Returns a float32 value, neither external nor constant.
inline XnnValue value_of(uint32_t id, std::vector<uint32_t> sizes) {
  XnnValue value;
  value.id = id;
  value.datatype = XnnDatatype::kFloat32;
  value.sizes = std::move(sizes);
  return value;
}

// Returns a node with one output and default numbers.
inline XnnNode node_of(XnnOperator op, std::initializer_list<uint32_t> inputs, uint32_t output) {
  XnnNode node;
  node.op = op;
  for (const uint32_t id : inputs) node.inputs[node.input_count++] = id;
  node.outputs[node.output_count++] = output;
  return node;
}

}  // namespace etb::xnnpack
