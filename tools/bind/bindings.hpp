// SPDX-License-Identifier: Apache-2.0
// Writes C++ that calls functions for custom ops: a wrapper for each op, checks of its parameters, and the rows of a
// kernel table.
#pragma once

#include <string>

#include "etb/cpp/result.hpp"
#include "tools/bind/op_list.hpp"

namespace etb::tools {

// `source` is the list's name in the comment. `function` "": the file exports a library of kernels
// (kernel_library.hpp); else it defines `etb::host::KernelRows function()`.
[[nodiscard]] Result<std::string> write_bindings(const OpList& list, const std::string& source,
                                                 const std::string& function);

}  // namespace etb::tools
