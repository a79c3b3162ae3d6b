// SPDX-License-Identifier: Apache-2.0
// Internal to printer and parser: converts the words of the closed lists (etb/graph_kinds.def,
// etb/dtype.def), both ways.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace etb::graph {

struct Word {
  int64_t code;
  std::string_view text;
};

inline constexpr Word kInputKindWords[] = {
#define ETB_GRAPH_INPUT_KIND(name, value, text) {value, text},
#include "etb/graph_kinds.def"
};

inline constexpr Word kValueKindWords[] = {
#define ETB_GRAPH_VALUE_KIND(name, value, text) {value, text},
#include "etb/graph_kinds.def"
};

inline constexpr Word kQuantSchemeWords[] = {
#define ETB_GRAPH_QUANT_SCHEME(name, value, text) {value, text},
#include "etb/graph_kinds.def"
};

inline constexpr Word kLayoutWords[] = {
#define ETB_GRAPH_LAYOUT(name, value, text) {value, text},
#include "etb/graph_kinds.def"
};

inline constexpr Word kMemoryFormatWords[] = {
#define ETB_GRAPH_MEMORY_FORMAT(name, value, text) {value, text},
#include "etb/graph_kinds.def"
};

inline constexpr Word kDtypeWords[] = {
#define ETB_DTYPE(name, value, bits, text) {value, text},
#include "etb/dtype.def"
#undef ETB_DTYPE
    // Only the compiler's modules have these (api/ops/dtype.hpp); images with them are rejected.
    {8, "complex32"}, {9, "complex64"}, {10, "complex128"},
};

template <size_t N>
constexpr std::string_view text_of(const Word (&words)[N], int64_t code) {
  for (const Word& word : words) {
    if (word.code == code) return word.text;
  }
  return "?";
}

template <size_t N>
constexpr std::optional<int64_t> find_code(const Word (&words)[N], std::string_view text) {
  for (const Word& word : words) {
    if (word.text == text) return word.code;
  }
  return std::nullopt;
}

}  // namespace etb::graph
