// SPDX-License-Identifier: Apache-2.0
// Fuzz target: every file that the reader accepts refers only to blobs and tensors that exist.
#include <cstdlib>
#include <cstring>

#include "api/format/call_trace_reader.hpp"

namespace {

uint64_t touch(const etb::format::CallTrace& trace, const std::vector<etb::format::TraceTensor>& tensors) {
  uint64_t sum = 0;
  for (const auto& tensor : tensors) {
    if (tensor.sizes.size() != tensor.rank || tensor.rank > 16) std::abort();
    for (const std::byte byte : trace.blob(tensor.data)) sum += static_cast<uint64_t>(byte);
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t nbytes) {
  const auto trace = etb::format::read_call_trace(std::as_bytes(std::span(data, nbytes)));
  if (!trace) return 0;
  uint64_t sum = 0;
  for (const auto& call : trace->calls) {
    sum += trace->blob(call.begin.payload).size() + touch(*trace, call.begin.inputs) +
           touch(*trace, call.begin.outputs) + touch(*trace, call.end.outputs);
    for (const auto graph : call.begin.graphs) sum += trace->blob(graph).size();
    for (const auto& artifact : call.end.artifacts) sum += trace->blob(artifact.payload).size();
    for (const auto& named : call.end.named_blobs) sum += trace->blob(named.value).size();
    for (const auto& read : call.reads) sum += trace->blob(read.data).size();
    for (const auto& signal : call.signals) sum += touch(*trace, signal.outputs);
  }
  volatile uint64_t kept = sum;
  (void)kept;
  return 0;
}
