// SPDX-License-Identifier: Apache-2.0
// Finds tensors that must not share memory, so that independent branches of a method can run at the same time.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "api/format/program_writer.hpp"

namespace etb::emit {

// One delegate call: its instruction, and how many of its last arguments it writes.
struct WrittenArguments {
  uint32_t instruction = 0;
  uint32_t count = 0;
};

// Returns pairs of tensors whose uses follow one another in the list of instructions, but not in the order that a run with
// asynchronous delegates keeps: kernels run one after another, and an instruction after those whose results it reads. Sharing
// memory makes such tensors' branches wait for each other. `tensors` are indices of values; a pair has positions in it.
// Returns no pairs for a method with jumps or moves, whose instructions run in the order of the list.
std::vector<std::pair<uint32_t, uint32_t>> find_concurrent_tensors(
    const format::MethodSpec& method, std::span<const WrittenArguments> delegates,
    std::span<const int32_t> tensors);

}  // namespace etb::emit
