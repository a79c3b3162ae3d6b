// SPDX-License-Identifier: Apache-2.0
#include "tools/exit_code.hpp"

namespace etb::tools {

std::span<const ExitCodeRow> exit_code_rows() {
  static constexpr ExitCodeRow kRows[] = {
#define ETB_EXIT(name, value, text) {ExitCode::name, #name, text},
#include "tools/exit_code.def"
#undef ETB_EXIT
  };
  return kRows;
}

ExitCode to_exit_code(Code code) {
  switch (code) {
    case Code::OK:
      return ExitCode::OK;
    case Code::NOT_FOUND:
    case Code::OPERATOR_MISSING:
      return ExitCode::NOT_FOUND;
    case Code::INVALID_ARGUMENT:
      return ExitCode::USAGE;
    case Code::INVALID_TYPE:
    case Code::INVALID_PROGRAM:
    case Code::INVALID_DATA:
    case Code::ACCESS_FAILED:
    case Code::ALREADY_EXISTS:  // two files, or two entries of one, define the same name
      return ExitCode::INVALID_INPUT;
    case Code::INCOMPATIBLE:
    case Code::PERMISSION_DENIED:
    case Code::NOT_SUPPORTED:
    case Code::NOT_IMPLEMENTED:
      return ExitCode::REFUSED;
    case Code::OUT_OF_MEMORY:
    case Code::OUT_OF_RESOURCES:
    case Code::CANCELLED:
    case Code::DEADLINE_EXCEEDED:
    case Code::UNAVAILABLE:
    case Code::BUSY:
      return ExitCode::UNAVAILABLE;
    case Code::INTERNAL:
    case Code::INVALID_STATE:
    case Code::END_OF_METHOD:
    case Code::ALREADY_LOADED:
    case Code::INVALID_HANDLE:
      return ExitCode::INTERNAL;
  }
  return ExitCode::INTERNAL;
}

}  // namespace etb::tools
