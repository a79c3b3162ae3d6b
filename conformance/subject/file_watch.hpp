// SPDX-License-Identifier: Apache-2.0
// Records the files that some code opens for writing, creates, renames or removes, whichever library makes the
// system call: the kernel reports each such call of a child process.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

namespace etb::conformance {

// Runs `body` in a child and returns the absolute paths of those files. Returns nothing where the kernel cannot
// report system calls to another process, or if the child does not end within `most_ms`.
std::optional<std::set<std::string>> watch_files(const std::function<void()>& body, uint64_t most_ms);

}  // namespace etb::conformance
