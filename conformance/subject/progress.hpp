// SPDX-License-Identifier: Apache-2.0
// The current call of the plugin's process, in a page shared with the judge: messages about a crash or a hang
// can name the call. The plugin can write into the page, so no decision uses it: the judge measures time
// itself, and the rest of the page must not change.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

namespace etb::conformance {

struct ProgressPage {
  char phase[48] = {};
  std::atomic<uint32_t> restarts{0};  // restarts of the item's time limit
  unsigned char pattern[4096 - 48 - 4];
};
static_assert(sizeof(ProgressPage) == 4096);

// Without a page (in-process runs), all calls do nothing.
class Progress {
 public:
  explicit Progress(ProgressPage* page = nullptr) : page_(page) {}
  // Restarts the item's time limit: it is one of several tries in one process.
  void restart() {
    if (page_ != nullptr) page_->restarts.fetch_add(1);
  }
  // Call before each call into the plugin: "compile", "execute run 2".
  void at(const char* phase) {
    if (page_ != nullptr) std::strncpy(page_->phase, phase, sizeof(page_->phase) - 1);
  }

 private:
  ProgressPage* page_;
};

}  // namespace etb::conformance
