// SPDX-License-Identifier: Apache-2.0
// All runs of a case on one context.
#pragma once

#include <fmt/format.h>

#include <string>

#include "conformance/checks/check.hpp"

namespace etb::conformance {

// Makes the runs of a case in turn. Returns a text if one fails or is wrong.
inline std::string make_all_runs(CheckContext& context, CaseSession& session, const ClaimedCase& item,
                                 const RunOptions& options = {}) {
  for (size_t i = 0; i < item.built.runs.size(); ++i) {
    const RunResult result = session.run(item.built.runs[i], options);
    if (result.status != ETB_OK) return fmt::format("run {} fails: {}", i, result.error.text);
    if (!context.is_right(item, result, i)) return fmt::format("the result of run {} is wrong", i);
  }
  return {};
}

}  // namespace etb::conformance
