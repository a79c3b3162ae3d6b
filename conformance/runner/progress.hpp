// Where the process that holds the plugin is, in a page that the judging process sees: so that a message about a crash or a hang can name the
// call. The plugin can write into the page, so nothing is decided by it: time is kept by the judge, and the rest of the page must stay as it was.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

namespace etb::conformance {

struct ProgressPage {
  char phase[48] = {};
  std::atomic<uint32_t> restarts{0};  // how many times the item asked for its whole time again
  unsigned char pattern[4096 - 48 - 4];
};
static_assert(sizeof(ProgressPage) == 4096);

// One without a page goes nowhere: in-process runs.
class Progress {
 public:
  explicit Progress(ProgressPage* page = nullptr) : page_(page) {}
  // The item has its whole time again: it is one of several that are tried in one process.
  void restart() {
    if (page_ != nullptr) page_->restarts.fetch_add(1);
  }
  // Before each call into the plugin: "compile", "execute run 2".
  void at(const char* phase) {
    if (page_ != nullptr) std::strncpy(page_->phase, phase, sizeof(page_->phase) - 1);
  }

 private:
  ProgressPage* page_;
};

}  // namespace etb::conformance
