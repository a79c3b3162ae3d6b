// SPDX-License-Identifier: Apache-2.0
// The process that opened a device. A forked process has none of the driver's threads.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include "etb/cpp/result.hpp"

namespace etb::gpu {

class OpenedProcess {
 public:
  // Returns an error in a process that was forked after this object was made.
  [[nodiscard]] Status check() const {
    if (getpid() == process_) return {};
    return make_error(Code::UNAVAILABLE, "device opened before a fork, expected one opened by this process");
  }

 private:
  pid_t process_ = getpid();
};

}  // namespace etb::gpu
