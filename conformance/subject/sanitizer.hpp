// SPDX-License-Identifier: Apache-2.0
// Sanitizers in this process: built in, or loaded for a plugin that was built with one.
#pragma once

#include <cstdint>
#include <string>

namespace etb::conformance {

// True if the run-time library of a sanitizer is in this process. It reserves terabytes of address space, slows
// code down, and counts memory itself.
bool has_sanitizer();

// Factor for time limits.
inline uint32_t time_scale() { return has_sanitizer() ? 10 : 1; }

// True if a library with this name is the run-time library of a sanitizer: "libasan.so.8".
bool is_sanitizer_library(const std::string& name);

// Returns a sanitizer's report in text that a process printed, from its first line on, or "".
std::string find_sanitizer_report(const std::string& printed);

}  // namespace etb::conformance
