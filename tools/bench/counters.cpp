// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/counters.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "tools/option_values.hpp"

namespace etb::bench {
namespace {

struct Row {
  const char* name;
  uint32_t type;
  uint64_t config;
};

constexpr Row kRows[] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
};

int open_event(const Row& row, bool is_user_only) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = row.type;
  attr.config = row.config;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attr.inherit = 1;
  attr.exclude_kernel = is_user_only ? 1 : 0;
  attr.exclude_hv = 1;
  return static_cast<int>(::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

bool is_permission(int error) { return error == EACCES || error == EPERM; }

tl::unexpected<Error> cannot_count(const Row& row, int error) {
  std::string text = fmt::format("counter '{}': {}", row.name, std::generic_category().message(error));
  if (is_permission(error)) {
    std::string level = "unknown";
    std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> level;
    text += fmt::format(
        "\nhint: /proc/sys/kernel/perf_event_paranoid is {}; a container may forbid counters, too", level);
  } else if (row.type == PERF_TYPE_HARDWARE) {
    text +=
        "\nhint: virtual machines often hide the processor's counters; page-faults and context-switches are "
        "the "
        "system's";
  }
  return make_error(is_permission(error) ? Code::ACCESS_FAILED : Code::NOT_SUPPORTED, std::move(text));
}

}  // namespace

const std::vector<std::string>& counter_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Row& row : kRows) out.emplace_back(row.name);
    return out;
  }();
  return names;
}

Result<Counters> Counters::open(const std::vector<std::string>& names) {
  Counters out;
  for (const std::string& name : names) {
    const Row* const row =
        std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return name == r.name; });
    if (row == std::end(kRows))
      return tl::make_unexpected(tools::unknown_value("--counters", name, counter_names()));
    int event = open_event(*row, false);
    if (event < 0 && is_permission(errno)) {
      event = open_event(*row, true);
      out.is_user_only_ = true;
    }
    if (event < 0) return cannot_count(*row, errno);
    out.events_.emplace_back(event);
  }
  return out;
}

std::vector<double> Counters::read() const {
  std::vector<double> out;
  for (const host::FileDescriptor& event : events_) {
    struct {
      uint64_t count, enabled_ns, running_ns;
    } now{};
    double count = 0;
    if (::read(event.get(), &now, sizeof now) == sizeof now) {
      count = static_cast<double>(now.count);
      if (now.running_ns != 0 && now.running_ns < now.enabled_ns)
        count *= static_cast<double>(now.enabled_ns) / static_cast<double>(now.running_ns);
    }
    out.push_back(count);
  }
  return out;
}

}  // namespace etb::bench
