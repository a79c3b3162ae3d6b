// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/processors.hpp"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <vector>

#include "tools/run/method_inputs.hpp"

namespace etb::bench {
namespace {

namespace fs = std::filesystem;

std::string system_error() { return std::generic_category().message(errno); }

std::optional<cpu_set_t> read_list(const std::string& text) {
  cpu_set_t out;
  CPU_ZERO(&out);
  for (const std::string& item : tools::split_commas(text)) {
    unsigned first = 0, last = 0;
    const char* const end = item.data() + item.size();
    auto [at, error] = std::from_chars(item.data(), end, first);
    last = first;
    if (error == std::errc() && at != end && *at == '-') {
      const auto second = std::from_chars(at + 1, end, last);
      at = second.ptr;
      error = second.ec;
    }
    if (error != std::errc() || at != end || last < first || last >= CPU_SETSIZE) return {};
    for (unsigned i = first; i <= last; ++i) CPU_SET(i, &out);
  }
  return out;
}

std::string line_of(const std::string& path) {
  std::string line;
  std::ifstream in(path);
  std::getline(in, line);
  return line;
}

}  // namespace

Result<cpu_set_t> parse_processors(const std::string& text) {
  const auto out = read_list(text);
  if (!out)
    return make_error(Code::INVALID_ARGUMENT,
                      fmt::format("--cpus '{}', expected a list such as 0,2-3", text));
  return *out;
}

Status run_on(const std::string& processors) {
  ETB_ASSIGN(const cpu_set_t allowed, parse_processors(processors));
  if (::sched_setaffinity(0, sizeof allowed, &allowed) == 0) return {};
  return make_error(Code::INVALID_ARGUMENT,
                    fmt::format("cannot run on processors {}: {}", processors, system_error()));
}

Status run_on_node(uint32_t node) {
  const std::string nodes = "/sys/devices/system/node/";
  const auto allowed = read_list(line_of(fmt::format("{}node{}/cpulist", nodes, node)));
  if (!allowed || CPU_COUNT(&*allowed) == 0)
    return make_error(Code::INVALID_ARGUMENT,
                      fmt::format("NUMA node {}: it has no processors; nodes of this machine: {}", node,
                                  line_of(nodes + "has_cpu")));
  if (::sched_setaffinity(0, sizeof *allowed, &*allowed) != 0)
    return make_error(Code::INVALID_ARGUMENT,
                      fmt::format("cannot run on the processors of NUMA node {}: {}", node, system_error()));
  constexpr size_t kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask(node / kBits + 1);
  mask.back() = 1UL << (node % kBits);
  // The system reads one bit less than the argument states.
  if (::syscall(SYS_set_mempolicy, MPOL_BIND, mask.data(), mask.size() * kBits + 1) == 0) return {};
  return make_error(Code::ACCESS_FAILED,
                    fmt::format("cannot bind memory to NUMA node {}: {}\nhint: a container "
                                "may forbid it; --cpus chooses processors alone",
                                node, system_error()));
}

Status pin_threads() {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return make_error(Code::NOT_SUPPORTED, "cannot read the processors of the process: " + system_error());
  std::vector<unsigned> processors;
  for (unsigned i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &allowed)) processors.push_back(i);
  std::vector<pid_t> threads;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/proc/self/task", failed))
    threads.push_back(static_cast<pid_t>(std::stol(entry.path().filename().string())));
  std::sort(threads.begin(), threads.end());
  for (size_t i = 0; i < threads.size(); ++i) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processors[i % processors.size()], &one);
    if (::sched_setaffinity(threads[i], sizeof one, &one) != 0)
      return make_error(Code::NOT_SUPPORTED, "cannot pin a thread: " + system_error());
  }
  return {};
}

}  // namespace etb::bench
