// SPDX-License-Identifier: Apache-2.0
// Function of the op my::scale: out = x * factor.
#pragma once

#include "host/runtime/evalue.hpp"
#include "host/runtime/kernel_context.hpp"

namespace my {

etb_status scale(etb::host::KernelContext& context, const etb::host::Tensor& x, double factor,
                 etb::host::Tensor& out);

}  // namespace my
