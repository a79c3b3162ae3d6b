// SPDX-License-Identifier: Apache-2.0
// The recorded facts of a compilation: images, constants, payloads, artifacts.
#pragma once

#include "host/layers/record/captures.hpp"

namespace etb::host::record {

// Passes an artifact sink's calls on and notes them.
class TeeArtifacts {
 public:
  TeeArtifacts(const etb_artifact_sink* to, CallTraceWriter& writer);
  TeeArtifacts(const TeeArtifacts&) = delete;
  TeeArtifacts& operator=(const TeeArtifacts&) = delete;
  const etb_artifact_sink* get() const { return to_ == nullptr ? nullptr : &sink_; }
  void finish(TraceEnd& end);

 private:
  etb_status begin(uint32_t graph_index, const etb_blob_writer** out);
  etb_status write(uint64_t offset, const void* data, uint64_t nbytes);
  etb_status add(const etb_named_blob* blob);
  etb_status finish_payload(const etb_artifact* artifact);

  const etb_artifact_sink* to_;
  CallTraceWriter& writer_;
  etb_artifact_sink sink_{};
  const etb_blob_writer* next_writer_ = nullptr;
  etb_blob_writer own_writer_{};
  std::vector<std::byte> payload_;
  std::vector<format::TraceArtifact> artifacts_;
  std::vector<format::TraceNamedBlob> named_;
};

// Passes reads of constants on and notes them, on any thread.
class TeeConstants {
 public:
  TeeConstants(const etb_constant_reader* to, uint64_t call_number, CallTraceWriter& writer);
  TeeConstants(const TeeConstants&) = delete;
  TeeConstants& operator=(const TeeConstants&) = delete;
  const etb_constant_reader* get() const { return to_ == nullptr ? nullptr : &own_; }

  // Reads what the plugin did not, so that another plugin can compile the same graphs.
  void read_rest(const std::vector<std::string>& keys);

 private:
  etb_status read(const char* key, etb_payload_view* out, etb_error* error, bool is_by_recorder);

  const etb_constant_reader* to_;
  uint64_t number_;
  CallTraceWriter& writer_;
  etb_constant_reader own_{};
  std::mutex mutex_;
  std::set<std::string> seen_;
};

template <>
struct Capture<calls::Compile> {
  Capture(Recorder& recorder, calls::Compile& call, TraceBegin& begin);
  void finish(TraceEnd& end, etb_status status);
  etb_compile_args args;
  std::vector<std::string> keys;
  TeeArtifacts artifacts;
  TeeConstants constants;
};

}  // namespace etb::host::record
