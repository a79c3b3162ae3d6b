// SPDX-License-Identifier: Apache-2.0
// Decodes a program file into the spec that writes it: for test tools that change programs.
#pragma once

#include <optional>
#include <span>

#include "api/testing/program_builder.hpp"

namespace etb::host {

// Returns nullopt for bytes that the reader rejects. A method with several chains keeps the first.
std::optional<format::ProgramSpec> decode_program(std::span<const std::byte> file);

}  // namespace etb::host
