// SPDX-License-Identifier: Apache-2.0
// Runs in flight go on by priority, and in the order in which they were posted.
#include "plugins/gpu/run/completion_thread.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

namespace etb::gpu {
namespace {

// Letters of the entries that went on, of one thread.
struct Seen {
  std::string letters;
  std::atomic<bool> records{false};
  std::atomic<int> ended_count{0};
};

class Letter final : public CompletionThread::Entry {
 public:
  Letter(Seen& seen, char letter) : seen_(seen), letter_(letter) {}
  bool advance(std::chrono::milliseconds) noexcept override {
    constexpr size_t kEnough = 30;
    if (!seen_.records) return false;
    if (seen_.letters.size() < kEnough) seen_.letters += letter_;
    return seen_.letters.size() >= kEnough;
  }
  void end() noexcept override { ++seen_.ended_count; }

 private:
  Seen& seen_;
  char letter_;
};

TEST(CompletionThread, GoesOnByPriority) {
  Seen seen;
  Letter a(seen, 'a'), b(seen, 'b'), c(seen, 'c'), d(seen, 'd');
  {
    CompletionThread thread;
    ASSERT_TRUE(thread.prepare());
    thread.post(a, 500);
    thread.post(b, 900);
    thread.post(c, 500);
    thread.post(d, 0);
    seen.records = true;  // in the midst of a round
    while (seen.ended_count < 4) std::this_thread::yield();
  }
  // Rounds of this length, wherever the record begins.
  EXPECT_THAT(seen.letters, testing::HasSubstr("bacdbacdbacd"));
}

}  // namespace
}  // namespace etb::gpu
