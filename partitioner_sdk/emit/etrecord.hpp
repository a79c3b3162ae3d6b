// SPDX-License-Identifier: Apache-2.0
// The record of a compilation (.etrecord) for a program: the edge graph of each method, and the source node
// of each instruction. The official Inspector joins it with the events of a run.
#pragma once

#include <string>
#include <vector>

#include "partitioner_sdk/emit/method_emitter.hpp"

namespace etb::emit {

struct RecordedCall {
  uint32_t instruction_index = 0;
  std::string backend_id;
  std::vector<DebugName> debug_names;
};

struct RecordedMethod {
  std::string name;
  std::string edge_program;             // JSON; omitted if empty
  std::vector<uint32_t> debug_handles;  // by instruction; 0: not from a node
  std::vector<RecordedCall> delegate_calls;
};

// Returns a method's graph in torch.export's serialisation, schema 5.4, which ExecuTorch stores in its
// records. Dynamic sizes are written as those of the exporter's example. Subgraphs of control flow are
// included.
std::string edge_program_json(ir::Module& module);

// Writes a temporary file and renames it.
[[nodiscard]] Status write_etrecord(const std::vector<RecordedMethod>& methods, const std::string& path);

}  // namespace etb::emit
