// SPDX-License-Identifier: Apache-2.0
// For tests of the C API of applications: a toy plugin with options of each scope, linked in, and small programs.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "etb/registry.h"

namespace etb::host {

// Bytes on a 64-byte boundary, as etb_module_open_bytes wants them.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::span<const std::byte> bytes)
      : memory_(std::aligned_alloc(64, (bytes.size() + 64) / 64 * 64), &std::free), nbytes_(bytes.size()) {
    if (!bytes.empty()) std::memcpy(memory_.get(), bytes.data(), bytes.size());
  }
  etb_bytes view() const { return {memory_.get(), nbytes_}; }

 private:
  std::unique_ptr<void, void (*)(void*)> memory_{nullptr, &std::free};
  size_t nbytes_ = 0;
};

// Options of a registry with the toy alone. It serves "ToyBackend" and adds `gain` (an option of the plugin, 1)
// and `bias` (of a run, 0) to each element. Its device, "toy", has the option `share`.
etb_registry_options toy_registry_options();
const char* toy_plugin_id();
bool toy_device_was_shared();  // by the latest opening of the device

// Arguments of the latest run.
struct ToyRun {
  uint64_t run_id;
  uint32_t priority;
};
ToyRun latest_toy_run();

// Objects of the toy that this process made, and those that it has not ended.
struct ToyCounts {
  int delegates_made, delegates_alive, contexts_made, contexts_alive;
};
ToyCounts toy_counts();

// y = delegate(x) for vectors of 4 floats.
AlignedBytes toy_program(const std::string& backend_id = "ToyBackend");

// sum = delegate(x) + another delegate(x), of "ToyBackend", for vectors of 4 floats.
AlignedBytes two_branch_program();

// A program without inputs that never ends.
AlignedBytes endless_program();

}  // namespace etb::host
