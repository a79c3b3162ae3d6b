// SPDX-License-Identifier: Apache-2.0
// Text that `etbackend --version` prints.
#pragma once

#include <string>

namespace etb::tools {

// The first line names the versions of program and C ABI. The others name the commit, the build, XNNPACK, and the
// features of this machine's processor.
std::string version_text();

}  // namespace etb::tools
