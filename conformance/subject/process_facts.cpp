// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/process_facts.hpp"

#include <malloc.h>

#include <filesystem>
#include <fstream>

namespace etb::conformance {
namespace {

size_t entry_count(const char* folder) {
  size_t count = 0;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed))
    ++count;
  return count;
}

}  // namespace

size_t open_descriptor_count() { return entry_count("/proc/self/fd"); }
size_t thread_count() { return entry_count("/proc/self/task"); }

size_t mapping_count() {
  std::ifstream in("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(in, line);) ++count;
  return count;
}

size_t heap_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

size_t peak_address_bytes() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.rfind("VmPeak:", 0) == 0) return std::strtoull(line.c_str() + 7, nullptr, 10) * 1024;
  return 0;
}

}  // namespace etb::conformance
