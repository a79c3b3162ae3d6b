// What a child process is cut off from: the network.
#pragma once

#include "etb/cpp/result.hpp"

namespace etb::conformance {

// From now on this process has no network but a loopback device that is down. Only while it has one thread.
[[nodiscard]] Status leave_network();

// Whether a child could; found out by one that tries.
[[nodiscard]] Status can_leave_network();

}  // namespace etb::conformance
