// SPDX-License-Identifier: Apache-2.0
// Finds filter patterns (--only-op and others) that match nothing in the model: nearly always a mistyped name.
#pragma once

#include <span>

#include "etb/cpp/result.hpp"
#include "partitioner_sdk/ir/module.hpp"
#include "partitioner_sdk/partition/filters.hpp"

namespace etb::tools {

// INVALID_ARGUMENT for the first pattern without a match, with the nearest names of the model.
[[nodiscard]] Status expect_matches(const partition::Filters& filters, std::span<const ir::Module> modules);

}  // namespace etb::tools
