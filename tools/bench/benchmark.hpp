// SPDX-License-Identifier: Apache-2.0
// Runs a benchmark: samples of all variants alternate.
#pragma once

#include <atomic>
#include <functional>

#include "host/registry/registry.hpp"
#include "tools/bench/results.hpp"

namespace etb::bench {

// Functions of the program that the benchmark needs.
struct Environment {
  host::RegistryOptions registry;
  bool secure = false;
  bool is_quiet = false;  // shows no progress
  // Compiles an archive for these plugins into a file.
  std::function<Status(const std::string& archive, const std::vector<std::string>& plugins,
                       const std::string& output)>
      compile;
  const std::atomic<bool>& interrupted;
};

// Fills variants, warnings and times of `results`, whose list is set. A variant that fails has an error; the
// others go on.
void run_benchmark(const Options& options, const Environment& environment, Results& results);

}  // namespace etb::bench
