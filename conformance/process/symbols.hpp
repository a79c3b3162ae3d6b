// SPDX-License-Identifier: Apache-2.0
// Names of functions and lines of source for the addresses of a stack.
#pragma once

#include <string>

namespace etb::conformance {

// Begins a line of executable memory in the text that a process writes about its stacks:
// "map: 7f12c000-7f12f000 r-xp 00001000 ... /path/of/library.so", as in /proc/self/maps.
inline constexpr const char* kMapLine = "map: ";

// Returns the stacks with one line a frame: "#2 my_npu::run(int)+0x1c at npu.cpp:88 (my_npu.so)". `stacks` has
// lines with an address in brackets, as backtrace_symbols_fd() writes them, and the map. Source lines need the
// program addr2line and a library with debug information; functions need a symbol table.
std::string with_symbols(const std::string& stacks);

}  // namespace etb::conformance
