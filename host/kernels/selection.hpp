// SPDX-License-Identifier: Apache-2.0
// Dtypes of the run time that is compiled: all, or those of etb_add_runtime() (tools/cmake/EtbRuntime.cmake). Files that are compiled
// once for each kind of CPU include it, so it uses no library.
//
// The header that ETB_SELECTED_KERNELS names defines ETB_SELECTED_DTYPES, a set of dtype codes, and ETB_SELECTED_OPS, a list of
// names as programs have them (selected_rows.hpp). Each is optional: without it nothing is left out.
#pragma once

#include <cstdint>

#include "host/runtime/dtype.hpp"

#if defined(ETB_SELECTED_KERNELS)
#include ETB_SELECTED_KERNELS
#endif

namespace etb::host {

constexpr bool is_selected([[maybe_unused]] Dtype dtype) noexcept {
#if defined(ETB_SELECTED_DTYPES)
  return (uint64_t{ETB_SELECTED_DTYPES} >> static_cast<unsigned>(dtype) & 1) != 0;
#else
  return true;
#endif
}

// False in a run time without float64 and complex128: it has no loops in double precision, and compute_of() answers none.
inline constexpr bool kHasFloat64 = is_selected(Dtype::FLOAT64) || is_selected(Dtype::COMPLEX128);

constexpr bool is_float64(Dtype dtype) noexcept { return kHasFloat64 && dtype == Dtype::FLOAT64; }

}  // namespace etb::host
