// SPDX-License-Identifier: Apache-2.0
// Graphs of one op with a large constant, to measure memory with.
#pragma once

#include "conformance/cases/case_builder.hpp"

namespace etb::conformance {

enum class ConstantUse { kLinear, kProduct, kSum };
inline constexpr ConstantUse kConstantUses[] = {ConstantUse::kLinear, ConstantUse::kProduct,
                                                ConstantUse::kSum};

// Returns a case with a float32 constant of [rows, rows]. Names have constants of their own.
Result<BuiltCase> with_constant(ConstantUse use, int64_t rows, std::string_view name);

}  // namespace etb::conformance
