// What some faults remember beyond one object.
#pragma once

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "etb/all.h"

namespace faulty {

inline std::mutex lock_a, lock_b;                   // of fault 29
inline bool is_corrupt = false;                     // of fault 42
inline const etb_log_service* stale_log = nullptr;  // of fault 40
inline int partition_count = 0;                     // of fault 35
inline thread_local bool is_compiling = false;      // of fault 46
inline const int64_t* stale_sizes = nullptr;        // of fault 87
inline bool has_lost_device = false;                // until the next instance
inline bool is_only_wrong_once = false;             // of fault 95
inline bool is_second_process = false;              // of fault 43

// It has begun when this returns: what begins while the library goes is another fault.
inline void start_thread_for_ever() {
  std::atomic<bool> has_begun{false};
  std::thread([&] {
    has_begun = true;
    for (;;) ::pause();
  }).detach();
  while (!has_begun) std::this_thread::yield();
}

}  // namespace faulty
