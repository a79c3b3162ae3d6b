// SPDX-License-Identifier: Apache-2.0
// Features of the processor, and the choice of hot loops for it.
#pragma once

#include "host/kernels/vector/table.hpp"

namespace etb::host {

struct CpuFeatures {
  bool has_avx2 = false;    // with FMA and F16C
  bool has_avx512 = false;  // F, BW, DQ, VL
};

// Asks the processor and the operating system.
CpuFeatures detect_cpu_features() noexcept;

// The best table of this build that the features allow. Features may be cleared by the caller to get a lesser one.
const VectorTable& select_vector_table(CpuFeatures features) noexcept;

// The loops that run on every processor of the target.
const VectorTable& baseline_vector_table() noexcept;

}  // namespace etb::host
