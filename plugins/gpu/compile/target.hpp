// SPDX-License-Identifier: Apache-2.0
// The facts of a target that lowering uses.
#pragma once

#include <algorithm>

#include "etb/cpp/compile.hpp"
#include "plugins/gpu/plan/execution_plan.hpp"

namespace etb::gpu {

// The attribute of devices with the largest part of a buffer that a kernel reads, in bytes.
inline constexpr const char* kMaxRangeAttribute = "max_range_bytes";

// Returns the bytes that a value may have on the target. A larger range than the one of every Vulkan device allows no larger
// values: views of texels have that limit, too. Error: the attribute is no positive integer.
inline Result<uint64_t> value_limit_of(const Target& target) {
  ETB_ASSIGN(const int64_t range, target.get_i64(kMaxRangeAttribute, static_cast<int64_t>(kLeastRangeBytes)));
  if (range < 1)
    return make_error(Code::INVALID_ARGUMENT, "target: " + std::string(kMaxRangeAttribute) + " " +
                                                  std::to_string(range) + ", expected at least 1");
  return std::min(static_cast<uint64_t>(range), kLeastRangeBytes);
}

}  // namespace etb::gpu
