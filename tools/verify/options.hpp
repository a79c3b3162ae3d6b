// SPDX-License-Identifier: Apache-2.0
// Options of `etbackend verify`.
#pragma once

#include <string>
#include <vector>

#include "tools/cli11_fwd.hpp"

namespace etb::tools {

struct VerifyOptions {
  std::string target;
  std::string backend;
  std::string profile = "ci";
  std::vector<std::string> patterns;
  std::string contract = "f32";
  uint32_t workers = 0;
  uint32_t case_timeout_ms = 10000;
  uint32_t check_timeout_ms = 60000;
  std::string shard;
  std::string soak_time;
  std::string results_file, junit_file, sarif_file, html_file, coverage_file, compare_file, waiver_file,
      save_folder, replay_file;
  std::vector<std::string> merge_files;
  bool list = false;
  bool json = false;
  bool resume = false;
  bool in_process = false;
  bool break_first = false;
  bool no_confirm = false;
  bool fail_fast = false;
  std::string minimise_time = "2m";
  bool has_network = false;
  std::string sanitizer_host;
  std::vector<std::string> layers;
  std::vector<std::string> delegate_options;  // "key=value"
  uint32_t seed = 0;
};

void add_verify_options(CLI::App& command, VerifyOptions& options);

}  // namespace etb::tools
