// One case from claim to result, every promise held against the next call:
//
//   partition, twice -> claimed: dry check, compile, create, execute twice with other garbage in the outputs, judge
//                    -> rejected: the reason counts, and dry check and compile must refuse, too
#pragma once

#include "conformance/cases/case.hpp"
#include "conformance/judge/contract.hpp"
#include "conformance/runner/outcome.hpp"
#include "conformance/runner/progress.hpp"
#include "conformance/runner/subject.hpp"

namespace etb::conformance {

// Under its name, with or without a round.
Outcome run_case(Subject& subject, const Case& item, const std::string& name,
                 const PrecisionContract& contract, Progress& progress);
// Of a case that is built already: replays, reduced graphs.
void run_built(Subject& subject, const BuiltCase& built, const PrecisionContract& contract,
               Progress& progress, Outcome& out);

// What the validate layer saw, as findings of the group that the rule belongs to.
void add_violations(Subject& subject, Outcome& out);

// The state that findings mean, unless it is set already.
void conclude(Outcome& out);

}  // namespace etb::conformance
