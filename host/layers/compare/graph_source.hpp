// SPDX-License-Identifier: Apache-2.0
// The graphs that payloads were compiled from, found in the call trace of a compilation.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/format/call_trace_reader.hpp"

namespace etb::host {

// The node that an output comes from.
struct OutputNode {
  std::string name;  // of the value
  std::string op;
  uint32_t debug_handle = 0;
  std::string source;  // "model.py:12", "" when unknown
};

struct SourceGraph {
  std::span<const std::byte> image;  // verified
  std::vector<OutputNode> outputs;   // results for the caller and updated inputs, as the image lists them
  std::map<std::string, std::span<const std::byte>> constants;
};

format::Sha256 payload_digest(std::span<const std::byte> bytes);

class GraphSource {
 public:
  [[nodiscard]] static Result<GraphSource> open(const std::string& path);

  // Returns the graph of a payload, or NULL. Regions with equal graphs may have equal payloads: `nth` counts from 0 the
  // delegates that were made of these bytes, in the order of the program, which is that of the compilation.
  const SourceGraph* find(const format::Sha256& payload, uint64_t nth) const;
  size_t size() const noexcept { return graphs_.size(); }

 private:
  std::unique_ptr<format::CallTraceFile> file_;
  std::map<format::Sha256, std::vector<SourceGraph>> graphs_;  // by digest of the payload
};

}  // namespace etb::host
