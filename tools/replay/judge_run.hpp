// SPDX-License-Identifier: Apache-2.0
// Judges outputs of a replay by the error model of `etbackend verify` for whole graphs.
#pragma once

#include <optional>
#include <string>

#include "conformance/judge/contract.hpp"
#include "host/layers/replay/replay.hpp"

namespace etb::tools {

// Returns "" for outputs that correct arithmetic may have, what is wrong otherwise, and nullopt where the graph or the
// layout of a tensor is beyond the model.
std::optional<std::string> judge_run(const host::replay::JudgedRun& run,
                                     const conformance::PrecisionContract& contract);

}  // namespace etb::tools
