// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/elementwise.hpp"

#include <algorithm>

#include "conformance/cases/generators.hpp"

namespace etb::conformance {

bool takes(unsigned taken, etb_dtype dtype) {
  const unsigned bit = is_floating(dtype)        ? kTakesFloat
                       : dtype == ETB_DTYPE_BOOL ? kTakesBool
                                                 : kTakesInteger;
  return (taken & bit) != 0;
}

etb_dtype result_dtype(Gives gives, etb_dtype dtype) {
  if (gives == Gives::kBool) return ETB_DTYPE_BOOL;
  return gives == Gives::kReal && !is_floating(dtype) ? ETB_DTYPE_FLOAT32 : dtype;
}

std::vector<Shape> unary_shapes(etb_dtype dtype) {
  std::vector<Shape> out;
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{},
                                                                             {1},
                                                                             {7},
                                                                             {16},
                                                                             {65},
                                                                             {1031},
                                                                             {3, 5},
                                                                             {2, 3, 4},
                                                                             {2, 3, 4, 5},
                                                                             {2, 1, 3, 2, 2},
                                                                             {0},
                                                                             {2, 0, 3}})
    out.push_back({dtype, sizes, {}});
  out.push_back({dtype, {2, 3, 4, 5}, channels_last(4)});
  return out;
}

const std::vector<ShapePair>& shape_pairs() {
  static const std::vector<ShapePair> pairs = {
      {{7}, {7}},
      {{65}, {65}},
      {{1031}, {1031}},
      {{1024}, {1024}},  // whole pages of 4-byte elements, with guard pages on both sides
      {{2, 3}, {2, 3}},
      {{2, 3}, {3}},
      {{3}, {2, 3}},
      {{2, 3}, {2, 1}},
      {{2, 1, 4}, {3, 1}},
      {{4}, {1}},
      {{2, 3, 4}, {}},
      {{2, 3, 4, 5}, {2, 3, 4, 5}},
      {{2, 3, 4, 5}, {3, 1, 1}},
      {{1, 3, 1, 5}, {2, 1, 4, 1}},
      {{2, 3, 4, 5}, {2, 3, 4, 5}, true, true},
      {{2, 3, 4, 5}, {3, 1, 1}, true, false},
      {{2, 3, 4, 5}, {2, 3, 4, 5}, true, false},
      {{}, {}},
      {{0}, {0}},
      {{2, 0}, {1, 1}},
      {{3}, {3, 3}},  // equal sizes as far as the shorter one has any
      {{3, 3}, {3}},
  };
  return pairs;
}

std::vector<int64_t> broadcast(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

Shape shaped(etb_dtype dtype, const std::vector<int64_t>& sizes, bool is_last) {
  return {dtype, sizes, is_last ? channels_last(sizes.size()) : std::vector<uint8_t>{}};
}

std::string name_of(const char* op, etb_dtype dtype, const std::string& sizes, Values values, bool is_edge) {
  std::string word = op_word(op);
  if (is_edge) word = "edge" + word.substr(2);
  return word + "." + short_name(dtype) + "." + sizes + "." + to_text(values);
}

bool is_edge_shape(const Shape& shape) { return shape.numel() == 0 || shape.sizes.empty(); }

void add_elementwise(CaseList& out) {
  add_unary(out);
  add_binary(out);
  add_selection(out);
  add_limited(out);
  add_conversions(out);
}

}  // namespace etb::conformance
