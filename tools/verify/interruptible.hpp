// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM end a piece of work, not the program: finished results are kept.
#pragma once

#include <signal.h>

#include <atomic>

namespace etb::tools {

// Becomes true after a signal during the life of an Interruptible.
const std::atomic<bool>& was_interrupted();

class Interruptible {
 public:
  enum class Repeated { kIgnored, kEndsProgram };  // what the second signal does
  explicit Interruptible(Repeated repeated = Repeated::kIgnored);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  struct sigaction old_int_, old_term_, old_hup_;
};

}  // namespace etb::tools
