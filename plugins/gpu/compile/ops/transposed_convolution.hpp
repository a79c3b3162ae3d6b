// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugins/gpu/compile/lowering_context.hpp"

namespace etb::gpu {

// Lowers aten.convolution of images with `transposed`.
Status lower_transposed_convolution(LoweringContext& context);

}  // namespace etb::gpu
