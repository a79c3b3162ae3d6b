// SPDX-License-Identifier: Apache-2.0
// Measurements shared by both programs of the comparison: time to the first result, repeated load and init,
// runs of one method, peak memory.
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

// Peak of this program only: getrusage would include its parent's peak before exec.
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

// `load()` creates new objects, and `run(loaded)` executes the result once.
template <class Load, class Run>
int measure(int argc, char** argv, Load load, Run run) {
  const int load_count = argc > 2 ? std::atoi(argv[2]) : 50;
  const double run_seconds = argc > 3 ? std::atof(argv[3]) : 0.3;
  const char* start_ns = std::getenv("COMPARE_START_NS");  // the parent's clock when it started this process
  const double begin = now_us();
  auto loaded = load();
  const double cold_us = now_us() - begin;
  const double first_begin = now_us();
  run(loaded);
  const double first_us = now_us() - first_begin;
  const double start_us = start_ns == nullptr ? 0 : now_us() - std::atof(start_ns) / 1e3;
  run(loaded);  // includes memory that grows during the first run
  const long rss_kb = peak_rss_kb();
  std::vector<double> loads;
  for (int i = 0; i < load_count; ++i) {
    const double load_begin = now_us();
    auto another = load();
    loads.push_back(now_us() - load_begin);
  }
  // Short runs are timed in groups, so that reading the clock does not count; long ones are few.
  const int group = first_us < 1e3 ? 20 : 1;
  const size_t least = first_us < 1e5 ? 5 : 2;
  std::vector<double> runs;
  const double end = now_us() + run_seconds * 1e6;
  while (runs.size() < least || now_us() < end) {
    const double run_begin = now_us();
    for (int i = 0; i < group; ++i) run(loaded);
    runs.push_back((now_us() - run_begin) / group);
  }
  std::printf(
      "{\"start_us\": %.1f, \"cold_load_us\": %.3f, \"load_us\": %.3f, \"first_run_us\": %.3f, \"run_us\": "
      "%.4f, "
      "\"min_run_us\": %.4f, \"peak_rss_kb\": %ld}\n",
      start_us, cold_us, median(loads), first_us, median(runs), *std::min_element(runs.begin(), runs.end()),
      rss_kb);
  return 0;
}
