// SPDX-License-Identifier: Apache-2.0
// The error of a method, for a command that runs files.
#pragma once

#include "etb/cpp/result.hpp"

namespace etb::tools {

// Once the command line is parsed, invalid arguments of a method mean an invalid program or input file.
inline Status blame_files(Status status) {
  if (!status && status.error().code == Code::INVALID_ARGUMENT) status.error().code = Code::INVALID_DATA;
  return status;
}

}  // namespace etb::tools
