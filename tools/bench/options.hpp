// SPDX-License-Identifier: Apache-2.0
// The options of `etbackend bench`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/cli11_fwd.hpp"
#include "tools/run/input_options.hpp"
#include "tools/run/limit_options.hpp"
#include "tools/run/plugin_options.hpp"

namespace etb::bench {

// The largest number of timed runs of a variant: their times are stored.
constexpr uint32_t kMaxRuns = 10'000'000;

struct Options {
  // Dimensions of variants
  std::vector<std::string> files;
  std::string standard_input;         // the one of them that is standard input; "" for none
  std::vector<std::string> backends;  // "portable,xnnpack" or "ID=PLUGIN,PLUGIN"
  std::vector<uint32_t> threads = {1};
  std::vector<uint32_t> parallel = {1};
  std::vector<std::string> methods;  // "*" alone: all methods of each program
  std::vector<std::string> input_shapes;
  std::vector<std::string> load_modes;
  bool lists = false;

  // Programs and their inputs
  tools::InputOptions inputs;
  tools::PluginOptions plugins;
  tools::LimitOptions limits;
  std::vector<std::string> data_files;

  // Schedule
  uint32_t warmup = 3;
  double warmup_time = 0;  // seconds, at least
  uint32_t samples = 20;
  uint32_t repeat = 0;  // 0: as many as fill min_time
  double min_time = 1;  // seconds, for each variant
  double max_time = 60;
  bool keeps_loaded = false;
  uint32_t delay_ms = 0;
  std::optional<int> priority;
  std::string cpus;
  std::optional<uint32_t> numa_node;
  bool pins_threads = false;
  bool spins = true;  // threads look for work before they block
  bool excludes_inputs = false;

  // Results
  std::vector<double> percents = {50, 90, 95, 99};
  std::string against;
  std::optional<double> fail_if_slower;  // percent
  uint64_t seed = 1;
  std::vector<std::string> counters;
  std::optional<double> items;  // that a run processes
  bool profiles = false;
  uint32_t profile_rows = 10;
  std::vector<std::string> context;  // KEY=VALUE
  std::string format = "text";
  std::vector<std::string> outputs;
  bool json = false;
  bool has_raw_times = false;
};

void add_bench_options(CLI::App& command, Options& options);

}  // namespace etb::bench
