// SPDX-License-Identifier: Apache-2.0
// Running mean and variance of a batch norm or an instance norm, after a step of training.
#pragma once

#include "partitioner_sdk/passes/builder.hpp"

namespace etb::passes {

struct RunningStatistics {
  ValueId mean = ir::kNoValue;
  ValueId variance = ir::kNoValue;
};

// Which elements share one mean and one variance, before those of an instance norm are averaged over images.
enum class NormGroups : uint8_t { kChannels, kChannelsOfImages };

// Adds nodes and returns the new statistics: `momentum` parts of those of `input`, the rest of the old ones.
RunningStatistics updated_statistics(Builder& b, ValueId input, NormGroups groups, double momentum,
                                     const RunningStatistics& old);

}  // namespace etb::passes
