// SPDX-License-Identifier: Apache-2.0
// Nodes of a graph in a record: what an event of a run is joined to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "etb/cpp/result.hpp"
#include "partitioner_sdk/record/record.hpp"

namespace etb::record {

struct ModuleFrame {
  std::string key;   // "L__self___layer1_0_conv"
  std::string path;  // "layer1.0.conv"; "" for the model itself
  std::string type;  // "torch.nn.modules.conv.Conv2d"
};

struct RecordedNode {
  std::string name;  // "aten_convolution_default_1"
  std::string op;    // "aten.convolution.default"
  uint32_t debug_handle = 0;
  std::string stack_trace;  // as in the file; the innermost frame is the last
  std::string file;         // of the innermost frame outside PyTorch; "" without a trace
  uint32_t line = 0;
  std::string function;
  std::vector<ModuleFrame> modules;  // from the outermost to the innermost
};

// Reads the nodes of a graph, those of its subgraphs included, in the order of the file.
[[nodiscard]] Result<std::vector<RecordedNode>> read_nodes(const SavedProgram& program);

// "aten.add.Tensor" of "executorch.exir.dialects.edge.ops.aten.add.Tensor" and of "torch.ops.aten.add.Tensor".
std::string op_of_target(std::string_view target);

}  // namespace etb::record
