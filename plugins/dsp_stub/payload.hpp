// SPDX-License-Identifier: Apache-2.0
// The payload: little-endian u32 header, inputs and outputs, constants, command stream. docs/dsp_stub.md has
// the layout. Reading verifies all of it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "plugins/dsp_stub/core/dsp_core.h"

namespace etb::dsp_stub {

inline constexpr uint32_t kPayloadMagic = 0x44425445;  // "ETBD"
// Version 1 has no layers: a run has one profiling event. Version 2 has int8 codes only, and no averages of codes.
inline constexpr uint32_t kOldestPayloadVersion = 1;
inline constexpr uint32_t kLayerPayloadVersion = 2;
inline constexpr uint32_t kWidePayloadVersion = 3;
inline constexpr uint32_t kPayloadVersion = kWidePayloadVersion;

// An input or output, stored row-major.
struct IoTensor {
  std::vector<int64_t> sizes = {};
  uint32_t width = 1;  // bytes of a code
};

struct PayloadParts {
  uint32_t version = kLayerPayloadVersion;
  uint32_t tcm_bytes = 0, arena_bytes = 0, layer_count = 0;
  std::vector<IoTensor> inputs = {}, outputs = {};
  std::vector<std::byte> constants = {};
  std::vector<uint32_t> commands = {};
};

// A payload that points to its bytes.
struct PayloadView {
  dsp_layout layout;
  dsp_stream stream;
  const uint8_t* constants;
  std::vector<IoTensor> inputs, outputs;
};

std::vector<std::byte> write_payload(const PayloadParts& parts);
[[nodiscard]] Result<PayloadView> read_payload(std::span<const std::byte> bytes);

}  // namespace etb::dsp_stub
