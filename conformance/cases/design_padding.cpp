// SPDX-License-Identifier: Apache-2.0
// Reflection and replication over one to three dimensions: other amounts on each side, none at all, and as many as
// the rule allows; with and without a batch.
#include <algorithm>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

// Amounts of the last dimension come first, as in the op: before, after.
struct Padding {
  bool is_reflection = false;
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  Numbers leading, size, amounts;
  bool is_last = false;
  Values values = Values::kNan;
};

Shape shaped(const Padding& p, const Numbers& size) {
  Shape out{p.dtype, p.leading, {}};
  out.sizes.insert(out.sizes.end(), size.begin(), size.end());
  if (p.is_last && p.leading.size() == 2) out.dim_order = channels_last(out.sizes.size());
  return out;
}

OpForm padding_form(const Padding& p) {
  const size_t rank = p.size.size();
  Numbers size = p.size;
  for (size_t i = 0; i < rank; ++i) size[rank - 1 - i] += p.amounts[2 * i] + p.amounts[2 * i + 1];
  OpForm form;
  form.op = std::string(p.is_reflection ? "aten.reflection_pad" : "aten.replication_pad") +
            std::to_string(rank) + "d.default";
  form.operands = {{shaped(p, p.size), p.values, {-100, 100}}};
  form.args = {graph::value_arg(0, "self"), graph::ints_arg(p.amounts, "padding")};
  form.results = {shaped(p, size)};
  return form;
}

void add_row(CaseList& out, const Padding& p, size_t at) {
  add_form(out, p.dtype, padding_form(p));
  const auto maker = [p](const Sizes& sizes) {
    Padding now = p;
    const auto rank = static_cast<std::ptrdiff_t>(p.size.size());
    now.leading.assign(sizes.begin(), sizes.end() - rank);
    now.size.assign(sizes.end() - rank, sizes.end());
    return padding_form(now);
  };
  // A reflection needs more elements than its amount.
  const Moving moving = p.is_reflection ? Moving::kFirst : Moving::kLast;
  if (at % 3 == 0)
    add_dynamic_form(out, p.dtype, maker, shaped(p, p.size).sizes, moving, static_cast<Order>(at / 3 % 3));
}

void add_design(CaseList& out, bool is_reflection, const std::vector<Numbers>& sizes,
                const std::vector<Numbers>& amounts, bool is_other_dtype) {
  Padding base;
  base.is_reflection = is_reflection;
  DesignOf<Padding> design(base);
  design.add(&Padding::size, sizes);
  design.add(&Padding::amounts, amounts);
  design.add(&Padding::leading, {{2, 3}, {1, 1}, {3}, {1, 17}});
  if (is_other_dtype)
    design.add(&Padding::dtype,
               {ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16, ETB_DTYPE_FLOAT64, ETB_DTYPE_INT32, ETB_DTYPE_INT8});
  else
    design.add(&Padding::dtype, {ETB_DTYPE_FLOAT32});
  design.add(&Padding::is_last, {false, true});
  size_t at = 0;
  for (Padding p : design.rows(is_reflection ? "reflection" : "replication")) {
    for (size_t i = 0; i < p.amounts.size() && is_reflection; ++i)
      p.amounts[i] = std::min(p.amounts[i], p.size[p.size.size() - 1 - i / 2] - 1);
    add_row(out, p, at++);
  }
}

}  // namespace

void add_padding_designs(CaseList& out) {
  for (const bool is_reflection : {true, false})
    for (const bool is_other_dtype : {false, true}) {
      add_design(out, is_reflection, {{7}, {16}, {2}, {33}}, {{1, 2}, {0, 3}, {6, 6}, {2, 0}, {1, 1}},
                 is_other_dtype);
      add_design(out, is_reflection, {{5, 7}, {4, 3}, {9, 16}, {2, 2}},
                 {{1, 1, 1, 1}, {2, 1, 0, 3}, {0, 0, 1, 2}, {4, 6, 3, 2}, {0, 1, 0, 0}}, is_other_dtype);
      add_design(out, is_reflection, {{3, 4, 5}, {4, 2, 3}},
                 {{1, 2, 1, 0, 2, 1}, {0, 0, 1, 1, 0, 2}, {2, 2, 1, 1, 1, 1}}, is_other_dtype);
    }
}

}  // namespace etb::conformance
