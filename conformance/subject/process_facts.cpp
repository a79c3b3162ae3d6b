// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/process_facts.hpp"

#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

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

// Returns the number after `key` in /proc/self/status, in bytes.
size_t status_bytes(const char* key) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.rfind(key, 0) == 0)
      return std::strtoull(line.c_str() + std::string_view(key).size(), nullptr, 10) * 1024;
  return 0;
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

void take_freed_blocks() {
  constexpr size_t kLargest = 1032;  // glibc keeps blocks up to this size
  constexpr size_t kStep = 2 * sizeof(size_t);
  constexpr int kStored = 7;  // freed blocks of each size that a thread keeps
  constexpr int kBatch = 64;
  constexpr int kMostBatches = 10000;
  const auto take = [](size_t nbytes) {
    // The compiler could remove a call whose result is not used.
    *static_cast<volatile char*>(std::malloc(nbytes)) = 1;
  };
  for (size_t nbytes = kStep + kStep / 2; nbytes <= kLargest; nbytes += kStep) {
    const size_t grown = nbytes + sizeof(size_t);  // with malloc's own word
    for (int batches = 0, counted = 0; batches < kMostBatches && counted <= kStored;) {
      const size_t before = heap_bytes();
      take(nbytes);
      if (heap_bytes() == before + grown) {
        ++counted;
        continue;
      }
      counted = 0;
      ++batches;
      for (int i = 1; i < kBatch; ++i) take(nbytes);
    }
  }
}

size_t held_bytes() {
  // Large blocks of malloc are mappings of their own, which the loop counts.
  size_t out = ::mallinfo2().uordblks;
  std::ifstream in("/proc/self/smaps");
  constexpr std::string_view kAnonymous = "Anonymous:";
  bool is_heap = false;
  for (std::string line; std::getline(in, line);) {
    size_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx", &begin, &end) == 2)
      is_heap = line.find("[heap]") != std::string::npos;
    else if (!is_heap && line.rfind(kAnonymous, 0) == 0)
      out += std::strtoull(line.c_str() + kAnonymous.size(), nullptr, 10) * 1024;
  }
  return out;
}

size_t peak_address_bytes() { return status_bytes("VmPeak:"); }
size_t locked_bytes() { return status_bytes("VmLck:"); }

size_t mapping_bytes() {
  std::ifstream in("/proc/self/maps");
  size_t out = 0;
  for (std::string line; std::getline(in, line);) {
    size_t begin = 0, end = 0;
    if (line.find("[heap]") == std::string::npos && std::sscanf(line.c_str(), "%zx-%zx", &begin, &end) == 2)
      out += end - begin;
  }
  return out;
}

size_t child_count() {
  size_t count = 0;
  std::error_code failed;
  for (std::filesystem::directory_iterator at("/proc/self/task", failed), end; !failed && at != end;
       at.increment(failed)) {
    std::ifstream in(at->path() / "children");
    for (std::string pid; in >> pid;) ++count;
  }
  return count;
}

size_t temporary_file_count() {
  const char* const folder = std::getenv("TMPDIR");
  if (folder == nullptr) return 0;
  size_t count = 0;
  std::error_code failed;
  for (std::filesystem::recursive_directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed))
    ++count;
  return count;
}

}  // namespace etb::conformance
