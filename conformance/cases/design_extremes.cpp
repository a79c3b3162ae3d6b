// SPDX-License-Identifier: Apache-2.0
// Rows of which all elements are the lowest or the largest number of their dtype, infinities included: a search that starts
// at a finite number, or at zero, is wrong about them.
#include <cmath>
#include <limits>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::ArgumentDesc;
using graph::bool_arg;
using graph::int_arg;
using graph::ints_arg;
using graph::value_arg;

struct Range {
  double lowest, largest;            // infinities of floats
  double finite_lowest, finite_top;  // equal to the first two for integers
};

Range range_of(etb_dtype dtype) {
  if (is_floating(dtype)) {
    const double largest = float_format(dtype).largest;
    return {-HUGE_VAL, HUGE_VAL, -largest, largest};
  }
  if (dtype == ETB_DTYPE_UINT8) return {0, 255, 0, 255};
  if (dtype == ETB_DTYPE_INT8) return {-128, 127, -128, 127};
  return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max(),
          std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
}

// Element `at` of a row with so many. Some rows have one other element, at another place in each.
double extreme_element(const Range& range, int64_t row, int64_t at, int64_t length) {
  const bool is_other = at == (5 * row + 3) % length;
  switch (row % 6) {
    case 0:
      return range.lowest;
    case 1:
      return range.largest;
    case 2:
      return range.finite_lowest;
    case 3:
      return range.finite_top;
    case 4:
      return is_other ? range.finite_lowest : range.lowest;
    default:
      return is_other ? range.finite_top : range.largest;
  }
}

// Rows along `dim` of two dimensions.
Operand extreme_rows(etb_dtype dtype, const Sizes& sizes, size_t dim) {
  Operand out{{dtype, sizes, {}}};
  out.fill = [sizes, dim, range = range_of(dtype)](TensorData& data, Random&) {
    data = filled(data.shape, [&](int64_t i) {
      const int64_t first = i / sizes[1], second = i % sizes[1];
      return extreme_element(range, dim == 0 ? second : first, dim == 0 ? first : second, sizes[dim]);
    });
  };
  return out;
}

void add_rows(CaseList& out, etb_dtype dtype, const Sizes& sizes, size_t dim) {
  const auto signed_dim = static_cast<int64_t>(dim);
  const Shape same{dtype, sizes, {}}, places{ETB_DTYPE_INT64, sizes, {}};
  const Shape row{dtype, {sizes[1 - dim]}, {}}, place{ETB_DTYPE_INT64, row.sizes, {}};
  const auto add = [&](const char* op, std::vector<ArgumentDesc> args, std::vector<Shape> results) {
    OpForm form{op, {extreme_rows(dtype, sizes, dim)}, {value_arg(0, "self")}, std::move(results)};
    form.args.insert(form.args.end(), args.begin(), args.end());
    if (form.results.size() > 1) form.outputs = {0};  // equal elements have several right places
    form.error_model = exact_model(Rule::kExactValue);
    form.word = "extreme_rows";
    form.group = "edge";
    add_form(out, dtype, std::move(form));
  };
  for (const char* op : {"aten.amax.default", "aten.amin.default"})
    add(op, {ints_arg({signed_dim}, "dim"), bool_arg(false, "keepdim")}, {row});
  for (const char* op : {"aten.argmax.default", "aten.argmin.default"})
    add(op, {int_arg(signed_dim, "dim"), bool_arg(false, "keepdim")}, {place});
  for (const char* op : {"aten.max.dim", "aten.min.dim"})
    add(op, {int_arg(signed_dim, "dim"), bool_arg(false, "keepdim")}, {row, place});
  for (const char* op : {"aten.cummax.default", "aten.cummin.default"})
    add(op, {int_arg(signed_dim, "dim")}, {same, places});
  add("aten.sort.default", {int_arg(signed_dim, "dim"), bool_arg(true, "descending")}, {same, places});
  constexpr int64_t kMost = 3;
  Shape few = same, few_places = places;
  few.sizes[dim] = few_places.sizes[dim] = kMost;
  for (const bool is_largest : {true, false})
    add("aten.topk.default",
        {int_arg(kMost, "k"), int_arg(signed_dim, "dim"), bool_arg(is_largest, "largest"),
         bool_arg(true, "sorted")},
        {few, few_places});
}

// ---- rows of a table that gradients leave out

// Indices that meet padding_idx and the row before it. The forward result has the row as it is.
void add_padded_embeddings(CaseList& out, etb_dtype dtype) {
  constexpr int64_t kRows = 7, kColumns = 9;
  for (const int64_t padding : {int64_t{0}, int64_t{3}, kRows - 1})
    for (const bool is_constant : {true, false})
      for (const etb_dtype index_dtype : {ETB_DTYPE_INT64, ETB_DTYPE_INT32}) {
        Operand indices{{index_dtype, {2, 5}, {}}};
        indices.fill = [padding](TensorData& data, Random&) {
          data = filled(data.shape, [&](int64_t i) {
            return static_cast<double>(i % 3 == 0 ? padding : (padding + i) % kRows);
          });
        };
        OpForm form{"aten.embedding.default",
                    {indices, {{dtype, {kRows, kColumns}, {}}, Values::kStatistical, {1, 9}, is_constant}},
                    {value_arg(1, "weight"), value_arg(0, "indices"), int_arg(padding, "padding_idx")},
                    {{dtype, {2, 5, kColumns}, {}}}};
        form.word = "padding_met";
        form.error_model = exact_model();
        add_form(out, dtype, std::move(form));
      }
}

}  // namespace

void add_extreme_designs(CaseList& out) {
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16, ETB_DTYPE_INT32,
                                ETB_DTYPE_INT8, ETB_DTYPE_UINT8})
    for (const size_t dim : {size_t{0}, size_t{1}})
      add_rows(out, dtype, dim == 0 ? Sizes{37, 12} : Sizes{12, 37}, dim);
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_INT8})
    add_padded_embeddings(out, dtype);
}

}  // namespace etb::conformance
