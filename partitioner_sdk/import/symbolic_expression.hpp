// SPDX-License-Identifier: Apache-2.0
// Parses symbolic sizes of an archive: sympy's srepr ("Add(Symbol('s0', positive=True), Integer(1))") and, in
// old files, plain text ("2*s0 + 1").
#pragma once

#include <string_view>

#include "partitioner_sdk/ir/symbols.hpp"

namespace etb::pt2 {

// Adds missing symbols to the table, without bounds. Errors: NOT_SUPPORTED for a function outside formulas
// over ints (ToFloat, Piecewise, comparisons); INVALID_DATA for text that is no expression.
[[nodiscard]] Result<ir::Dim> parse_expression(std::string_view text, ir::SymbolTable& symbols);

}  // namespace etb::pt2
