// SPDX-License-Identifier: Apache-2.0
// libFuzzer's custom mutator and crossover of payloads: change the graph that the bytes hold.
#include <cstring>

#include "plugins/gpu/graph/payload.hpp"
#include "plugins/gpu/testing/mutator/graph_mutator.hpp"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace etb::gpu {
namespace {

constexpr size_t kMostNodes = 48;

// Writes a graph if it has room, and returns its size; else 0.
size_t put(const GpuGraph& graph, uint8_t* to, size_t room) {
  if (graph.nodes.size() > kMostNodes) return 0;
  const std::vector<std::byte> bytes = write_payload(graph);
  if (bytes.size() > room) return 0;
  std::memcpy(to, bytes.data(), bytes.size());
  return bytes.size();
}

Result<GpuGraph> read(const uint8_t* data, size_t size) {
  return read_payload(std::as_bytes(std::span(data, size)));
}

}  // namespace
}  // namespace etb::gpu

// Changes bytes in one of sixteen calls. An empty input becomes a graph of one node.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using namespace etb::gpu;
  GraphMutator mutator(seed);
  auto graph = read(data, size);
  if ((!graph && size > 4) || mutator.random().one_in(16)) return LLVMFuzzerMutate(data, size, max_size);
  GpuGraph changed = graph ? *std::move(graph) : GpuGraph();
  size_t written = 0;
  for (uint32_t edits = 1 + mutator.random().below(4); edits > 0; --edits) {
    mutator.mutate(changed);
    written = put(changed, data, max_size);
    if (!read(data, written)) break;  // the mutator changes valid graphs only
  }
  return written != 0 ? written : LLVMFuzzerMutate(data, size, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data, size_t size, const uint8_t* other,
                                            size_t other_size, uint8_t* out, size_t max_size, unsigned seed) {
  using namespace etb::gpu;
  GraphMutator mutator(seed);
  auto graph = read(data, size);
  const auto second = read(other, other_size);
  if (!graph || !second) return 0;
  mutator.join(*graph, *second);
  return put(*graph, out, max_size);
}
