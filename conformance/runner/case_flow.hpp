// One case in this process, without any isolation: observed and judged at once. For a debugger, and for checks.
#pragma once

#include "conformance/runner/assess.hpp"
#include "conformance/runner/progress.hpp"
#include "conformance/runner/subject.hpp"

namespace etb::conformance {

// An outcome with the words of the case, under its name with or without a round.
Outcome outcome_of(const Case& item, const std::string& name);
// An outcome of a case that could not be built.
Outcome outcome_of_unbuilt(const Case& item, const std::string& name, const Error& error);

Outcome run_case(Subject& subject, const Case& item, const std::string& name,
                 const PrecisionContract& contract, Progress& progress);

// The validate layer's violations, as findings of the group that the rule belongs to.
void add_violations(Subject& subject, Outcome& out);

}  // namespace etb::conformance
