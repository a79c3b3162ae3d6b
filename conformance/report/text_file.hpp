// Text files that a user names: regular files of a bounded size. A pipe or a device would block, or never end.
#pragma once

#include <string>

#include "etb/cpp/result.hpp"

namespace etb::conformance {

// Without opening it, so that nothing blocks.
[[nodiscard]] Status expect_regular_file(const std::string& path);

[[nodiscard]] Result<std::string> read_text_file(const std::string& path, uint64_t most_bytes);

}  // namespace etb::conformance
