// A program file as the description that writes it: for test tools that change programs.
#pragma once

#include <optional>
#include <span>

#include "api/format/program_builder.hpp"

namespace etb::host {

// Nothing for bytes that the reader refuses. Of a method with several chains the first is kept.
std::optional<format::ProgramSpec> decode_program(std::span<const std::byte> file);

}  // namespace etb::host
