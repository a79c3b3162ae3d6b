// SPDX-License-Identifier: Apache-2.0
// Counts and sizes in the text of commands: "1 method", "2 methods", "108 KiB". JSON has plain numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace etb::tools {

// Returns "1 node", "2 nodes", "2 copies"; for words that form the plural with -s, -es or -ies.
std::string count_of(uint64_t count, std::string_view noun);

// Returns "1 byte", "999 bytes", "108 KiB", "1.5 GiB": at most three digits before the point, one after it.
std::string nbytes_text(uint64_t nbytes);

}  // namespace etb::tools
