// SPDX-License-Identifier: Apache-2.0
// The portable kernels as one table to add to a registry.
#pragma once

#include "host/kernels/cpu_features.hpp"
#include "host/runtime/kernel_registry.hpp"

namespace etb::host {

// Adds every portable kernel and makes the registry's kernels use the hot loops that suit `features`. Returns what
// KernelRegistry::add returns.
etb_status add_portable_kernels(KernelRegistry& registry,
                                CpuFeatures features = detect_cpu_features()) noexcept;

}  // namespace etb::host
