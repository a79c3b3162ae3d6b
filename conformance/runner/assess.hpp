// Judges what the plugin answered in one case: every promise is held against the next answer, outputs against the reference. It runs where no code
// of the plugin runs, and distrusts the facts.
#pragma once

#include "conformance/judge/contract.hpp"
#include "conformance/runner/case_facts.hpp"
#include "conformance/runner/outcome.hpp"

namespace etb::conformance {

// Adds findings, and what was claimed and executed, to an outcome that has its name.
void assess(const BuiltCase& built, const CaseFacts& facts, const PrecisionContract& contract, Outcome& out);

// Breaches as findings of the group that their rule belongs to.
void add_breaches(const std::vector<Breach>& breaches, Outcome& out);

// The state that findings mean, unless it is set already.
void conclude(Outcome& out);

// Bytes that only a plugin could have written where only the suite writes.
inline constexpr const char* kTampering = "hyg.leaves-the-suite-alone";

}  // namespace etb::conformance
