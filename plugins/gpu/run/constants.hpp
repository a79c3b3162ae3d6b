// SPDX-License-Identifier: Apache-2.0
// The packed constants of a plan, from the program's named data.
#pragma once

#include <cstddef>

#include "etb/cpp/payload.hpp"
#include "plugins/gpu/plan/execution_plan.hpp"

namespace etb::gpu {

// Writes the plan's constants, memory.constant_bytes of them, to the host's side of device memory.
[[nodiscard]] Status write_constants(const ExecutionPlan& plan, const NamedData& data, std::byte* to);

}  // namespace etb::gpu
