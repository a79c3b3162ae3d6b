// SPDX-License-Identifier: Apache-2.0
// Detects the features that the processor has and the system supports. Asks the processor itself, because
// compilers know different lists.
#include <algorithm>

#include "host/registry/platform.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace etb::host {
namespace {

#if defined(__x86_64__) || defined(__i386__)

struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf leaf(unsigned number, unsigned subleaf) {
  Leaf out;
  // Leaves zeros when there is no such leaf.
  __get_cpuid_count(number, subleaf, &out.eax, &out.ebx, &out.ecx, &out.edx);
  return out;
}

// Returns the register state that the system saves. Without OSXSAVE it saves none of the wide registers.
uint64_t saved_state(const Leaf& first) {
  constexpr unsigned kOsxsave = 1u << 27;
  if ((first.ecx & kOsxsave) == 0) return 0;
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

// Each leaf is read once, because CPUID costs tens of microseconds in a virtual machine.
struct Leaves {
  Leaf l1_0 = leaf(1, 0);
  Leaf l7_0 = leaf(7, 0);
  Leaf l7_1 = leaf(7, 1);
};

void detect(std::vector<std::string>& out) {
  const Leaves leaves;
  const uint64_t state = saved_state(leaves.l1_0);
#define ETB_CPU_FEATURE(name, number, subleaf, reg, bit, needed)                             \
  if ((leaves.l##number##_##subleaf.reg >> (bit)&1u) != 0 && (state & (needed)) == (needed)) \
    out.emplace_back(name);
#include "host/registry/cpu_features_x86.def"
#undef ETB_CPU_FEATURE
}

#elif defined(__aarch64__)

void detect(std::vector<std::string>& out) {
  const unsigned long words[] = {0, getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
#define ETB_CPU_FEATURE(name, word, bit) \
  if ((words[word] >> (bit)&1ul) != 0) out.emplace_back(name);
#include "host/registry/cpu_features_aarch64.def"
#undef ETB_CPU_FEATURE
}

#else

void detect(std::vector<std::string>&) {}

#endif

}  // namespace

std::vector<std::string> detect_cpu_feature_names() {
  std::vector<std::string> features;
  detect(features);
  std::sort(features.begin(), features.end());
  return features;
}

}  // namespace etb::host
