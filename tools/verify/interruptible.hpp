// Ctrl-C and SIGTERM end a run, not the program: what is done is kept.
#pragma once

#include <signal.h>

#include <atomic>

namespace etb::tools {

// Becomes true when a signal came since an Interruptible was made.
const std::atomic<bool>& was_interrupted();

class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  struct sigaction old_int_, old_term_, old_hup_;
};

}  // namespace etb::tools
