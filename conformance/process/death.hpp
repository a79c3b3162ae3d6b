// SPDX-License-Identifier: Apache-2.0
// Maps the end of the plugin's process to findings.
#pragma once

#include "conformance/outcome/outcome.hpp"
#include "conformance/process/subject_link.hpp"

namespace etb::conformance {

// For a process that ended before it answered: adds state, reason and finding.
void add_death(LinkState state, SubjectLink& link, Outcome& out);

// For a process that ended after its last answer: adds findings about its remains.
void add_end(const GuardianReport& report, const SubjectLink& link, Outcome& out);

}  // namespace etb::conformance
