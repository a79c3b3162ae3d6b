// SPDX-License-Identifier: Apache-2.0
// The groups of checks, one file each.
#pragma once

#include <span>

#include "conformance/checks/check.hpp"

namespace etb::conformance {

std::span<const Check> abi_checks();     // the library file and its tables
std::span<const Check> ver_checks();     // older and newer hosts
std::span<const Check> life_checks();    // objects and their order
std::span<const Check> cap_checks();     // declared capabilities
std::span<const Check> dyn_checks();     // sizes beyond their bounds
std::span<const Check> mem_checks();     // ownership of memory
std::span<const Check> hyg_checks();     // effects on the process
std::span<const Check> leak_checks();    // leaks
std::span<const Check> conc_checks();    // concurrent use
std::span<const Check> det_checks();     // determinism
std::span<const Check> blob_checks();    // damaged payloads
std::span<const Check> opt_checks();     // options
std::span<const Check> err_checks();     // errors of the environment
std::span<const Check> unload_checks();  // unloading
std::span<const Check> prof_checks();    // events
std::span<const Check> perf_checks();    // warnings about speed

}  // namespace etb::conformance
