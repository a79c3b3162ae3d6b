// The record of a compilation (.etrecord) that goes with a program: the edge graph of each method, and which of its nodes each
// instruction comes from. The official Inspector joins it with the events of a run.
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
  std::string edge_program;             // JSON; empty leaves it out
  std::vector<uint32_t> debug_handles;  // by instruction; 0: from no node
  std::vector<RecordedCall> delegate_calls;
};

// A method's graph as torch.export's serialisation of schema 5.4 has it, which ExecuTorch keeps in its records. Sizes known only
// at run time are written as those of the exporter's example. Control flow's graphs are inside.
std::string edge_program_json(ir::Module& module);

// Writes beside the file and renames.
[[nodiscard]] Status write_etrecord(const std::vector<RecordedMethod>& methods, const std::string& path);

}  // namespace etb::emit
