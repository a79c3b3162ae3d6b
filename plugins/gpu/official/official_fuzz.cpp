// SPDX-License-Identifier: Apache-2.0
// Fuzzes official payloads: any bytes must be rejected with a text or planned, for every family of kernels. Constants of small
// plans are packed.
#include "plugins/gpu/official/payload.hpp"
#include "plugins/gpu/testing/planned.hpp"
#include "plugins/gpu/testing/zero_data.hpp"

namespace etb::gpu {
namespace {

void run(std::span<const std::byte> bytes) {
  static const etb_named_data kZeros = zero_data();
  const NamedData data(&kZeros);
  const auto graph = read_official_payload(bytes, data);
  if (!graph && graph.error().message.empty()) __builtin_trap();
  if (!graph || graph->nodes.size() > 256) return;
  if (const auto plan = check_plans(*graph)) check_constants(*plan, data);
}

}  // namespace
}  // namespace etb::gpu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  etb::gpu::run(std::as_bytes(std::span(data, size)));
  return 0;
}
