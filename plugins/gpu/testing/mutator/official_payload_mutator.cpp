// SPDX-License-Identifier: Apache-2.0
// libFuzzer's custom mutator and crossover of official payloads: change the values and calls that the bytes hold.
#include <cstring>

#include "plugins/gpu/testing/mutator/official_mutator.hpp"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace etb::gpu {
namespace {

constexpr size_t kMostCalls = 48, kMostValues = 512;

// Writes a graph if it has room, and returns its size; else 0.
size_t put(OfficialGraph& graph, bool is_repaired, uint8_t* to, size_t room) {
  if (graph.calls.size() > kMostCalls || graph.values.size() > kMostValues) return 0;
  const std::vector<std::byte> bytes = is_repaired ? repair(graph) : write_official(graph);
  if (bytes.size() > room) return 0;
  std::memcpy(to, bytes.data(), bytes.size());
  return bytes.size();
}

std::optional<OfficialGraph> decode(const uint8_t* data, size_t size) {
  return decode_official(std::as_bytes(std::span(data, size)));
}

}  // namespace
}  // namespace etb::gpu

// Changes bytes in one of sixteen calls. In one of eight, the declared sizes stay as they are, most likely wrong.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using namespace etb::gpu;
  OfficialMutator mutator(seed);
  auto graph = decode(data, size);
  if (!graph || mutator.random().one_in(16)) return LLVMFuzzerMutate(data, size, max_size);
  for (uint32_t edits = 1 + mutator.random().below(4); edits > 0; --edits) mutator.mutate(*graph);
  const size_t written = put(*graph, !mutator.random().one_in(8), data, max_size);
  return written != 0 ? written : LLVMFuzzerMutate(data, size, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data, size_t size, const uint8_t* other,
                                            size_t other_size, uint8_t* out, size_t max_size, unsigned seed) {
  using namespace etb::gpu;
  OfficialMutator mutator(seed);
  auto graph = decode(data, size);
  const auto second = decode(other, other_size);
  if (!graph || !second) return 0;
  mutator.join(*graph, *second);
  return put(*graph, true, out, max_size);
}
