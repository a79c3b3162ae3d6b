// SPDX-License-Identifier: Apache-2.0
// Filters of system calls (seccomp) for a process and its descendants.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "etb/cpp/result.hpp"

// A sanitizer traces its own process, which a filter would end.
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define ETB_HAS_CALL_FILTER 1
#else
#define ETB_HAS_CALL_FILTER 0
#endif

namespace etb::conformance {

// Returns the beginning of a filter: it ends a process that calls with another architecture, and loads the number of the call.
std::vector<sock_filter> begin_call_filter();

// Installs a filter for this process and its descendants. It cannot be taken back.
[[nodiscard]] Status install_call_filter(std::vector<sock_filter> filter);

// Installs a filter with which system calls that open a file or make a socket fail with EACCES. Returns NOT_SUPPORTED where
// there is no filter.
[[nodiscard]] Status forbid_files_and_network();

}  // namespace etb::conformance
