// SPDX-License-Identifier: Apache-2.0
// Layers of an archive by quantisation: a model may mix float layers with static, dynamic and grouped ones.
#pragma once

#include <string>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::tools {

// A node with weights that are known ahead of time.
struct QuantisedLayer {
  std::string name;     // the module's path, "layer1.0.conv"; the result's name if the exporter wrote none
  std::string op;       // "aten.linear.default"
  std::string weights;  // "float32", "int8 per channel", "int4 in groups of 32"
  std::string input;  // "float32", "int8 per tensor, static", "int8 per token, dynamic"; "" for an embedding
  bool is_quantised = false;
};

// Returns the layers of all graphs in their order: products, convolutions and embeddings.
std::vector<QuantisedLayer> quantised_layers(const ir::Module& module);

}  // namespace etb::tools
