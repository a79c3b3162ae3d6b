// SPDX-License-Identifier: Apache-2.0
// Keeps the attributes of the process while a driver starts or compiles.
#pragma once

#include <signal.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace etb::opencl {

// PoCL and its compiler install signal handlers and a signal stack, and set environment variables. The destructor sets all
// back. Without PATH, PoCL ends the process, because it does not find its linker: then PATH is set for so long.
// Not for runs: it needs some 20 microseconds.
class DriverScope {
 public:
  DriverScope();
  ~DriverScope();
  DriverScope(const DriverScope&) = delete;
  DriverScope& operator=(const DriverScope&) = delete;

 private:
  // A signal's action as the kernel stores it. The C library would set a flag of its own when an action is set back.
  using Action = std::array<std::byte, 64>;

  static constexpr int kSignals = 64;
  std::array<Action, kSignals + 1> actions_ = {};
  stack_t stack_ = {};
  std::vector<std::string> environment_;  // NAME=value
};

}  // namespace etb::opencl
