// SPDX-License-Identifier: Apache-2.0
// Tries a plugin in a child process: load, query, init, enumerate devices, list operators. A crash, a hang or
// an exit becomes an error.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "host/registry/loaded_plugin.hpp"
#include "host/registry/probed_ops.hpp"

namespace etb::host {

struct ProbedDevice {
  std::string kind;
  std::string name;
  std::string driver_version;
  std::string uuid;
  uint64_t memory_total_bytes = 0;  // 0: unknown
  uint64_t memory_free_bytes = 0;   // 0: unknown
  std::string fingerprint;          // hexadecimal
  std::string attributes;           // a JSON object, the attributes of target files
};

struct ProbeReport {
  std::vector<ProbedDevice> devices;
  // Without a device: the plugin's reason why it cannot open one, such as a missing driver, and the remedy.
  std::string no_device_reason;
  std::string no_device_hint;
  std::vector<std::string> libraries;  // paths of all objects that loading the plugin added to the process
  bool has_ops = false;                // the plugin compiles, and its op table was read
  std::vector<ProbedOp> ops;           // of that table
};

// Questions to a plugin that is loaded.
struct ProbeQuestions {
  bool devices = true;
  bool ops = false;
};

// An error's reason is an id of reason.def. Forks, see child_process.hpp.
[[nodiscard]] Result<ProbeReport> probe_plugin(const PluginEntry& entry, const LoadOptions& options,
                                               std::chrono::milliseconds deadline,
                                               const ProbeQuestions& questions = {});

}  // namespace etb::host
