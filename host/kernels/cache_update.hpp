// SPDX-License-Identifier: Apache-2.0
// Writing new rows into a cache of keys or values.
#pragma once

#include "host/kernels/elementwise.hpp"

namespace etb::host {

// Stores value [batch, n, heads, size] in cache [batch, positions, heads, size]: row i at position start + i, or at
// indices[batch][i]. All positions are checked before the cache is written.
etb_status update_cache(KernelContext& context, const Tensor& value, Tensor& cache, int64_t start,
                        const Tensor* indices) noexcept;

}  // namespace etb::host
