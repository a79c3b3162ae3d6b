// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/sanitizer.hpp"

#include <algorithm>
#include <fstream>

namespace etb::conformance {
namespace {

bool is_mapped() {
  std::ifstream in("/proc/self/maps");
  for (std::string line; std::getline(in, line);)
    if (is_sanitizer_library(line.substr(line.rfind('/') + 1))) return true;
  return false;
}

}  // namespace

bool has_sanitizer() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr bool is_in_program = true;
#else
  constexpr bool is_in_program = false;
#endif
  static const bool found = is_in_program || is_mapped();
  return found;
}

bool is_sanitizer_library(const std::string& name) {
  for (const char* begin : {"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so", "libclang_rt.asan",
                            "libclang_rt.tsan", "libclang_rt.hwasan", "libclang_rt.lsan"})
    if (name.rfind(begin, 0) == 0) return true;
  return false;
}

std::string find_sanitizer_report(const std::string& printed) {
  constexpr size_t kMostBytes = 6000;
  size_t at = std::string::npos;
  for (const char* mark : {"ERROR: AddressSanitizer", "ERROR: HWAddressSanitizer", "ERROR: LeakSanitizer",
                           "WARNING: ThreadSanitizer", "FATAL: ThreadSanitizer", "runtime error: "})
    at = std::min(at, printed.find(mark));
  return at == std::string::npos ? "" : printed.substr(at, kMostBytes);
}

}  // namespace etb::conformance
