// SPDX-License-Identifier: Apache-2.0
// Collects a plugin's compiled artifacts. Checks the call order that aot.h requires, and names violations.
#pragma once

#include <map>
#include <string>

#include "etb/aot.h"
#include "partitioner_sdk/partition/compiler.hpp"

namespace etb::partition {

class ArtifactCollector {
 public:
  ArtifactCollector(size_t region_count, const ConstantKeys& constants);
  ArtifactCollector(const ArtifactCollector&) = delete;
  ArtifactCollector& operator=(const ArtifactCollector&) = delete;

  const etb_artifact_sink& sink() const { return sink_; }
  // Returns the plugin's first error.
  const Status& failure() const { return failure_; }
  // Returns every region's artifact, or the plugin's error. Continuing after a rejected call is an error,
  // too.
  [[nodiscard]] Result<Compiled> finish();

 private:
  Status begin(uint32_t graph_index);
  Status write(uint64_t offset_bytes, const void* data, uint64_t nbytes);
  Status add_blob(const etb_named_blob* blob);
  Status end(const etb_artifact* artifact);
  Status take_specs(const etb_artifact& from, Artifact& to);
  Status take_debug_map(const etb_artifact& from, Artifact& to);
  etb_status note(Status status);

  size_t region_count_;
  const ConstantKeys& constants_;
  etb_artifact_sink sink_{};
  etb_blob_writer writer_{};
  Compiled compiled_;
  bool is_open_ = false;
  std::vector<std::byte> payload_;
  std::map<std::string, size_t, std::less<>> blob_numbers_;
  Status failure_;
};

}  // namespace etb::partition
