// SPDX-License-Identifier: Apache-2.0
// Fuzzes payloads: any bytes must be rejected or planned, for every family of kernels. Constants of small plans are packed.
#include "plugins/gpu/graph/payload.hpp"
#include "plugins/gpu/testing/planned.hpp"
#include "plugins/gpu/testing/zero_data.hpp"

namespace etb::gpu {
namespace {

void run(std::span<const std::byte> bytes) {
  static const etb_named_data kZeros = zero_data();
  auto graph = read_payload(bytes);
  if (!graph && graph.error().message.empty()) __builtin_trap();
  if (!graph || graph->nodes.size() > 256) return;
  if (write_payload(*graph).size() != bytes.size()) __builtin_trap();
  if (const auto plan = check_plans(*graph)) check_constants(*plan, NamedData(&kZeros));
}

}  // namespace
}  // namespace etb::gpu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  etb::gpu::run(std::as_bytes(std::span(data, size)));
  return 0;
}
