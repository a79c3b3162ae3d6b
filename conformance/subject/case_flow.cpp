// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/case_flow.hpp"

#include "conformance/subject/observe.hpp"

namespace etb::conformance {

Outcome outcome_of(const Case& item, const std::string& name) {
  Outcome out;
  out.name = name;
  out.op = item.op;
  out.dtype = short_name(item.dtype);
  return out;
}

Outcome outcome_of_unbuilt(const Case& item, const std::string& name, const Error& error) {
  Outcome out = outcome_of(item, name);
  out.findings.push_back({"suite.build", error.message, ""});
  conclude(out);
  return out;
}

Outcome run_case(Subject& subject, const Case& item, const std::string& name,
                 const PrecisionContract& contract, Progress& progress) {
  progress.at("build");
  const Result<BuiltCase> built = item.build(name);
  if (!built) return outcome_of_unbuilt(item, name, built.error());
  Outcome out = outcome_of(item, name);
  assess(*built, observe_case(subject, *built, progress), contract, out);
  return out;
}

void add_violations(Subject& subject, Outcome& out) { add_breaches(take_breaches(subject), out); }

void add_failed_end(Outcome& out) {
  const etb_status status = Subject::take_failed_end();
  if (status == ETB_OK || !out.findings.empty()) return;
  out.findings.push_back(
      {"life.plugin-ends",
       "deinit returns " + std::to_string(status) + " after all devices, delegates and contexts were ended",
       "ABI-LIFE-01"});
}

}  // namespace etb::conformance
