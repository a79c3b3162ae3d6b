// SPDX-License-Identifier: Apache-2.0
// Sorting and searching: topk, sort, max and min with indices, median, mode, searchsorted. Indices are compared
// where all elements of a row differ.
#include <algorithm>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

// Fills with different numbers in a mixed order; 16-bit floats hold those up to 127 exactly.
void fill_differently(TensorData& data, Random& random) {
  const int64_t count = data.shape.numel();
  if (count == 0) return;
  const int64_t start = random.between(0, count - 1);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t mixed = (i * 37 + start) % 127;
    store_element(data.shape.dtype, data.bytes.data(), i,
                  static_cast<double>(data.shape.dtype == ETB_DTYPE_UINT8 ? mixed : mixed - 60));
  }
}

struct Setting {
  int64_t dim = 0;
  bool flag = false, other_flag = false;
  bool has_ties = false;
  int64_t k = 1;
  uint32_t order = 0;
};

Operand operand_of(etb_dtype dtype, const Sizes& sizes, const Setting& s) {
  Operand out{{dtype, sizes, order_of(sizes.size(), s.order)},
              s.has_ties ? Values::kFew : Values::kStatistical};
  if (!s.has_ties) out.fill = fill_differently;
  return out;
}

OpForm with_indices(const char* op, etb_dtype dtype, const Sizes& sizes, Sizes result, const Setting& s,
                    std::vector<graph::ArgumentDesc> args) {
  OpForm form;
  form.op = op;
  form.operands = {operand_of(dtype, sizes, s)};
  form.args = {value_arg(0, "self")};
  form.args.insert(form.args.end(), args.begin(), args.end());
  form.results = {{dtype, result, {}}, {ETB_DTYPE_INT64, result, {}}};
  if (s.has_ties || form.operands[0].shape.numel() > 127) form.outputs = {0};
  form.error_model = exact_model(Rule::kExactValue);
  return form;
}

Maker topk_maker(etb_dtype dtype, const Setting& s) {
  return [=](const Sizes& sizes) {
    Sizes result = sizes;
    if (!sizes.empty()) result[wrapped(s.dim, sizes.size())] = s.k;
    return with_indices("aten.topk.default", dtype, sizes, result, s,
                        {graph::int_arg(s.k, "k"), graph::int_arg(s.dim, "dim"),
                         graph::bool_arg(s.flag, "largest"), graph::bool_arg(true, "sorted")});
  };
}

Maker sort_maker(etb_dtype dtype, const Setting& s) {
  return [=](const Sizes& sizes) {
    std::vector<graph::ArgumentDesc> args = {graph::int_arg(s.dim, "dim"),
                                             graph::bool_arg(s.flag, "descending")};
    if (s.other_flag) args.insert(args.begin(), graph::bool_arg(true, "stable"));
    OpForm form =
        with_indices(s.other_flag ? "aten.sort.stable" : "aten.sort.default", dtype, sizes, sizes, s, args);
    if (s.other_flag) form.outputs.clear();  // a stable order of equal elements is unique
    return form;
  };
}

Maker extreme_maker(const char* op, etb_dtype dtype, const Setting& s) {
  return [=](const Sizes& sizes) {
    Sizes result = sizes;
    if (!sizes.empty() && s.flag) result[wrapped(s.dim, sizes.size())] = 1;
    if (!sizes.empty() && !s.flag)
      result.erase(result.begin() + static_cast<std::ptrdiff_t>(wrapped(s.dim, sizes.size())));
    OpForm form = with_indices(op, dtype, sizes, result, s,
                               {graph::int_arg(s.dim, "dim"), graph::bool_arg(s.flag, "keepdim")});
    if (s.other_flag) form.outputs = {0};
    return form;
  };
}

// Every second element of a row along `dim` is one number. The others differ from it and from each other; they are larger in
// even rows and smaller in odd ones. The mode is unique. Its index is not.
void fill_with_modes(TensorData& data, const Sizes& sizes, size_t dim) {
  int64_t step = 1;
  for (size_t d = dim + 1; d < sizes.size(); ++d) step *= sizes[d];
  const bool is_bool = data.shape.dtype == ETB_DTYPE_BOOL;
  for (int64_t i = 0; i < data.shape.numel(); ++i) {
    const int64_t at = i / step % sizes[dim], row = i % step + i / step / sizes[dim];
    const int64_t mode = is_bool ? row % 2 : 30 + row % 3, other = mode + (row % 2 == 0 ? at + 1 : -at - 1);
    store_element(data.shape.dtype, data.bytes.data(), i,
                  static_cast<double>(at % 2 == 0 ? mode
                                      : is_bool   ? 1 - mode
                                                  : other));
  }
}

Maker mode_maker(etb_dtype dtype, const Setting& s) {
  return [=](const Sizes& sizes) {
    OpForm form = extreme_maker("aten.mode.default", dtype, s)(sizes);
    form.operands[0].shape.dim_order.clear();
    form.operands[0].fill = [sizes, dim = wrapped(s.dim, sizes.size())](TensorData& data, Random&) {
      fill_with_modes(data, sizes, dim);
    };
    form.outputs = {0};
    return form;
  };
}

Maker search_maker(etb_dtype dtype, const Setting& s) {
  return [=](const Sizes& sizes) {
    OpForm form{"aten.searchsorted.Tensor",
                {{{dtype, sizes, {}}}, {{dtype, sizes, {}}, Values::kFew}},
                {value_arg(0, "sorted_sequence"), value_arg(1, "self"),
                 graph::bool_arg(s.other_flag, "out_int32"), graph::bool_arg(s.flag, "right")},
                {{s.other_flag ? ETB_DTYPE_INT32 : ETB_DTYPE_INT64, sizes, {}}}};
    const int64_t row = sizes.back();
    form.operands[0].fill = [row](TensorData& data, Random&) {
      for (int64_t i = 0; i < data.shape.numel(); ++i)
        store_element(data.shape.dtype, data.bytes.data(), i, static_cast<double>(i % row) / 4);
    };
    return form;
  };
}

// The reference is the op with the arguments in the other order.
Maker bucket_maker(etb_dtype dtype, const Setting& s) {
  return [=](const Sizes& sizes) {
    constexpr int64_t kBounds = 9;
    const Shape result{s.other_flag ? ETB_DTYPE_INT32 : ETB_DTYPE_INT64, sizes, {}};
    const std::vector<graph::ArgumentDesc> flags = {graph::bool_arg(s.other_flag, "out_int32"),
                                                    graph::bool_arg(s.flag, "right")};
    OpForm form{
        "aten.bucketize.Tensor",
        {{{dtype, sizes, {}}, Values::kFew},
         constant_of({dtype, {kBounds}, {}}, [](int64_t i) { return static_cast<double>(i) / 2 - 1; })},
        {value_arg(0, "self"), value_arg(1, "boundaries"), flags[0], flags[1]},
        {result}};
    form.reference.nodes = {{"aten.searchsorted.Tensor",
                             {value_arg(1, "sorted_sequence"), value_arg(0, "self"), flags[0], flags[1]},
                             result}};
    return form;
  };
}

// The reference is the second result of a sort.
Maker argsort_maker(etb_dtype dtype, const Setting& s) {
  return [=](const Sizes& sizes) {
    const Shape indices{ETB_DTYPE_INT64, sizes, {}};
    const std::vector<graph::ArgumentDesc> args = {value_arg(0, "self"), graph::bool_arg(true, "stable"),
                                                   graph::int_arg(s.dim, "dim"),
                                                   graph::bool_arg(s.flag, "descending")};
    OpForm form{"aten.argsort.stable", {operand_of(dtype, sizes, s)}, args, {indices}};
    form.reference.nodes = {{"aten.sort.stable", args, std::vector<Shape>{{dtype, sizes, {}}, indices}}};
    form.reference.outputs = {1};
    return form;
  };
}

void add_rows(CaseList& out, etb_dtype dtype) {
  struct Row : Setting {
    Sizes sizes;
    Place place = Place::kFirst;
  };
  DesignOf<Row> design;
  design.add(&Row::sizes,
             {{}, {17}, {5, 9}, {9, 5}, {3, 4, 7}, {2, 3, 5, 4}, {2, 1, 3, 2, 4}, {2, 3, 1, 2, 3, 2}});
  design.add_all(&Row::place, kAllPlaces);
  design.add(&Row::flag, {false, true});
  design.add(&Row::other_flag, {false, true});
  design.add(&Row::has_ties, {false, true});
  design.add(&Row::order, {0, 1, 2});
  size_t at = 0;
  for (const Row& row : design.rows("sorting")) {
    ++at;
    const Sizes& chosen = row.sizes;
    const auto rank = static_cast<int64_t>(chosen.size());
    const Place place = row.place;
    Setting s = row;
    s.dim = rank == 0 || place == Place::kFirst ? 0 : place == Place::kLast ? -1 : rank / 2;
    const auto add = [&](const Maker& maker, size_t salt, bool may_be_empty) {
      if (!is_drawn("sorting", dtype, at + salt)) return;
      add_form(out, dtype, maker(chosen));
      if (rank == 0 || (at + salt) % 3 != 0) return;
      if (may_be_empty)
        add_dynamic_forms(out, dtype, maker, chosen, at + salt);
      else
        add_dynamic_form(out, dtype, maker, chosen, static_cast<Moving>(at % 4),
                         static_cast<Order>(at / 4 % 3));
    };
    const int64_t length = rank == 0 ? 1 : chosen[wrapped(s.dim, chosen.size())];
    s.k = at % 3 == 0 ? 1 : at % 3 == 1 ? length : std::min<int64_t>(length, 2);
    if (rank > 0) add_form(out, dtype, topk_maker(dtype, s)(chosen));
    add(sort_maker(dtype, s), 1, true);
    add(extreme_maker("aten.max.dim", dtype, s), 2, false);
    add(extreme_maker("aten.min.dim", dtype, s), 3, false);
    add(extreme_maker("aten.median.dim", dtype, s), 4, false);
    if (rank > 0 && s.order == 0) add(search_maker(dtype, s), 5, false);
    if (rank > 0 && is_floating(dtype)) add(bucket_maker(dtype, s), 6, true);
    if (rank > 0) add(argsort_maker(dtype, s), 7, true);
    if (rank > 0 && length % 2 == 1) add(mode_maker(dtype, s), 8, false);
  }
}

}  // namespace

void add_sorting_designs(CaseList& out) {
  for (const etb_dtype dtype :
       {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64, ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16, ETB_DTYPE_INT64,
        ETB_DTYPE_INT32, ETB_DTYPE_INT16, ETB_DTYPE_INT8, ETB_DTYPE_UINT8})
    add_rows(out, dtype);
  for (const bool keeps_dims : {false, true})
    add_form(out, ETB_DTYPE_BOOL, mode_maker(ETB_DTYPE_BOOL, {.dim = 1, .flag = keeps_dims})({5, 7}));
}

}  // namespace etb::conformance
