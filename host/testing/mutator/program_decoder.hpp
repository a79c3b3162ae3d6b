// SPDX-License-Identifier: Apache-2.0
// Decodes a program file into the spec that writes it: for test tools that change programs.
#pragma once

#include <optional>
#include <span>

#include "api/testing/program_builder.hpp"

namespace etb::host {

// Returns nullopt for bytes that the reader rejects. Of a method with several chains it keeps the first.
std::optional<format::ProgramSpec> decode_program(std::span<const std::byte> file);

}  // namespace etb::host
