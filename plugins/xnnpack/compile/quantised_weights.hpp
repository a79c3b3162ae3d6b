// SPDX-License-Identifier: Apache-2.0
// Constants of layers that compute on integers.
#pragma once

#include "plugins/xnnpack/compile/lowering_context.hpp"

namespace etb::xnnpack {

// Adds a filter from constant `weight`; `channel_dim` is the dimension of its outputs.
[[nodiscard]] Result<uint32_t> add_filter(LoweringContext& context, const ConstantPtr& filter,
                                          uint32_t weight, uint32_t channel_dim, XnnDatatype datatype);
// As add_filter, for a layer with a dynamically quantised input: int8 with one scale per output.
[[nodiscard]] Result<uint32_t> add_dynamic_filter(LoweringContext& context, const ConstantPtr& filter,
                                                  uint32_t weight, size_t outputs);
// Adds the bias. On integers, its step is input scale times weight scale.
[[nodiscard]] Result<uint32_t> add_bias(LoweringContext& context, const ConstantPtr& bias, uint32_t input,
                                        uint32_t filter);
// Rejects a layer on integers whose products are multiplied by more than XNNPACK accepts to become codes of `output`.
[[nodiscard]] Status check_multipliers(LoweringContext& context, uint32_t input, uint32_t filter,
                                       uint32_t output);

}  // namespace etb::xnnpack
