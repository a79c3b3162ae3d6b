// The groups of checks, one file each.
#pragma once

#include <span>

#include "conformance/checks/check.hpp"

namespace etb::conformance {

std::span<const Check> abi_checks();     // the library file and its tables
std::span<const Check> ver_checks();     // older and newer hosts
std::span<const Check> life_checks();    // objects and their order
std::span<const Check> cap_checks();     // what it says it can
std::span<const Check> dyn_checks();     // sizes beyond their bounds
std::span<const Check> mem_checks();     // whose memory is whose
std::span<const Check> hyg_checks();     // the process around it
std::span<const Check> leak_checks();    // what stays behind
std::span<const Check> conc_checks();    // several at once
std::span<const Check> det_checks();     // the same again
std::span<const Check> blob_checks();    // damaged payloads
std::span<const Check> opt_checks();     // options
std::span<const Check> err_checks();     // things going wrong
std::span<const Check> unload_checks();  // going away
std::span<const Check> prof_checks();    // events
std::span<const Check> perf_checks();    // warnings about speed

}  // namespace etb::conformance
