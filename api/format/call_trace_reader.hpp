// SPDX-License-Identifier: Apache-2.0
// Reads call traces (.etbt): checks every length before it is used, and every record's digest.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "api/format/call_trace.hpp"
#include "api/format/digest.hpp"
#include "etb/cpp/result.hpp"

namespace etb::format {

// One call: its arguments, and its answers unless the process ended in it.
struct TracedCallRecord {
  TraceBegin begin;
  TraceEnd end;
  bool has_end = false;
  std::vector<TraceRead> reads;
  std::vector<TraceSignal> signals;  // none or one
};

struct CallTrace {
  TraceSource source;
  std::vector<TracedCallRecord> calls;            // in order of their begins
  std::vector<std::span<const std::byte>> blobs;  // into the file; blob 1 is the first
  std::vector<std::string> notes;                 // what the reader skipped, and why the file ends
  std::string stop_cause;                         // of the recorder, "" when it did not stop

  // Bytes of a blob; empty for 0.
  std::span<const std::byte> blob(BlobNumber number) const {
    return number == 0 ? std::span<const std::byte>() : blobs[number - 1];
  }
};

// Verifies and reads. The result points into `file`. A file that ends inside a record, as after a crash, is read up to
// there, with a note. Returns INVALID_DATA or INCOMPATIBLE with what was found and where.
[[nodiscard]] Result<CallTrace> read_call_trace(std::span<const std::byte> file);

// Bytes of a file at an aligned address.
class CallTraceFile {
 public:
  [[nodiscard]] static Result<CallTraceFile> open(const std::string& path);
  const CallTrace& trace() const noexcept { return trace_; }

 private:
  std::vector<std::max_align_t> words_;
  CallTrace trace_;
};

}  // namespace etb::format
