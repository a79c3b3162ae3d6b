// SPDX-License-Identifier: Apache-2.0
// Lifetimes of a method's planned tensors: from the first instruction that names one to the last.
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
  uint32_t last = 0;   // as `first`; inputs begin at the first, outputs and initialised state end at the last
  bool is_io = false;
};

struct MemoryTimeline {
  uint32_t instruction_count = 0;
  std::vector<TensorLife> lives;
};

// Omits tensors that no instruction, input or output names. Tensors that a loop uses live from its start to
// its end.
MemoryTimeline trace_memory(const format::MethodView& method);

}  // namespace etb::tools
