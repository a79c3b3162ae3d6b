// SPDX-License-Identifier: Apache-2.0
// Writes a method's graph in torch.export's serialisation, schema 5.4, as ExecuTorch stores it in its records.
#pragma once

#include <string>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::record {

// In the edge dialect. Dynamic sizes are written as those of the exporter's example. Subgraphs of control flow are
// included.
std::string edge_program_json(ir::Module& module);

// Likewise, with the operators of PyTorch: the graph before the edge dialect.
std::string exported_program_json(ir::Module& module);

}  // namespace etb::record
