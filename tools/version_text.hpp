// SPDX-License-Identifier: Apache-2.0
// Facts of this build that `etbackend --version` prints.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace etb::tools {

// The first line names the versions of program and C ABI. The others name the commit, the build, XNNPACK, and the
// features of this machine's processor.
std::string version_text();

// The same as a document, for --version --json.
nlohmann::ordered_json version_json();

// The commit of this build as `git describe` names it; "unknown" outside of a repository.
std::string commit_text();

}  // namespace etb::tools
