// SPDX-License-Identifier: Apache-2.0
// The partitioner's interface to a plugin, which may run in this process or in another one.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/format/graph_builder.hpp"
#include "partitioner_sdk/partition/answers.hpp"
#include "partitioner_sdk/partition/constant_keys.hpp"

namespace etb::partition {

// Bytes beside the payloads, once per key.
struct NamedBlob {
  std::string key;
  std::vector<std::byte> bytes;
  std::string constant_key;  // not empty: the bytes are those of this constant
  uint64_t alignment = 0;
  friend bool operator==(const NamedBlob&, const NamedBlob&) = default;
};

// Debug handles of the nodes for one name or id of the delegate's events.
struct DebugEntry {
  int64_t debug_id = -1;
  std::string name;
  std::vector<uint32_t> handles;
  friend bool operator==(const DebugEntry&, const DebugEntry&) = default;
};

// Estimated cost of one run of a region (etb_estimate); 0: unknown.
struct Estimate {
  double latency_ns = 0;
  double confidence = 0;  // 0 to 1
  uint64_t moved_bytes = 0;
  uint64_t peak_bytes = 0;
  double energy_nj = 0;
  friend bool operator==(const Estimate&, const Estimate&) = default;
};

// One compiled region (etb_artifact).
struct Artifact {
  std::vector<std::byte> payload;
  uint32_t format_version = 0;
  std::vector<std::string> named_keys;
  uint64_t scratch_bytes = 0;
  uint64_t resident_bytes = 0;
  std::vector<std::pair<std::string, std::string>> specs;
  std::vector<DebugEntry> debug_map;
  Estimate estimate;
  friend bool operator==(const Artifact&, const Artifact&) = default;
};

struct Compiled {
  std::vector<Artifact> artifacts;  // one per region
  std::vector<NamedBlob> blobs;
  friend bool operator==(const Compiled&, const Compiled&) = default;
};

class Compiler {
 public:
  virtual ~Compiler() = default;

  // Returns the name that the user passed, for messages and reports.
  const std::string& name() const { return name_; }
  // Returns the delegate id that the program will have.
  const std::string& backend_id() const { return backend_id_; }

  virtual Result<std::vector<std::string>> preserved_ops() = 0;
  virtual Result<Answers> partition(const graph::ImageBytes& method) = 0;
  // Compiles all regions of a program.
  virtual Result<Compiled> compile(std::span<const graph::ImageBytes* const> regions,
                                   const ConstantKeys& constants) = 0;

 protected:
  Compiler(std::string name, std::string backend_id)
      : name_(std::move(name)), backend_id_(std::move(backend_id)) {}

 private:
  std::string name_;
  std::string backend_id_;
};

}  // namespace etb::partition
