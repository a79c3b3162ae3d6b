// SPDX-License-Identifier: Apache-2.0
// Calls the plugin for one case, from claim to result, and records every answer. It does not judge: it runs
// in the process that holds the plugin.
//
//   partition, twice -> claimed: dry check, compile, create, execute twice with other garbage in the outputs
//                    -> rejected: dry check and compile, which must reject, too
#pragma once

#include "conformance/subject/case_facts.hpp"
#include "conformance/subject/progress.hpp"
#include "conformance/subject/subject.hpp"

namespace etb::conformance {

// Bytes in the outputs before the first and the second run of the same inputs.
inline constexpr uint8_t kFills[] = {0xa5, 0x3c};

CaseFacts observe_case(Subject& subject, const BuiltCase& built, Progress& progress);

// Returns the breaches that the validate layer saw since the last call.
std::vector<Breach> take_breaches(Subject& subject);

}  // namespace etb::conformance
