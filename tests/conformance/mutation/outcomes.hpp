// SPDX-License-Identifier: Apache-2.0
// Outcomes of mutants as lines of JSON, and the page that is made from them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "tests/conformance/mutation/rules.hpp"

namespace etb::mutation {

enum class Build : uint8_t { kRuns, kFails, kSame };

// Processor time of the programs that one mutant needed.
struct Seconds {
  double compile = 0, link = 0, oracle = 0, cert = 0;
};

struct MutantOutcome {
  std::string target;
  Mutant mutant;
  std::string diff;
  Build build = Build::kFails;
  bool is_noticed_by_oracle = false, is_noticed_by_cert = false;
  bool has_cert = false;           // cert ran to its end or to a failure
  std::string by_oracle, by_cert;  // the sample, case or check that noticed
  std::string declined;            // a case that this plugin rejects and the unchanged one takes
  std::string circumstances;       // day, machine and suite of the last run of cert
  Seconds seconds;

  // A kernel failed in the oracle, and the plugin rejects the nodes that it cannot compute: it computes nothing wrong.
  bool is_declined() const {
    return build == Build::kRuns && !is_noticed_by_cert && !declined.empty() &&
           by_oracle.find(": status ") != std::string::npos;
  }
  bool is_survivor() const {
    return build == Build::kRuns && is_noticed_by_oracle && !is_noticed_by_cert && !is_declined();
  }
};

// By id; the last line of an id counts. A file that does not exist has none. A line that is cut off is left out.
std::map<std::string, MutantOutcome> read_outcomes(const std::string& path);
void append_outcome(const std::string& path, const MutantOutcome& outcome);

// Reads lines "ID reason": survivors that are right to survive.
std::map<std::string, std::string> read_reasons(const std::string& path);

struct PageInput {
  std::map<std::string, MutantOutcome> before, now;  // `before` may be empty
  std::map<std::string, std::string> reasons;
  std::string command;                     // made `now`
  std::map<std::string, size_t> possible;  // mutants by target
};
std::string make_page(const PageInput& input);

}  // namespace etb::mutation
