// SPDX-License-Identifier: Apache-2.0
// LoadLimits: resources that a program may use. Programs are not trusted, so every limit has a default, far
// above honest programs. Error messages name a limit by its member name.
#pragma once

#include <cstdint>

namespace etb::host {

struct LoadLimits {
  // Bytes that a module allocates for all its loaded methods together: arenas, state, scratch, and outputs
  // that the program leaves to the caller. 0: 16 GiB, or the memory of the machine where that is less. Module
  // checks it, because the core allocates nothing.
  uint64_t max_memory_bytes = 0;
  uint64_t max_arenas = 1024;                     // arenas of a method, arena 0 not counted
  uint64_t max_values = uint64_t{1} << 24;        // values of a method
  uint64_t max_instructions = uint64_t{1} << 24;  // instructions of a method, in all chains
  uint64_t max_delegates = 4096;                  // delegates of a method
  // Payloads of a method's delegates together. Several delegates may name the same bytes, and
  // a plugin processes each.
  uint64_t max_payload_bytes = uint64_t{64} << 30;
  uint64_t max_scratch_bytes = uint64_t{4} << 30;  // scratch memory of one kernel, and of one delegate
  // Instructions that one run may execute when RunLimits sets no limit. A program without a jump back stays
  // far below. An endless loop ends at this limit; the shortest loop reaches it after about ten seconds.
  uint64_t max_run_instructions = uint64_t{1} << 32;
};

}  // namespace etb::host
