// SPDX-License-Identifier: Apache-2.0
// The rows of a profile for the page of a run.
#pragma once

#include "etb/cpp/result.hpp"
#include "tools/inspect/inspection.hpp"
#include "tools/pages/reports.hpp"

namespace etb::tools {

// `blocks` are those of the inspection, in nanoseconds.
[[nodiscard]] Result<pages::RunProfile> run_profile(const Inspection& inspection,
                                                    std::span<const format::EtdumpBlock> blocks,
                                                    const std::string& block_name, size_t skip);

}  // namespace etb::tools
