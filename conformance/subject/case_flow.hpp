// SPDX-License-Identifier: Apache-2.0
// Runs one case in this process without isolation: observes and judges it. For a debugger, and for checks.
#pragma once

#include "conformance/subject/assess.hpp"
#include "conformance/subject/progress.hpp"
#include "conformance/subject/subject.hpp"

namespace etb::conformance {

// Returns an outcome with the case's properties and this name, which may include a round.
Outcome outcome_of(const Case& item, const std::string& name);
// Returns the outcome of a case that could not be built.
Outcome outcome_of_unbuilt(const Case& item, const std::string& name, const Error& error);

Outcome run_case(Subject& subject, const Case& item, const std::string& name,
                 const PrecisionContract& contract, Progress& progress);

// Adds the validate layer's violations as findings of the rule's group.
void add_violations(Subject& subject, Outcome& out);

// Adds a finding if deinit failed when a subject was closed. Everything that was made from it had ended by then, so this
// holds only for an outcome without other findings.
void add_failed_end(Outcome& out);

}  // namespace etb::conformance
