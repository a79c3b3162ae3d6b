// SPDX-License-Identifier: Apache-2.0
// Runs a plugin that was built with a sanitizer in the ordinary program: the sanitizer's run-time library must be
// the first library of a process, so the program starts itself again with it.
#pragma once

#include <string>

#include "etb/cpp/result.hpp"

namespace etb::tools {

// Returns the sanitizer's run-time library that a library needs, "libasan.so.8", or "".
std::string sanitizer_of(const std::string& library_path);

// Returns success if this process has a sanitizer, or if `runtime` is "". Else it does not return: the program
// starts again with `runtime`, a name or an absolute path. In a process that is not the program itself, such as a
// test, this is an error.
[[nodiscard]] Status enter_sanitizer_host(const std::string& runtime);

}  // namespace etb::tools
