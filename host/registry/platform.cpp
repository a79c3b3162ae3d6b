// SPDX-License-Identifier: Apache-2.0
#include "host/registry/platform.hpp"

#include <sys/utsname.h>

#include <algorithm>

#include "host/registry/elf_file.hpp"

#if defined(__ANDROID__)
#include <android/api-level.h>
#endif

namespace etb::host {
namespace {

#if defined(__x86_64__)
constexpr const char* kArch = "x86_64";
#elif defined(__aarch64__)
constexpr const char* kArch = "aarch64";
#elif defined(__i386__)
constexpr const char* kArch = "x86";
#elif defined(__arm__)
constexpr const char* kArch = "arm";
#elif defined(__riscv) && __riscv_xlen == 64
constexpr const char* kArch = "riscv64";
#else
constexpr const char* kArch = "unknown";
#endif

// Returns the reason why this library does not suit the machine, or "".
std::string misfit(const LibraryEntry& entry, const Platform& platform) {
  if (entry.os != platform.os) return "for os " + entry.os + ", here is " + platform.os;
  if (normalise_arch(entry.arch) != platform.arch)
    return "for arch " + entry.arch + ", here is " + platform.arch;
  if (!entry.libc.empty() && entry.libc != platform.libc)
    return "for libc " + entry.libc + ", here is " + platform.libc;
  if (entry.api_level > platform.api_level)
    return "for api level " + std::to_string(entry.api_level) + ", here is " +
           std::to_string(platform.api_level);
  std::string missing;
  for (const std::string& feature : entry.cpu)
    if (!std::binary_search(platform.cpu.begin(), platform.cpu.end(), feature))
      missing += (missing.empty() ? "" : ", ") + feature;
  return missing.empty() ? "" : "the processor lacks " + missing;
}

bool is_better(const LibraryEntry& a, const LibraryEntry& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.cpu.size() > b.cpu.size();
}

Platform ask_platform() {
  Platform platform;
  platform.arch = kArch;
  platform.cpu = detect_cpu_feature_names();
  utsname names{};
  if (::uname(&names) == 0) platform.kernel = names.release;
#if defined(__ANDROID__)
  platform.os = "android";
  platform.libc = "bionic";
  platform.api_level = static_cast<uint32_t>(android_get_device_api_level());
#else
  platform.os = "linux";
#if defined(__GLIBC__)
  platform.libc = "glibc";
#else
  platform.libc = "musl";
#endif
#endif
  return platform;
}

}  // namespace

const Platform& detect_platform() {
  static const Platform kPlatform = ask_platform();  // constant while this process runs
  return kPlatform;
}

LibraryChoice choose_library(const std::vector<LibraryEntry>& libraries, const Platform& platform) {
  LibraryChoice choice;
  for (const LibraryEntry& entry : libraries)
    if (misfit(entry, platform).empty() && (choice.entry == nullptr || is_better(entry, *choice.entry)))
      choice.entry = &entry;
  for (size_t i = 0; i < libraries.size(); ++i) {
    if (&libraries[i] == choice.entry) continue;
    const std::string reason = misfit(libraries[i], platform);
    choice.reasons.push_back("libraries[" + std::to_string(i) +
                             "]: " + (reason.empty() ? "suits, but ranks lower" : reason));
  }
  return choice;
}

}  // namespace etb::host
