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

class KeptState {
 public:
  // Asks the delegates of a loaded method to keep such buffers. The method outlives its last run with the result, and nothing
  // but its instructions uses their memory. Buffers stay in memory of the host in methods with jumps, and where a delegate is
  // called twice.
  static KeptState keep(Method& method);

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
