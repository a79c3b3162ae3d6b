// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/interruptible.hpp"

namespace etb::tools {
namespace {

std::atomic<bool> interrupted{false};
void note_interrupt(int) { interrupted.store(true); }

}  // namespace

const std::atomic<bool>& was_interrupted() { return interrupted; }

Interruptible::Interruptible(Repeated repeated) {
  interrupted.store(false);
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  if (repeated == Repeated::kEndsProgram) action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, &old_int_);
  ::sigaction(SIGTERM, &action, &old_term_);
  ::sigaction(SIGHUP, &action, &old_hup_);
}

Interruptible::~Interruptible() {
  ::sigaction(SIGINT, &old_int_, nullptr);
  ::sigaction(SIGTERM, &old_term_, nullptr);
  ::sigaction(SIGHUP, &old_hup_, nullptr);
}

}  // namespace etb::tools
