// SPDX-License-Identifier: Apache-2.0
// The progress of plugins that compile, on a terminal, and how a signal stops them.
#pragma once

#include <chrono>
#include <string>

#include "partitioner_sdk/partition/plugin_compiler.hpp"
#include "tools/progress.hpp"

namespace etb::tools {

// Shows what plugins report on the line of `progress`, which must outlive it, with the remaining time. A plugin that
// asks stops after a signal to an Interruptible.
class PluginProgress {
 public:
  PluginProgress(Progress& progress, std::string names) : progress_(progress), names_(std::move(names)) {}

  // For plugins of this process. Used during the life of this object.
  partition::CompileWatch watch();

 private:
  void report(double done, std::string_view what);

  Progress& progress_;
  std::string names_;
  double last_done_ = 1;  // so that the first report starts the clock
  std::chrono::steady_clock::time_point start_{};
};

// Returns "40 %: tile 3, about 12 s left".
std::string progress_text(double done, std::string_view what, double elapsed_seconds);

}  // namespace etb::tools
