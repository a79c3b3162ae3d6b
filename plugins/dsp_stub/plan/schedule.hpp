// SPDX-License-Identifier: Apache-2.0
// Plans a network and emits its command stream.
#pragma once

#include "plugins/dsp_stub/plan/memory_plan.hpp"

namespace etb::dsp_stub {

// A planned network: the payload without its tensors' contents.
struct Schedule {
  std::vector<uint32_t> commands;
  uint32_t tcm_bytes = 0, arena_bytes = 0;
};

[[nodiscard]] Result<Schedule> schedule(Network& network, uint32_t tcm_bytes, bool has_layers);

}  // namespace etb::dsp_stub
