// SPDX-License-Identifier: Apache-2.0
// In a run time that etb_add_runtime() made, the core asks its kernels about dtypes when a method is loaded.
#pragma once

#include "host/runtime/kernel_registry.hpp"

namespace etb::host {

// Returns ETB_NOT_SUPPORTED, with the argument, if a portable kernel would meet a dtype that is not selected. Other kernels
// may have any. A call may have fewer arguments than its kernel: programs are not trusted, and the check of arguments comes later.
// Defined in host/kernels/portable.cpp.
etb_status check_selected_call(KernelContext& context, const Kernel& kernel,
                               std::span<EValue* const> arguments) noexcept;

}  // namespace etb::host
