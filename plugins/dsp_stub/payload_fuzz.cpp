// SPDX-License-Identifier: Apache-2.0
// Fuzzes payloads: any bytes must be rejected or run. Long runs are left out.
#include <memory>
#include <vector>

#include "plugins/dsp_stub/payload.hpp"

namespace etb::dsp_stub {
namespace {

constexpr uint64_t kMostCycles = 50000;
constexpr uint64_t kMostBytes = 1 << 20;

void run(std::span<const std::byte> bytes) {
  const auto view = read_payload(bytes);
  if (!view) return;
  const dsp_layout& layout = view->layout;
  uint64_t nbytes = layout.arena_bytes;
  for (uint32_t i = 0; i < layout.io_count; ++i) nbytes += layout.io_bytes[i];
  const uint64_t cycles = dsp_total_cycles(&view->stream);
  if (nbytes > kMostBytes || cycles > kMostCycles) return;
  // Each memory is its own allocation, so that a sanitizer sees its end.
  const auto tcm = std::make_unique<uint8_t[]>(layout.tcm_bytes),
             arena = std::make_unique<uint8_t[]>(layout.arena_bytes);
  std::vector<std::unique_ptr<uint8_t[]>> tensors;
  dsp_memories memories{};
  memories.tcm = tcm.get();
  memories.arena = arena.get();
  memories.constants = view->constants;
  memories.input_count = layout.input_count;
  for (uint32_t i = 0; i < layout.io_count; ++i) {
    tensors.push_back(std::make_unique<uint8_t[]>(layout.io_bytes[i]));
    if (i < layout.input_count)
      memories.inputs[i] = tensors.back().get();
    else
      memories.outputs[i - layout.input_count] = tensors.back().get();
  }
  dsp_clock clock;
  if (dsp_run(&view->stream, &memories, nullptr, &clock) != 0 || dsp_clock_end(&clock) != cycles)
    __builtin_trap();
}

}  // namespace
}  // namespace etb::dsp_stub

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  etb::dsp_stub::run(std::as_bytes(std::span(data, size)));
  return 0;
}
