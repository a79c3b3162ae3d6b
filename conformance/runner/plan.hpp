// What a run does: the plugin, the items, the limits.
#pragma once

#include <string>
#include <vector>

#include "conformance/checks/check.hpp"
#include "conformance/runner/confinement.hpp"
#include "conformance/runner/usage.hpp"

namespace etb::conformance {

// A case or a check.
struct Item {
  std::string name;
  const Case* item = nullptr;
  const Check* check = nullptr;
  const Outcome* to_minimise = nullptr;  // the case failed so: its child sends a smaller one that does
};

class Keeper;

// A program that is watched by a sanitizer takes this many times longer, and so do the plugins in it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr uint32_t kTimeScale = 10;
#else
inline constexpr uint32_t kTimeScale = 1;
#endif

struct Plan {
  SubjectSpec subject;
  PrecisionContract contract;
  std::vector<Item> items;
  uint32_t worker_count = 1;
  uint32_t batch_size = 1000;  // cases a child runs; a check has a child of its own
  uint32_t case_timeout_ms = 10000;
  uint32_t check_timeout_ms = 60000;
  UsageLimits limits;             // of the processes of one child
  uint64_t deadline_ns = 0;       // on the monotonic clock; what has not run by then is left out. 0: none
  bool has_network = false;       // children keep the network, where they could be cut off from it
  Confinement confinement;        // of the processes that hold the plugin
  Latency latency;                // of the plugin, as measured before the first check
  pid_t main_pid = 0;             // of the process that the user started
  bool confirms = true;           // failures run again alone, and become smaller
  uint32_t minimise_ms = 120000;  // how long that may take in all
  Keeper* keeper = nullptr;       // of this run's processes and temporary files
};

}  // namespace etb::conformance
