// SPDX-License-Identifier: Apache-2.0
// Decides which buffers stay in the TCM from layer to layer, where every buffer is, and the working area of
// each layer.
#pragma once

#include "plugins/dsp_stub/plan/tiles.hpp"

namespace etb::dsp_stub {

struct LayerPlan {
  Tiles tiles;
  uint32_t work_offset = 0;  // in the TCM
};

struct MemoryPlan {
  std::vector<LayerPlan> layers;
  uint32_t tcm_bytes = 0, arena_bytes = 0;
};

// Checks that every layer has tiles even if no buffer stays in the TCM. Then any network of these layers has a plan.
[[nodiscard]] Status check_tiles(const Network& network, uint32_t tcm_bytes);

// Fills in residence and offsets of the inner buffers. An error names the layer that does not fit.
[[nodiscard]] Result<MemoryPlan> plan_memory(Network& network, uint32_t tcm_bytes);

}  // namespace etb::dsp_stub
