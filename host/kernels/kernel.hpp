// SPDX-License-Identifier: Apache-2.0
// The include of every kernel file, and the macro that publishes its rows.
#pragma once

#include "etb/cpp/fail.hpp"
#include "host/kernels/elementwise.hpp"
#include "host/kernels/long_loops.hpp"
#include "host/runtime/kernel_arguments.hpp"
#include "host/runtime/kernel_registry.hpp"

// ETB_PUBLISH_KERNELS(relu, kRows) at the end of relu.cpp, inside namespace etb::host: makes the rows known to the table that
// etb_add_kernels() generates. Constant data, no initialiser runs.
#if defined(ETB_SELECTED_KERNELS)
#include "host/kernels/selected_rows.hpp"
#define ETB_PUBLISH_KERNELS(file, rows)   \
  extern const KernelRows kernels_##file; \
  constinit const KernelRows kernels_##file = SelectedRows<rows>::kRows
#else
#define ETB_PUBLISH_KERNELS(file, rows)   \
  extern const KernelRows kernels_##file; \
  constinit const KernelRows kernels_##file(rows)
#endif
