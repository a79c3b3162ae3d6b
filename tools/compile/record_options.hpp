// SPDX-License-Identifier: Apache-2.0
// The options of `etbackend compile` about the record of the compilation.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "etb/cpp/result.hpp"
#include "tools/cli11_fwd.hpp"

namespace etb::tools {

struct RecordOptions {
  std::string path;                  // .etrecord; empty: none is written
  std::vector<std::string> inputs;   // of the method "forward"
  std::vector<std::string> outputs;  // FILE, or METHOD=FILE
  std::vector<std::string> modules;  // NAME=FILE.pt2
  bool weights = false;

  bool is_set() const { return !path.empty(); }
};

void add_record_options(CLI::App& command, RecordOptions& options);

// Rejects options for a record that is not written.
[[nodiscard]] Status check_record_options(const RecordOptions& options);

// Returns name and file of each extra module.
[[nodiscard]] Result<std::vector<std::pair<std::string, std::string>>> list_modules(
    const RecordOptions& options);

}  // namespace etb::tools
