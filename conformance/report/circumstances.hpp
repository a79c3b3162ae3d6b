// SPDX-License-Identifier: Apache-2.0
// The circumstances of a run, for the head of a report.
#pragma once

#include <string>

namespace etb::conformance {

// Returns "AMD EPYC 7B13, 2 processors; Linux 6.1.0 x86_64; Debian GNU/Linux 12 (bookworm)".
std::string describe_host();

// Returns the SHA-256 of the suite version and the names of all cases and checks, in hex: two runs with equal
// digests had the same suite.
std::string suite_digest();

}  // namespace etb::conformance
