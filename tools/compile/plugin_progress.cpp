// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/plugin_progress.hpp"

#include <fmt/format.h>

#include "api/format/time_left.hpp"
#include "tools/verify/interruptible.hpp"

namespace etb::tools {

partition::CompileWatch PluginProgress::watch() {
  return {[this](double done, std::string_view what) { report(done, what); },
          [] { return was_interrupted().load(); }};
}

void PluginProgress::report(double done, std::string_view what) {
  const auto now = std::chrono::steady_clock::now();
  if (done < last_done_) start_ = now;  // another plugin
  last_done_ = done;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  progress_.show_often("compiling regions for " + names_ + ": " + progress_text(done, what, elapsed));
}

std::string progress_text(double done, std::string_view what, double elapsed_seconds) {
  constexpr uint64_t kParts = 1000;
  return fmt::format("{:.0f} %{}{}{}", done * 100, what.empty() ? "" : ": ", what,
                     format::time_left_text(elapsed_seconds, static_cast<uint64_t>(done * kParts), kParts));
}

}  // namespace etb::tools
