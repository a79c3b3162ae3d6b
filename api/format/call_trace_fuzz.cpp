// SPDX-License-Identifier: Apache-2.0
// Fuzz target: every file that the reader accepts refers only to blobs and tensors that exist. Digests of records are
// corrected first, because random bytes never have the right ones.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "api/format/call_trace_reader.hpp"

namespace {

using etb::format::CallTrace;

// Writes the digest of each record's body into its head.
void correct_digests(std::vector<uint8_t>& file) {
  constexpr size_t kHeadNbytes = 16;
  for (size_t at = kHeadNbytes; file.size() - std::min(at, file.size()) >= kHeadNbytes;) {
    uint64_t nbytes = 0;
    std::memcpy(&nbytes, file.data() + at + 8, sizeof(nbytes));
    if (nbytes > file.size() - at - kHeadNbytes) return;
    const auto digest = etb::format::sha256(std::span(file).subspan(at + kHeadNbytes, nbytes));
    std::memcpy(file.data() + at + 4, digest.data(), sizeof(uint32_t));
    at += kHeadNbytes + (nbytes + 15) / 16 * 16;
  }
}

uint64_t touch(const CallTrace& trace, const std::vector<etb::format::TraceTensor>& tensors) {
  uint64_t sum = 0;
  for (const auto& tensor : tensors) {
    if (tensor.sizes.size() != tensor.rank || tensor.rank > 16) std::abort();
    for (const std::byte byte : trace.blob(tensor.data)) sum += static_cast<uint64_t>(byte);
  }
  return sum;
}

uint64_t touch(const CallTrace& trace) {
  uint64_t sum = 0;
  for (const auto& call : trace.calls) {
    sum += trace.blob(call.begin.payload).size() + touch(trace, call.begin.inputs) +
           touch(trace, call.begin.outputs) + touch(trace, call.end.outputs);
    for (const auto graph : call.begin.graphs) sum += trace.blob(graph).size();
    for (const auto& artifact : call.end.artifacts) sum += trace.blob(artifact.payload).size();
    for (const auto& named : call.end.named_blobs) sum += trace.blob(named.value).size();
    for (const auto& read : call.reads) sum += trace.blob(read.data).size();
    for (const auto& signal : call.signals) sum += touch(trace, signal.outputs) + touch(trace, signal.inputs);
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t nbytes) {
  volatile uint64_t sum = 0;
  if (const auto trace = etb::format::read_call_trace(std::as_bytes(std::span(data, nbytes))))
    sum = sum + touch(*trace);
  std::vector<uint8_t> corrected(data, data + nbytes);
  correct_digests(corrected);
  if (const auto trace = etb::format::read_call_trace(std::as_bytes(std::span(corrected))))
    sum = sum + touch(*trace);
  return 0;
}
