// SPDX-License-Identifier: Apache-2.0
// Inputs of a run: the plugin, the items, the limits.
#pragma once

#include <string>
#include <vector>

#include "conformance/checks/check.hpp"
#include "conformance/process/confinement.hpp"
#include "conformance/subject/monotonic_clock.hpp"
#include "conformance/subject/sanitizer.hpp"
#include "conformance/subject/usage.hpp"

namespace etb::conformance {

// A case or a check.
struct Item {
  std::string name;
  const Case* item = nullptr;
  const Check* check = nullptr;
  const Outcome* to_minimise = nullptr;  // the failure for which the child searches a smaller case
};

class CleanupProcess;

struct Plan {
  SubjectSpec subject;
  PrecisionContract contract;
  std::vector<Item> items;
  uint32_t worker_count = 1;
  bool may_add_workers = false;  // for a plugin that waits most of its time
  uint32_t batch_size = 1000;    // cases per child; each check has its own child
  uint32_t case_timeout_ms = 10000;
  uint32_t check_timeout_ms = 60000;
  UsageLimits limits;                 // limits of the processes of one child
  uint64_t deadline_ns = 0;           // on the monotonic clock; later items are not run. 0: none
  bool has_network = false;           // children keep the network, even if they could be cut off
  Confinement confinement;            // confinement of the processes that hold the plugin
  Latency latency;                    // the plugin's latency, as measured before the first check
  pid_t main_pid = 0;                 // process that the user started
  bool confirms = true;               // repeats and minimises failures
  bool fail_fast = false;             // the first failure ends the run; later items are not run
  uint32_t minimise_ms = 120000;      // limit for all of that
  CleanupProcess* cleanup = nullptr;  // ends this run's processes, removes its temporary files

  // True after the deadline.
  bool is_late() const { return deadline_ns != 0 && monotonic_ns() >= deadline_ns; }
};

}  // namespace etb::conformance
