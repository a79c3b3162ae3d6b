// SPDX-License-Identifier: Apache-2.0
// For tests: one run of the program inside this process, with its output.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "tools/command.hpp"

namespace etb::tools {

struct CliRun {
  int exit = 0;
  std::string out;
  std::string err;
};

inline CliRun cli(const std::vector<std::string>& args) {
  std::vector<const char*> argv{"etbackend"};
  for (const std::string& arg : args) argv.push_back(arg.c_str());
  std::ostringstream out, err;
  const int exit = run_cli(static_cast<int>(argv.size()), argv.data(), out, err);
  return {exit, out.str(), err.str()};
}

}  // namespace etb::tools
