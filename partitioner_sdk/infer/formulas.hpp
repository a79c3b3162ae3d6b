// SPDX-License-Identifier: Apache-2.0
// Sizes as formulas: the arithmetic (api/ops/sizes/arithmetic.hpp) that the compiler passes to the operators'
// size rules.
#pragma once

#include <optional>

#include "partitioner_sdk/ir/symbols.hpp"

namespace etb::infer {

class Formulas {
 public:
  using Size = ir::Dim;

  explicit Formulas(ir::SymbolTable& symbols) : symbols_(symbols) {}

  Size add(Size a, Size b) { return symbols_.add(a, b); }
  Size sub(Size a, Size b) { return symbols_.sub(a, b); }
  Size mul(Size a, Size b) { return symbols_.mul(a, b); }
  Size floor_div(Size a, Size b) { return symbols_.floor_div(a, b); }
  Size ceil_div(Size a, Size b) { return symbols_.floor_div(symbols_.add(a, symbols_.sub(b, 1)), b); }
  Size min(Size a, Size b) { return symbols_.min(a, b); }
  Size max(Size a, Size b) { return symbols_.max(a, b); }

  static bool is(Size size, int64_t number) { return size.is(number); }
  static std::optional<int64_t> known(Size size) {
    return size.is_static() ? std::optional(size.value()) : std::nullopt;
  }
  int64_t lowest(Size size) const { return symbols_.range(size).min; }
  int64_t highest(Size size) const { return symbols_.range(size).max; }

  bool has_overflowed() const { return symbols_.is_beyond_limits(); }

 private:
  ir::SymbolTable& symbols_;
};

}  // namespace etb::infer
