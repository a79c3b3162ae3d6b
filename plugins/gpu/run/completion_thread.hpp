// SPDX-License-Identifier: Apache-2.0
// The thread of a device that sees the ends of asynchronous runs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "etb/cpp/run_thread.hpp"
#include "plugins/gpu/run/opened_process.hpp"

namespace etb::gpu {

class CompletionThread {
 public:
  // A run in flight.
  class Entry {
   public:
    virtual ~Entry() = default;
    // Goes on with the run, and blocks for at most this time where it can choose. Returns true when the run is over.
    virtual bool advance(std::chrono::milliseconds most) noexcept = 0;
    // Reports the end. The object may end meanwhile.
    virtual void end() noexcept = 0;

   private:
    friend class CompletionThread;
    Entry* next_ = nullptr;
    uint32_t priority_ = 0;
  };

  CompletionThread() = default;
  CompletionThread(const CompletionThread&) = delete;
  CompletionThread& operator=(const CompletionThread&) = delete;
  // No run is in flight.
  ~CompletionThread();

  // [any] Starts the thread, if it does not run. Fails in a forked process.
  [[nodiscard]] Status prepare();
  // [any] After prepare(). The entry is in no list. It goes on before entries of a lower priority. Does not use the heap.
  void post(Entry& entry, uint32_t priority) noexcept;

 private:
  void loop();
  // Goes once through the list. The caller has locked `lock`.
  void advance_all(std::unique_lock<std::mutex>& lock);
  // Returns the link to an entry of the list. The caller has locked the mutex.
  Entry** link_to(const Entry& entry) noexcept;

  OpenedProcess process_;
  OwnThread thread_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable posted_;
  bool is_started_ = false;
  bool is_over_ = false;
  Entry* first_ = nullptr;  // by falling priority
};

}  // namespace etb::gpu
