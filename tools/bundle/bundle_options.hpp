// SPDX-License-Identifier: Apache-2.0
// The options of `etbackend run` for bundled programs, with the names of ExecuTorch's runners.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "tools/cli11_fwd.hpp"

namespace etb::tools {

struct BundleOptions {
  bool is_bundle = false;  // --bundle: an error for other files
  std::optional<uint64_t> index;
  std::optional<double> rtol, atol;
  std::vector<std::string> models;

  bool is_set() const { return is_bundle || index || rtol || atol || !models.empty(); }
};

// Tolerances of ExecuTorch's executor_runner.
inline constexpr double kRunnerTolerance = 0.01;

void add_bundle_options(CLI::App& command, BundleOptions& options);

// Accepts finite numbers of at least 0.
CLI::Validator tolerance();

// Splits "METHOD=FILE" of --model. A text without the name of one of `methods` is the file of all methods, "".
[[nodiscard]] Result<std::map<std::string, std::string>> split_models(
    const std::vector<std::string>& texts, const std::vector<std::string>& methods);

}  // namespace etb::tools
