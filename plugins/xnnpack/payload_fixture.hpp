// For tests: parts of handmade payloads.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "api/format/xnnpack_payload.hpp"

namespace etb {

// Returns a float32 value, neither external nor constant.
inline format::XnnValue value_of(uint32_t id, std::vector<uint32_t> sizes) {
  format::XnnValue value;
  value.id = id;
  value.datatype = format::XnnDatatype::kFloat32;
  value.sizes = std::move(sizes);
  return value;
}

// Returns a node with one output and default numbers.
inline format::XnnNode node_of(format::XnnOperator op, std::initializer_list<uint32_t> inputs,
                               uint32_t output) {
  format::XnnNode node;
  node.op = op;
  for (const uint32_t id : inputs) node.inputs[node.input_count++] = id;
  node.outputs[node.output_count++] = output;
  return node;
}

}  // namespace etb
