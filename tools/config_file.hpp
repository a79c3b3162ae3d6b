// SPDX-License-Identifier: Apache-2.0
// Configuration files: defaults of options in TOML, a section for each command.
//
//   plugin-path = ["/opt/my_npu/plugins.d"]
//   [run]
//   threads = 0
//   backend-pin = ["XnnpackBackend=org.etbackend.xnnpack"]
#pragma once

#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "tools/cli11_fwd.hpp"

namespace etb::tools {

// The files that are read without --config: ./etbackend.toml, then etbackend.toml in the user's folder
// ($XDG_CONFIG_HOME, else ~/.config). Only existing ones. None in a secure process.
std::vector<std::string> default_config_files();

// Makes the app read these files while it parses. The command line decides before the first file, that before
// the second. With `is_required`, a missing file is an error. A file that another user could have written, an unknown section and an unknown key are errors.
void read_config_files(CLI::App& app, const std::vector<std::string>& files, bool is_required);

}  // namespace etb::tools
