// SPDX-License-Identifier: Apache-2.0
// Keeps the attributes of the process while a driver starts or compiles.
#pragma once

#include <signal.h>

#include <array>
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
  std::array<struct sigaction, 65> handlers_ = {};
  std::array<bool, 65> has_handler_ = {};
  stack_t stack_ = {};
  std::vector<std::string> environment_;  // NAME=value
};

}  // namespace etb::opencl
