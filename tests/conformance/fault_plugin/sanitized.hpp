// SPDX-License-Identifier: Apache-2.0
// Faults that only a sanitizer sees: they change no result. This file is also built with each sanitizer.
#pragma once

namespace faulty {

// Fault 290: reads the bytes after a block of the heap.
void read_beyond_a_block();

// Fault 291: counts runs in a variable of all threads.
void count_run_of_all_threads();

}  // namespace faulty
