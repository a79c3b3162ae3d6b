// SPDX-License-Identifier: Apache-2.0
// Graphs of one op with a large constant, to measure memory with.
#pragma once

#include "conformance/cases/case_builder.hpp"

namespace etb::conformance {

// A linear layer, products of matrices and of batches, a pointwise convolution, and a sum.
enum class ConstantUse { kLinear, kProduct, kBatchProduct, kFilter, kSum };
inline constexpr ConstantUse kConstantUses[] = {ConstantUse::kLinear, ConstantUse::kProduct,
                                                ConstantUse::kBatchProduct, ConstantUse::kFilter,
                                                ConstantUse::kSum};

// Returns a case with a float32 constant of rows x rows elements. Names have constants of their own.
Result<BuiltCase> with_constant(ConstantUse use, int64_t rows, std::string_view name);

// Returns a case whose node adds the same constant, in the same shape, to an input.
Result<BuiltCase> with_same_constant_added(ConstantUse use, int64_t rows, std::string_view name);

}  // namespace etb::conformance
