// SPDX-License-Identifier: Apache-2.0
// A run over mutants: selects, builds and judges them, and writes outcomes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "tests/conformance/mutation/target.hpp"

namespace etb::mutation {

struct CampaignOptions {
  std::string root, build, work, programs, samples, page, before, reasons, file, shard;
  std::string seed = "1";
  std::map<std::string, size_t> targets;  // name, and mutants of it; empty: all
  size_t sample = 0;                      // mutants of a target that names no number; 0: all
  double expected_score = -1;             // in percent; a lower score fails the run
  bool list = false, fresh = false, only_survivors = false, all_cert = false;
};

// Returns false if the score is lower than expected.
[[nodiscard]] Result<bool> run_campaign(const CampaignOptions& options);

}  // namespace etb::mutation
