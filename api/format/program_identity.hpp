// SPDX-License-Identifier: Apache-2.0
// The identity of a program file. A record of its compilation has it, and so have the profiles of its runs: a profile is
// read with the record of the same program only.
#pragma once

#include <string>

#include "etb/cpp/result.hpp"

namespace etb::format {

struct ProgramIdentity {
  std::string name;    // of the file, without its folder
  std::string sha256;  // of its bytes, 64 hexadecimal digits
  friend bool operator==(const ProgramIdentity&, const ProgramIdentity&) = default;
};

// Reads the file at `path` once.
[[nodiscard]] Result<ProgramIdentity> identify_program(const std::string& path);

}  // namespace etb::format
