// SPDX-License-Identifier: Apache-2.0
// Fuzzes payloads: any bytes must be rejected or planned. A plan must hold for its own sizes and for smaller ones.
#include "plugins/gpu/graph/payload.hpp"
#include "plugins/gpu/testing/planned.hpp"

namespace etb::gpu {
namespace {

void run(std::span<const std::byte> bytes) {
  auto graph = read_payload(bytes);
  if (!graph || graph->nodes.size() > 256) return;
  if (write_payload(*graph).size() != bytes.size()) __builtin_trap();
  (void)check_plan(*std::move(graph));
}

}  // namespace
}  // namespace etb::gpu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  etb::gpu::run(std::as_bytes(std::span(data, size)));
  return 0;
}
