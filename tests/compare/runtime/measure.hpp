// What both programs of the comparison measure, in the same way: load + init many times over, runs of one method, peak memory.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

inline double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

// Of this program: getrusage would also count what its parent had before exec.
inline long peak_rss_kb() {
  long kb = 0;
  if (std::FILE* status = std::fopen("/proc/self/status", "r")) {
    for (char line[256]; std::fgets(line, sizeof(line), status) != nullptr;) {
      if (std::strncmp(line, "VmHWM:", 6) == 0) kb = std::strtol(line + 6, nullptr, 10);
    }
    std::fclose(status);
  }
  return kb;
}

// `load()` makes everything anew and returns what `run(loaded)` executes once.
template <class Load, class Run>
int measure(int argc, char** argv, Load load, Run run) {
  const int load_count = argc > 2 ? std::atoi(argv[2]) : 50;
  const double run_seconds = argc > 3 ? std::atof(argv[3]) : 0.3;
  std::vector<double> loads;
  for (int i = 0; i < load_count; ++i) {
    const double begin = now_us();
    auto loaded = load();
    loads.push_back(now_us() - begin);
  }
  const double cold_us = loads.front();
  auto loaded = load();
  run(loaded);
  std::vector<double> runs;
  const double end = now_us() + run_seconds * 1e6;
  while (runs.size() < 5 || now_us() < end) {
    // Short runs are timed in groups, so that the clock is no part of them.
    constexpr int kGroup = 20;
    const double begin = now_us();
    for (int i = 0; i < kGroup; ++i) run(loaded);
    runs.push_back((now_us() - begin) / kGroup);
    if (runs.back() > 1e5) break;
  }
  std::printf(
      "{\"cold_load_us\": %.3f, \"load_us\": %.3f, \"run_us\": %.4f, \"min_run_us\": %.4f, \"peak_rss_kb\": "
      "%ld}\n",
      cold_us, median(loads), median(runs), *std::min_element(runs.begin(), runs.end()), peak_rss_kb());
  return 0;
}
