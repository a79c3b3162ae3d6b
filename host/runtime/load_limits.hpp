// LoadLimits: how much of the machine a program may ask for. Programs are not trusted, so every limit has a default, far above honest
// programs. A message about a limit names it as it is called here.
#pragma once

#include <cstdint>

namespace etb::host {

struct LoadLimits {
  // Bytes that a module allocates for its programs, all loaded methods together: arenas, state of methods, outputs that the program
  // leaves to the caller, scratch. 0: 16 GiB, or the memory of the machine where that is less. Checked by Module; the core allocates
  // nothing.
  uint64_t max_memory_bytes = 0;
  uint64_t max_arenas = 1024;                     // of a method, arena 0 not counted
  uint64_t max_values = uint64_t{1} << 24;        // of a method
  uint64_t max_instructions = uint64_t{1} << 24;  // of a method, in all chains
  uint64_t max_delegates = 4096;                  // of a method
  // Payloads of a method's delegates together. Several may name the same bytes of the file, and a plugin works through each.
  uint64_t max_payload_bytes = uint64_t{64} << 30;
  uint64_t max_scratch_bytes = uint64_t{4} << 30;  // of one kernel, and of one delegate
  // Instructions that one run may execute when RunLimits says nothing. A program without a jump back stays far below. One that loops
  // for ever ends here; the emptiest loop takes about ten seconds to get there.
  uint64_t max_run_instructions = uint64_t{1} << 32;
};

}  // namespace etb::host
