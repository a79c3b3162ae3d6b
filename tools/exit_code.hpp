// SPDX-License-Identifier: Apache-2.0
// The exit codes of exit_code.def, and their mapping from status codes of the API.
#pragma once

#include <span>
#include <string_view>

#include "etb/cpp/result.hpp"

namespace etb::tools {

#define ETB_EXIT(name, value, text) name = value,
enum class ExitCode : int {
#include "tools/exit_code.def"
};
#undef ETB_EXIT

struct ExitCodeRow {
  ExitCode code;
  std::string_view name;
  std::string_view text;
};

// Returns all rows, in the order of their values.
std::span<const ExitCodeRow> exit_code_rows();

// Returns the exit code of a command that ended with this error.
ExitCode to_exit_code(Code code);

}  // namespace etb::tools
