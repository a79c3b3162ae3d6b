// When each planned tensor of a method is in use: from the instruction that first names it to the one that last does.
#pragma once

#include <vector>

#include "api/format/program_view.hpp"

namespace etb::tools {

struct TensorLife {
  uint32_t value_index = 0;
  uint32_t memory_id = 0;
  uint64_t offset = 0;
  uint64_t nbytes = 0;
  uint32_t first = 0;  // instruction, counted over all chains
  uint32_t last = 0;   // the same; inputs begin at the first, outputs and initialised state reach the last
  bool is_io = false;
};

struct MemoryTimeline {
  uint32_t instruction_count = 0;
  std::vector<TensorLife> lives;
};

// Tensors that no instruction, input or output names are left out. A loop keeps what it uses alive from its start to its end.
MemoryTimeline trace_memory(const format::MethodView& method);

}  // namespace etb::tools
