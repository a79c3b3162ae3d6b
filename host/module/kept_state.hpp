// SPDX-License-Identifier: Apache-2.0
// KeptState: mutable buffers of a method that only delegates of one device use, such as a key-value cache. They stay in the
// memory of the device between runs.
//
// A program reads such a buffer in a delegate's call, gets the new contents as an output, and copies it into the buffer with
// aten::copy_. Here that copy exchanges two buffers of the device. A run that ends before the copy leaves the old contents, as
// it does in memory of the host.
#pragma once

#include <memory>
#include <vector>

#include "host/runtime/method.hpp"

namespace etb::host {

// A buffer that may stay on a device, and the delegates that use it.
struct StateCandidate {
  uint32_t copy = 0;                // index of the instruction
  const std::byte* data = nullptr;  // of the buffer, in memory of the host
  uint64_t nbytes = 0;
  DeviceArguments* writer = nullptr;
  uint32_t argument = 0;  // output of the writer
  std::vector<DeviceArguments::Reader> readers, result_readers;
};

class KeptState {
 public:
  // Asks the delegates of a loaded method to keep such buffers. The method outlives its last run with the result, and nothing
  // but its instructions uses their memory. Buffers stay in memory of the host in methods with jumps, and where a delegate is
  // called twice.
  static KeptState keep(Method& method);

  // Finds those buffers. The result is valid until one of them is kept otherwise than by add().
  static std::vector<StateCandidate> find(Method& method);
  // Asks the delegates to keep one that find() returned, once. `*state`: the same buffer of another method, or NULL. Returns false
  // if it stays in memory of the host.
  bool add(Method& method, const StateCandidate& candidate, DeviceState** state);

  uint32_t count() const noexcept { return static_cast<uint32_t>(updates_.size()); }

 private:
  struct Update;
  struct UpdateDeleter {
    void operator()(Update* update) const noexcept;
  };
  static etb_status run_update(KernelContext& context, EValue** arguments);

  std::vector<std::unique_ptr<Update, UpdateDeleter>> updates_;
};

}  // namespace etb::host
