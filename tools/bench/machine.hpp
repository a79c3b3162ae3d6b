// SPDX-License-Identifier: Apache-2.0
// The machine that a benchmark runs on, and its signs of disturbance.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace etb::bench {

struct Machine {
  std::string name, cpu, system;
  uint32_t processors = 0;  // that this process may use
  uint32_t cores_of_machine = 0;
  uint64_t memory_nbytes = 0;
  std::string governor;  // of the first processor; "" if the system has none
  double load = 0;       // average of the last minute, before the benchmark
};

Machine describe_machine();

// Warnings before the benchmark: governor, load, more threads than processors.
std::vector<std::string> disturbances(const Machine& machine, uint32_t most_threads);

// Seconds that all processors of the machine were busy since its start; 0 if the system does not report it.
double busy_seconds();
// Seconds of processor time of a process; 0 if it has ended.
double cpu_seconds(pid_t process);

}  // namespace etb::bench
