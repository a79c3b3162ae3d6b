// SPDX-License-Identifier: Apache-2.0
// The program that a profile is of. The format has no field for it, and official readers do not read the allocators
// that no allocation names: the identity is the name of one, after those that the run has.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "api/format/etdump.hpp"
#include "api/format/program_identity.hpp"

namespace etb::format {

// Stores the identity in the first block; nothing without blocks.
void set_program(std::vector<EtdumpBlock>& blocks, const ProgramIdentity& program);

// Returns the identity; nothing in files of other writers.
std::optional<ProgramIdentity> find_program(std::span<const EtdumpBlock> blocks);

// True for the name of an allocator that is an identity.
bool is_program_name(std::string_view allocator);

}  // namespace etb::format
