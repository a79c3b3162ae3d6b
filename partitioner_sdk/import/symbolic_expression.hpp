// Symbolic sizes of an archive: sympy's srepr ("Add(Symbol('s0', positive=True), Integer(1))") and, in old files, plain text
// ("2*s0 + 1").
#pragma once

#include <string_view>

#include "partitioner_sdk/ir/symbols.hpp"

namespace etb::pt2 {

// Symbols that the table lacks are added without bounds. NOT_SUPPORTED names a function that formulas over ints do not have
// (ToFloat, Piecewise, comparisons); INVALID_DATA is no expression at all.
[[nodiscard]] Result<ir::Dim> parse_expression(std::string_view text, ir::SymbolTable& symbols);

}  // namespace etb::pt2
