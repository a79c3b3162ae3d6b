// SPDX-License-Identifier: Apache-2.0
// Running matrix products within a kernel's scratch.
#pragma once

#include "host/kernels/elementwise.hpp"

namespace etb::host {

// Scratch with which a product of these sizes runs at full speed.
uint64_t gemm_scratch_nbytes(const GemmTask& task, Compute compute) noexcept;

// Runs a task in the scratch that is left, of which it takes what it can use.
etb_status run_gemm(KernelContext& context, GemmTask& task, Compute compute) noexcept;

}  // namespace etb::host
