// SPDX-License-Identifier: Apache-2.0
// Judges the plugin's answers in one case: compares each promise with later answers, and outputs with the
// reference. Runs in a process without code of the plugin, and does not trust the facts.
#pragma once

#include "conformance/judge/contract.hpp"
#include "conformance/outcome/outcome.hpp"
#include "conformance/subject/case_facts.hpp"

namespace etb::conformance {

// Adds findings, claims and executions to an outcome that has its name.
void assess(const BuiltCase& built, const CaseFacts& facts, const PrecisionContract& contract, Outcome& out);

// Adds breaches as findings of the rule's group.
void add_breaches(const std::vector<Breach>& breaches, Outcome& out);

// Sets the state that follows from the findings, unless it is set already.
void conclude(Outcome& out);

// Finding for bytes from the plugin where only the suite writes.
inline constexpr const char* kTampering = "hyg.leaves-the-suite-alone";

}  // namespace etb::conformance
