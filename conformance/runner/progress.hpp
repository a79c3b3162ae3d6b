// Where a child process is, in memory that its parent sees: so that after a crash or a hang the case is known.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

namespace etb::conformance {

struct ProgressPage {
  std::atomic<uint32_t> item{UINT32_MAX};
  std::atomic<uint64_t> started_ns{0};  // of the item, on the monotonic clock
  char phase[48] = {};
};

// One without a page goes nowhere: in-process runs.
class Progress {
 public:
  explicit Progress(ProgressPage* page = nullptr) : page_(page) {}
  void begin(uint32_t item, uint64_t now_ns) {
    if (page_ == nullptr) return;
    at("start");
    page_->started_ns.store(now_ns);
    page_->item.store(item);
  }
  // The item has its whole time again: it is one of several that are tried in one process.
  void restart(uint64_t now_ns) {
    if (page_ != nullptr) page_->started_ns.store(now_ns);
  }
  // Before each call into the plugin: "compile", "execute run 2".
  void at(const char* phase) {
    if (page_ != nullptr) std::strncpy(page_->phase, phase, sizeof(page_->phase) - 1);
  }

 private:
  ProgressPage* page_;
};

}  // namespace etb::conformance
