// SPDX-License-Identifier: Apache-2.0
// Two functions of single elements in a row, which plugins fuse: factors of either, NaN and infinities between them, operands of
// fewer dimensions whose last size is 1, the first result as either operand of the second. Rows whose largest number comes late.
#include <cmath>
#include <limits>

#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::bool_arg;
using graph::float_arg;
using graph::int_arg;
using graph::value_arg;

const Sizes kResult = {2, 4, 5};
const Sizes kOthers[] = {{2, 4, 5}, {5}, {4, 1}, {1}, {2, 1, 1}, {1, 4, 5}, {}};

// An op of one or two values. `alpha`: 0 for an op without a factor.
struct Step {
  const char* op;
  const char* word;
  int64_t alpha = 0;
  bool is_unary = false;
};
constexpr Step kFirsts[] = {{"aten.add.Tensor", "add", 1},
                            {"aten.add.Tensor", "add_alpha2", 2},
                            {"aten.sub.Tensor", "sub_alpha3", 3},
                            {"aten.mul.Tensor", "mul"},
                            {"aten.maximum.default", "maximum"}};
constexpr Step kSeconds[] = {{"aten.relu.default", "relu", 0, true},
                             {"aten.clamp.default", "clamp", 0, true},
                             {"aten.abs.default", "abs", 0, true},
                             {"aten.add.Tensor", "add", 1},
                             {"aten.add.Tensor", "add_alpha2", 2},
                             {"aten.sub.Tensor", "sub_alpha2", 2},
                             {"aten.mul.Tensor", "mul"},
                             {"aten.minimum.default", "minimum"}};

// Small integers, whose sums and products are exact. With `has_special`, NaN and infinities among them.
Operand integers(etb_dtype dtype, const Sizes& sizes, int64_t seed, bool has_special) {
  Operand out{{dtype, sizes, {}}};
  out.fill = [=](TensorData& data, Random&) {
    data = filled(data.shape, [=](int64_t i) {
      const int64_t place = i * 7 + seed * 5;
      if (has_special && place % 9 == 0) return std::numeric_limits<double>::quiet_NaN();
      if (has_special && place % 13 == 0) return place % 2 == 0 ? HUGE_VAL : -HUGE_VAL;
      return static_cast<double>(place % 11 - 5);
    });
  };
  return out;
}

std::vector<graph::ArgumentDesc> arguments(const Step& step, uint32_t first, uint32_t second) {
  std::vector<graph::ArgumentDesc> out = {value_arg(first, "self")};
  if (step.is_unary) {
    if (std::string_view(step.word) != "clamp") return out;
    out.push_back(int_arg(-3, "min"));
    out.push_back(int_arg(4, "max"));
    return out;
  }
  out.push_back(value_arg(second, "other"));
  if (step.alpha > 1) out.push_back(int_arg(step.alpha, "alpha"));
  return out;
}

// first(a, b), then second(first, c) or, with `is_turned`, second(c, first). `number` selects the sizes of b and c.
void add_pair(CaseList& out, etb_dtype dtype, const Step& first, const Step& second, bool is_turned,
              bool has_special, size_t number) {
  const Shape result{dtype, kResult, {}};
  const Sizes& other = kOthers[number % std::size(kOthers)];
  const Sizes& third = kOthers[(number / 2 + 3) % std::size(kOthers)];
  const bool is_first_small = number % 3 == 0;
  OpForm form;
  form.op = second.op;
  form.operands = {integers(dtype, is_first_small ? other : kResult, 1, has_special),
                   integers(dtype, is_first_small ? kResult : other, 2, false)};
  if (!second.is_unary) form.operands.push_back(integers(dtype, third, 3, has_special));
  FormNodes nodes(form.nodes, form.operands.size());
  const uint32_t between = nodes.add(first.op, arguments(first, 0, 1), result);
  nodes.add(second.op, is_turned ? arguments(second, 2, between) : arguments(second, between, 2), result);
  form.word = std::string("behind_") + first.word + (is_turned ? ".turned." : ".") + second.word +
              (has_special ? ".special" : "");
  form.group = "call";
  form.error_model = exact_model(is_floating(dtype) ? Rule::kExactValue : Rule::kExact);
  add_form(out, dtype, std::move(form));
}

void add_pairs(CaseList& out, etb_dtype dtype) {
  size_t number = 0;
  for (const Step& first : kFirsts)
    for (const Step& second : kSeconds)
      for (const bool is_turned : {false, true})
        for (const bool has_special : {false, true}) {
          ++number;
          if ((is_turned && second.is_unary) || (has_special && !is_floating(dtype))) continue;
          add_pair(out, dtype, first, second, is_turned, has_special, number);
        }
}

// first(x) or first(x, w), then second, which reads x again: x is needed after the first result is written. Both are results.
void add_later_readers(CaseList& out, etb_dtype dtype) {
  constexpr Step kReaders[] = {{"aten.relu.default", "relu", 0, true},
                               {"aten.neg.default", "neg", 0, true},
                               {"aten.abs.default", "abs", 0, true},
                               {"aten.add.Tensor", "add", 1},
                               {"aten.mul.Tensor", "mul"},
                               {"aten.maximum.default", "maximum"}};
  const Shape shape{dtype, kResult, {}};
  for (const Step& first : kReaders)
    for (const Step& second : kReaders)
      for (const bool is_of_result : {false, true}) {  // the second operand of the second
        if (is_of_result && second.is_unary) continue;
        const bool has_other = !first.is_unary || (!second.is_unary && !is_of_result);
        OpForm form;
        form.op = second.op;
        form.operands = {integers(dtype, kResult, 1, false)};
        if (has_other) form.operands.push_back(integers(dtype, kResult, 2, false));
        FormNodes nodes(form.nodes, form.operands.size());
        const uint32_t between = nodes.add(first.op, arguments(first, 0, 1), shape);
        nodes.add(second.op, arguments(second, 0, is_of_result ? between : 1), shape);
        form.outputs = {0, 1};
        form.word =
            std::string("read_later.") + first.word + "." + second.word + (is_of_result ? ".both" : "");
        form.group = "call";
        form.error_model = exact_model(Rule::kExactValue);
        add_form(out, dtype, std::move(form));
      }
}

// Each operand of where in each of the sizes, beside whole ones.
void add_small_choices(CaseList& out, etb_dtype dtype) {
  for (size_t small = 0; small < 3; ++small)
    for (const Sizes& sizes : kOthers) {
      OpForm form;
      form.op = "aten.where.self";
      for (size_t k = 0; k < 3; ++k)
        form.operands.push_back(integers(k == 0 ? static_cast<etb_dtype>(ETB_DTYPE_BOOL) : dtype,
                                         k == small ? sizes : kResult, static_cast<int64_t>(k), false));
      form.operands[0].fill = nullptr;
      form.args = {value_arg(0, "condition"), value_arg(1, "self"), value_arg(2, "other")};
      form.results = {{dtype, kResult, {}}};
      form.word = "small_" + std::to_string(small);
      form.error_model = exact_model();
      add_form(out, dtype, std::move(form));
    }
}

// Rows of small numbers with one far above them behind the middle: without it as the largest, exponentials overflow.
void add_late_peaks(CaseList& out, etb_dtype dtype) {
  const double peak = dtype == ETB_DTYPE_FLOAT16 ? 300 : 500;
  for (const Sizes& sizes : {Sizes{5, 70}, Sizes{3, 131}, Sizes{2, 1030}})
    for (const char* op : {"aten._softmax.default", "aten._log_softmax.default"}) {
      OpForm form;
      form.op = op;
      Operand rows{{dtype, sizes, {}}};
      rows.fill = [sizes, peak](TensorData& data, Random&) {
        data = filled(data.shape, [&](int64_t i) {
          const int64_t row = i / sizes[1], column = i % sizes[1];
          return column == sizes[1] - 2 - row ? peak : static_cast<double>(column % 4);
        });
      };
      form.operands = {rows};
      form.args = {value_arg(0, "self"), int_arg(1, "dim"), bool_arg(false, "half_to_float")};
      form.results = {{dtype, sizes, {}}};
      form.word = "late_peak";
      form.group = "edge";
      form.error_model = std::string_view(op) == "aten._softmax.default"
                             ? rounded_model(16, 4)
                             : rounded_model(16, 4, fixed_magnitude(peak));
      add_form(out, dtype, std::move(form));
    }
}

}  // namespace

void add_fused_step_designs(CaseList& out) {
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_INT64, ETB_DTYPE_INT32})
    add_pairs(out, dtype);
  for (const etb_dtype dtype :
       {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_INT64, ETB_DTYPE_INT32, ETB_DTYPE_INT8})
    add_small_choices(out, dtype);
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16}) {
    add_later_readers(out, dtype);
    add_late_peaks(out, dtype);
  }
}

}  // namespace etb::conformance
