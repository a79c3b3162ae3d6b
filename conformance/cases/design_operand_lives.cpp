// SPDX-License-Identifier: Apache-2.0
// Nodes with several computed operands, in every order of their making: each operand must keep its memory until its last
// reader, while others are made. Also constants that differ in their last element only.
#include <algorithm>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

const Shape kShape{ETB_DTYPE_FLOAT32, {4, 4}, {}}, kBools{ETB_DTYPE_BOOL, {4, 4}, {}};

enum class Reader { kJoin, kChoice, kProduct };
struct ReaderRow {
  Reader reader;
  const char* word;
  uint32_t count;  // operands
};
constexpr ReaderRow kReaders[] = {{Reader::kJoin, "cat", 3},
                                  {Reader::kJoin, "cat", 4},
                                  {Reader::kJoin, "cat", 5},
                                  {Reader::kChoice, "where", 3},
                                  {Reader::kProduct, "addmm", 3}};

// Makes operand `i`, another number for each.
uint32_t make_operand(CaseBuilder& builder, uint32_t x, uint32_t y, size_t i, bool is_bool) {
  if (is_bool) return builder.node("aten.gt.Tensor", {value_arg(x, "self"), value_arg(y, "other")}, kBools);
  constexpr const char* kOps[] = {"aten.sub.Tensor", "aten.mul.Tensor", "aten.maximum.default",
                                  "aten.minimum.default", "aten.add.Tensor"};
  return builder.node(
      kOps[i % 5], {value_arg(i % 2 == 0 ? x : y, "self"), value_arg(i % 2 == 0 ? y : x, "other")}, kShape);
}

uint32_t add_reader(CaseBuilder& builder, const ReaderRow& row, const std::vector<uint32_t>& made) {
  switch (row.reader) {
    case Reader::kJoin:
      return builder.node("aten.cat.default", {graph::values_arg(made, "tensors"), graph::int_arg(-1, "dim")},
                          Shape{ETB_DTYPE_FLOAT32, {4, 4 * static_cast<int64_t>(row.count)}, {}});
    case Reader::kChoice:
      return builder.node(
          "aten.where.self",
          {value_arg(made[0], "condition"), value_arg(made[1], "self"), value_arg(made[2], "other")}, kShape);
    default:
      return builder.node("aten.addmm.default",
                          {value_arg(made[0], "self"), value_arg(made[1], "mat1"), value_arg(made[2], "mat2"),
                           graph::int_arg(1, "beta"), graph::int_arg(1, "alpha")},
                          kShape);
  }
}

// `order`: the operands as they are made. Nodes whose results live until the end are made between.
Result<BuiltCase> build(const ReaderRow& row, const std::vector<size_t>& order, std::string_view name) {
  CaseBuilder builder(name);
  const uint32_t x = builder.input(kShape, Values::kExact), y = builder.input(kShape, Values::kExact);
  std::vector<uint32_t> made(row.count);
  for (const size_t i : order)
    made[i] = make_operand(builder, x, y, i, row.reader == Reader::kChoice && i == 0);
  uint32_t kept = x;
  std::vector<uint32_t> others;
  for (int i = 0; i < 3; ++i)
    others.push_back(kept = builder.node("aten.neg.default", {value_arg(kept, "self")}, kShape));
  const uint32_t result = add_reader(builder, row, made);
  uint32_t sum = others[0];
  for (size_t i = 1; i < others.size(); ++i)
    sum = builder.node("aten.sub.Tensor", {value_arg(sum, "self"), value_arg(others[i], "other")}, kShape);
  builder.output(result);
  builder.output(sum);
  ErrorModel error_model;
  error_model.rule = Rule::kExactValue;
  return builder.finish(std::move(error_model));
}

void add_lives(CaseList& out, const ReaderRow& row) {
  std::vector<size_t> order(row.count);
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  do {
    // With more than three operands only orders that are nearly sorted.
    const bool is_taken =
        row.count <= 3 || std::is_sorted_until(order.begin(), order.end()) - order.begin() >= row.count - 1;
    if (!is_taken) continue;
    std::string digits;
    for (const size_t i : order) digits += std::to_string(i);
    out.add({std::string("model.operand_lives.f32.") + row.word + "." + digits, "model", ETB_DTYPE_FLOAT32,
             [&row, order](std::string_view name) { return build(row, order, name); }});
  } while (std::next_permutation(order.begin(), order.end()));
}

// Two constants that are equal except for one element: the last, or one in the middle.
void add_near_constants(CaseList& out) {
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{3, 5}, {33, 32}, {129, 32}, {130, 129}, {520, 513}})
    for (const bool is_last : {true, false}) {
      const Shape weight{ETB_DTYPE_FLOAT32, sizes, {}}, input{ETB_DTYPE_FLOAT32, {2, sizes[1]}, {}},
          result{ETB_DTYPE_FLOAT32, {2, sizes[0]}, {}};
      out.add({"model.near_constants.f32." + shape_text(weight) + (is_last ? ".last" : ".middle"), "model",
               ETB_DTYPE_FLOAT32, [=](std::string_view name) {
                 CaseBuilder builder(name);
                 const uint32_t x = builder.input(input, Values::kExact);
                 const auto constant = [&](double different) {
                   const int64_t at = is_last ? weight.numel() - 1 : weight.numel() / 2;
                   return builder.constant(filled(weight, [&](int64_t i) {
                     return i == at ? different : static_cast<double>(i % 5 - 2);
                   }));
                 };
                 for (const uint32_t w : {constant(1), constant(-7)})
                   builder.output(builder.node(
                       "aten.linear.default",
                       {value_arg(x, "input"), value_arg(w, "weight"), graph::none_arg("bias")}, result));
                 ErrorModel error_model;
                 error_model.rule = Rule::kExactValue;
                 return builder.finish(std::move(error_model));
               }});
    }
}

}  // namespace

void add_operand_lives(CaseList& out) {
  for (const ReaderRow& row : kReaders) add_lives(out, row);
  add_near_constants(out);
}

}  // namespace etb::conformance
