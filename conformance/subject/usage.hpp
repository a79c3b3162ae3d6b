// SPDX-License-Identifier: Apache-2.0
// Resources that processes use together: count, memory, and files that no folder shows.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace etb::conformance {

// Limits for the processes of one plugin together.
struct UsageLimits {
  uint64_t address_bytes = uint64_t{6} << 30;      // each process; 0: no limit
  uint64_t resident_bytes = uint64_t{6} << 30;     // all processes together; 0: no limit
  uint64_t hidden_bytes = uint64_t{512} << 20;     // files of memory (memfd) and deleted files
  uint64_t file_bytes = uint64_t{512} << 20;       // each file
  uint64_t temporary_bytes = uint64_t{256} << 20;  // the temporary folder, and /dev/shm
  uint32_t processes = 64;
};

// Returns live processes below `root`, without it. In its own process namespace these are all but `root`.
std::vector<pid_t> processes_below(pid_t root, bool is_namespace);

// Returns "name, name", of at most a few.
std::string names_of(const std::vector<pid_t>& pids);

// Returns the usage beyond the limits, or "".
std::string excess_of(const std::vector<pid_t>& pids, const UsageLimits& limits);

struct FolderUsage {
  uint64_t nbytes = 0;
  uint32_t socket_count = 0;  // sockets and other files for communication between processes
};
// Does not follow links.
FolderUsage usage_of_folder(const std::string& folder);

}  // namespace etb::conformance
