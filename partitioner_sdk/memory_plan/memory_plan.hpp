// SPDX-License-Identifier: Apache-2.0
// Plans offsets of tensors in one arena, so that tensors that live at the same time do not overlap.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "etb/cpp/result.hpp"

namespace etb::plan {

// A block of memory that is needed in the steps first to last, both included.
struct Block {
  uint64_t nbytes = 0;
  uint32_t first = 0;
  uint32_t last = 0;
};

struct Plan {
  std::vector<uint64_t> offsets;  // one per block, multiples of the alignment
  uint64_t arena_nbytes = 0;
  // Lower bound of every plan: the most bytes alive in one step. A plan of this size is optimal.
  uint64_t lower_bound_nbytes = 0;
};

// Two blocks that must not overlap, although they are needed in different steps.
using Apart = std::pair<uint32_t, uint32_t>;

// Steps count from 0; first <= last.
Plan make_plan(std::span<const Block> blocks, uint64_t alignment, std::span<const Apart> apart = {});

// Checks that no two blocks of a step or pair overlap, that offsets are aligned and the arena holds all. The error
// names the first two blocks that conflict.
[[nodiscard]] Status verify_plan(std::span<const Block> blocks, const Plan& plan, uint64_t alignment,
                                 std::span<const Apart> apart = {});

}  // namespace etb::plan
