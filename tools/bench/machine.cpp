// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/machine.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>

namespace etb::bench {
namespace {

// Returns the value of the first line "key : value" of a file of /proc.
std::string value_of(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

}  // namespace

Machine describe_machine() {
  Machine out;
  utsname names{};
  if (::uname(&names) == 0) {
    out.name = names.nodename;
    out.system = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  }
  out.cpu = value_of("/proc/cpuinfo", "model name");
  if (out.cpu.empty()) out.cpu = value_of("/proc/cpuinfo", "Hardware");
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
    out.processors = static_cast<uint32_t>(CPU_COUNT(&allowed));
  out.cores_of_machine = static_cast<uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  out.memory_nbytes = std::strtoull(value_of("/proc/meminfo", "MemTotal").c_str(), nullptr, 10) << 10;
  std::ifstream("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") >> out.governor;
  std::array<double, 1> loads{};
  if (::getloadavg(loads.data(), 1) == 1) out.load = loads[0];
  return out;
}

std::vector<std::string> disturbances(const Machine& machine, uint32_t most_threads) {
  std::vector<std::string> out;
  if (!machine.governor.empty() && machine.governor != "performance")
    out.push_back(fmt::format("the frequency governor is '{}': the clock of the processor may change",
                              machine.governor));
  if (machine.load > machine.cores_of_machine)
    out.push_back(fmt::format("the load average is {:.1f} on {} processors: other work is running",
                              machine.load, machine.cores_of_machine));
  if (most_threads > machine.processors)
    out.push_back(
        fmt::format("{} threads on {} processors wait for each other", most_threads, machine.processors));
  return out;
}

double busy_seconds() {
  std::ifstream in("/proc/stat");
  std::string word;
  in >> word;
  // user, nice, system, idle, waiting for a disk, interrupts, stolen
  std::array<double, 8> ticks{};
  for (double& value : ticks) in >> value;
  if (!in || word != "cpu") return 0;
  const double busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6];
  return busy / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double cpu_seconds(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace etb::bench
