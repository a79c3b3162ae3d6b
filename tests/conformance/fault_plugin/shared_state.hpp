// SPDX-License-Identifier: Apache-2.0
// Global state of some faults.
#pragma once

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "etb/all.h"

namespace faulty {

inline std::mutex lock_a, lock_b;                    // for fault 29
inline std::atomic<int> run_total = 0;               // for fault 202
inline bool is_corrupt = false;                      // for fault 42
inline const etb_log_service* stale_log = nullptr;   // for fault 40
inline int partition_count = 0;                      // for fault 35
inline thread_local bool is_compiling = false;       // for fault 46
inline const int64_t* stale_sizes = nullptr;         // for fault 87
inline const std::byte* stale_named = nullptr;       // for fault 238
inline constexpr uint64_t kOwnTicks = 1000;          // of a run, for faults 460 and 461
inline bool is_any_fast = false;                     // for fault 371
inline std::byte shared_values[256];                 // for fault 372
inline std::byte values_of_later_contexts[1 << 16];  // for fault 504
inline std::atomic<uint32_t> living_contexts = 0;     // for fault 594
inline std::byte constants_of_slots[8][8][4096];     // for fault 594
inline uint64_t first_begin_ns = 0;                  // for fault 373
inline bool has_ended_any = false;                   // for fault 374
inline bool has_clock = true;                        // for fault 382
inline bool has_lost_device = false;                 // until the next instance
inline bool is_only_wrong_once = false;              // for fault 95
inline bool is_second_process = false;               // for fault 43
inline const etb_parallel_service* host_workers = nullptr;  // for fault 606
inline void* kept_block = nullptr;                   // for fault 609
inline std::string mode_of_last_delegate;            // for fault 611
inline uint8_t folder_number = 0;                    // for fault 613
inline std::atomic<uint64_t> used_device_bytes = 0;  // for faults 366 and 367

// Returns after the thread has begun: a thread that begins during unloading is another fault.
inline void start_thread_for_ever() {
  std::atomic<bool> has_begun{false};
  std::thread([&] {
    has_begun = true;
    for (;;) ::pause();
  }).detach();
  while (!has_begun) std::this_thread::yield();
}

}  // namespace faulty
