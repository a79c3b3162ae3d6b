// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fault_plugin/sanitized.hpp"

#include <cstdlib>

namespace faulty {
namespace {

// Not const, so that the compiler does not see the error.
volatile int element_count = 6;
int run_count = 0;

}  // namespace

void read_beyond_a_block() {
  auto* const block = static_cast<int*>(std::malloc(6 * sizeof(int)));
  for (int i = 0; i < 6; ++i) block[i] = i;
  volatile int last = block[element_count];
  (void)last;
  std::free(block);
}

void count_run_of_all_threads() { ++run_count; }

}  // namespace faulty
