// What the end of the process that held the plugin means for an outcome.
#pragma once

#include "conformance/runner/outcome.hpp"
#include "conformance/runner/subject_link.hpp"

namespace etb::conformance {

// Of a process that ended before it answered: state, reason and finding.
void add_death(LinkState state, SubjectLink& link, Outcome& out);

// Of a process that ended after its last answer: findings about what it left behind.
void add_end(const GuardianReport& report, const SubjectLink& link, Outcome& out);

}  // namespace etb::conformance
