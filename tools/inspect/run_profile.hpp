// SPDX-License-Identifier: Apache-2.0
// The rows of a profile for the page of a run.
#pragma once

#include "tools/inspect/event_rows.hpp"
#include "tools/pages/reports.hpp"

namespace etb::inspect {

pages::RunProfile run_profile(std::span<const format::EtdumpBlock> blocks, const std::string& block_name,
                              size_t skip);

}  // namespace etb::inspect
