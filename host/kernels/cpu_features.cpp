// SPDX-License-Identifier: Apache-2.0
// Choosing among the variants that this build holds (ETB_HAS_AVX2 and ETB_HAS_AVX512 come from CMake).
#include "host/kernels/cpu_features.hpp"

namespace etb::host {

namespace baseline {
extern const VectorTable kTable;
}
#if defined(ETB_HAS_AVX2)
namespace avx2 {
extern const VectorTable kTable;
}
#endif
#if defined(ETB_HAS_AVX512)
namespace avx512 {
extern const VectorTable kTable;
}
#endif

CpuFeatures detect_cpu_features() noexcept {
  CpuFeatures features;
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  features.has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  features.has_avx512 = features.has_avx2 && __builtin_cpu_supports("avx512f") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl");
#endif
  return features;
}

const VectorTable& select_vector_table([[maybe_unused]] CpuFeatures features) noexcept {
#if defined(ETB_HAS_AVX512)
  if (features.has_avx512) return avx512::kTable;
#endif
#if defined(ETB_HAS_AVX2)
  if (features.has_avx2) return avx2::kTable;
#endif
  return baseline::kTable;
}

const VectorTable& baseline_vector_table() noexcept { return baseline::kTable; }

}  // namespace etb::host
