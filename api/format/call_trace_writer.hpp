// SPDX-License-Identifier: Apache-2.0
// CallTraceWriter: appends records to a call trace, so that the file is readable after a crash.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>

#include "api/format/call_trace.hpp"
#include "api/format/digest.hpp"
#include "api/format/output_file.hpp"
#include "etb/cpp/result.hpp"

namespace etb::format {

// Its functions are [any].
class CallTraceWriter {
 public:
  // Creates the file, and replaces an old one. Records beyond `max_nbytes` are not written: a STOP record says so.
  [[nodiscard]] static Result<std::unique_ptr<CallTraceWriter>> open(const std::string& path,
                                                                     uint64_t max_nbytes,
                                                                     const TraceSource& source);
  CallTraceWriter(const CallTraceWriter&) = delete;
  CallTraceWriter& operator=(const CallTraceWriter&) = delete;

  // Stores bytes once and returns their number; 0 when the file is full.
  BlobNumber add_blob(std::span<const std::byte> bytes);

  template <class Record>
  void add(TraceRecordKind kind, Record& record) {
    const std::vector<std::byte> body = to_body(record);
    const std::lock_guard lock(mutex_);
    write(kind, body);
  }

  // Returns the first error: a full disk, or the limit.
  [[nodiscard]] Status status() const;
  uint64_t nbytes() const;

 private:
  CallTraceWriter(OutputFile file, uint64_t max_nbytes) : file_(std::move(file)), max_nbytes_(max_nbytes) {}

  template <class Record>
  static std::vector<std::byte> to_body(Record& record);
  bool write(TraceRecordKind kind, std::span<const std::byte> body);
  bool append(TraceRecordKind kind, std::span<const std::byte> body);

  mutable std::mutex mutex_;
  OutputFile file_;
  uint64_t max_nbytes_;
  uint64_t nbytes_ = 0;
  std::map<Sha256, BlobNumber> blobs_;
  Status status_;
};

}  // namespace etb::format
