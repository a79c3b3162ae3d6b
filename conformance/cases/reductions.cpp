// SPDX-License-Identifier: Apache-2.0
// Ops that reduce elements to one.
#include <cmath>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/generators.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

struct Reduction {
  std::vector<int64_t> sizes;
  std::vector<int64_t> dims;
  bool keeps_dim;
};
const Reduction kReductions[] = {{{7}, {0}, false},          {{3, 65}, {1}, false},
                                 {{65, 3}, {0}, true},       {{2, 3, 4}, {1}, false},
                                 {{2, 3, 4}, {0, 2}, false}, {{2, 3, 4, 5}, {2, 3}, true},
                                 {{2, 1031}, {1}, false},    {{48, 48}, {-1}, false},
                                 {{4, 1}, {1}, false},       {{2, 0}, {1}, false}};

bool is_reduced(const Reduction& r, size_t dim) {
  for (const int64_t named : r.dims)
    if ((named < 0 ? named + static_cast<int64_t>(r.sizes.size()) : named) == static_cast<int64_t>(dim))
      return true;
  return false;
}

std::vector<int64_t> result_sizes(const Reduction& r) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < r.sizes.size(); ++i) {
    if (!is_reduced(r, i)) out.push_back(r.sizes[i]);
    if (is_reduced(r, i) && r.keeps_dim) out.push_back(1);
  }
  return out;
}

int64_t length_of(const Reduction& r) {
  int64_t length = 1;
  for (size_t i = 0; i < r.sizes.size(); ++i)
    if (is_reduced(r, i)) length *= r.sizes[i];
  return length;
}

std::string name_of(const char* op, etb_dtype dtype, const Reduction& r, Values values, bool is_last) {
  std::string word = op_word(op);
  if (length_of(r) == 0) word = "edge" + word.substr(2);
  word += std::string(".") + short_name(dtype) + "." +
          shape_text({dtype, r.sizes, is_last ? channels_last(r.sizes.size()) : std::vector<uint8_t>{}}) +
          ".dim";
  for (const int64_t dim : r.dims) word += dim < 0 ? "m" + std::to_string(-dim) : std::to_string(dim);
  return word + (r.keeps_dim ? ".keep." : ".") + to_text(values);
}

// True if the dtype holds sums of `length` integers up to 7 exactly.
bool holds_sum(etb_dtype dtype, int64_t length) {
  if (dtype == ETB_DTYPE_FLOAT16) return 7 * length < 2048;
  if (dtype == ETB_DTYPE_BFLOAT16) return 7 * length < 256;
  return true;
}

struct Row {
  const char* op;
  Rule rule;
  bool takes_integers;
  bool gives_int64;  // the result of integer inputs
  bool allows_empty;
  bool has_dim_list;
};
const Row kRows[] = {{"aten.sum.dim_IntList", Rule::kContraction, true, true, true, true},
                     {"aten.mean.dim", Rule::kContraction, false, false, false, true},
                     {"aten.amax.default", Rule::kExactValue, true, false, false, true},
                     {"aten.amin.default", Rule::kExactValue, true, false, false, true},
                     {"aten.argmax.default", Rule::kExact, false, true, false, false},
                     {"aten.argmin.default", Rule::kExact, false, true, false, false},
                     {"aten.any.dims", Rule::kExact, true, false, true, true}};

void add_reduction(CaseList& out, const Row& row, const Reduction& r, etb_dtype dtype, Values values,
                   bool is_last) {
  const int64_t length = length_of(r);
  if ((length == 0 && !row.allows_empty) || (!row.has_dim_list && r.dims.size() != 1)) return;
  const bool is_any = std::string_view(row.op) == "aten.any.dims", is_arg = !row.has_dim_list;
  const bool is_sum = std::string_view(row.op) == "aten.sum.dim_IntList";
  if (values == Values::kExact && (!is_sum || !holds_sum(dtype, length))) return;
  out.add(
      {name_of(row.op, dtype, r, values, is_last), row.op, dtype, [=, &row, &r](std::string_view name) {
         CaseBuilder builder(name);
         const Shape input{dtype, r.sizes, is_last ? channels_last(r.sizes.size()) : std::vector<uint8_t>{}};
         Shape result{dtype, result_sizes(r), {}};
         if (is_any) result.dtype = ETB_DTYPE_BOOL;
         if (is_arg || (row.gives_int64 && !is_floating(dtype))) result.dtype = ETB_DTYPE_INT64;
         const uint32_t x =
             builder.input(input, values, is_floating(dtype) ? Domain{-4, 4} : Domain{-40, 40});
         std::vector<graph::ArgumentDesc> args = {
             value_arg(x, "self"),
             row.has_dim_list ? graph::ints_arg(r.dims, "dim") : graph::int_arg(r.dims[0], "dim"),
             graph::bool_arg(r.keeps_dim, "keepdim")};
         builder.output(builder.node(row.op, args, result));
         ErrorModel error_model;
         error_model.rule = row.rule;
         error_model.length = std::max<int64_t>(length, 1) + 1;
         error_model.has_input_magnitude = row.rule == Rule::kContraction;
         error_model.is_exact_probe = values == Values::kExact;
         return builder.finish(std::move(error_model));
       }});
}

void add_cumsum(CaseList& out, etb_dtype dtype, Values values) {
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{9}, std::vector<int64_t>{3, 5}, std::vector<int64_t>{2, 3, 31}}) {
    const int64_t dim = static_cast<int64_t>(sizes.size()) - 1;
    if (values == Values::kExact && !holds_sum(dtype, sizes.back())) continue;
    const Shape shape{dtype, sizes, {}};
    const std::string name =
        std::string("op.cumsum.") + short_name(dtype) + "." + shape_text(shape) + "." + to_text(values);
    out.add({name, "aten.cumsum.default", dtype, [=](std::string_view full_name) {
               CaseBuilder builder(full_name);
               Shape result = shape;
               if (!is_floating(dtype)) result.dtype = ETB_DTYPE_INT64;
               const uint32_t x = builder.input(shape, values);
               builder.output(builder.node("aten.cumsum.default",
                                           {value_arg(x, "self"), graph::int_arg(dim, "dim")}, result));
               ErrorModel error_model;
               error_model.rule = Rule::kContraction;
               error_model.length = shape.sizes.back() + 1;
               error_model.has_input_magnitude = true;
               error_model.is_exact_probe = values == Values::kExact;
               return builder.finish(std::move(error_model));
             }});
  }
}

void add_extremes(CaseList& out, etb_dtype dtype) {
  for (const char* op : {"aten.max.dim", "aten.min.dim"})
    for (const Reduction& r : kReductions) {
      if (r.dims.size() != 1 || length_of(r) == 0) continue;
      out.add({name_of(op, dtype, r, Values::kStatistical, false), op, dtype, [=, &r](std::string_view name) {
                 CaseBuilder builder(name);
                 const Shape input{dtype, r.sizes, {}}, values{dtype, result_sizes(r), {}};
                 Shape indices = values;
                 indices.dtype = ETB_DTYPE_INT64;
                 // All elements differ, so that the index has one right value.
                 TensorData data = make_values(input, Values::kStatistical, {-4, 4}, 0, builder.random());
                 for (int64_t i = 0; i < input.numel(); ++i)
                   store_element(dtype, data.bytes.data(), i, static_cast<double>((i * 37) % 127 - 60));
                 const uint32_t x = builder.input(std::move(data));
                 const uint32_t first = builder.node(op,
                                                     {value_arg(x, "self"), graph::int_arg(r.dims[0], "dim"),
                                                      graph::bool_arg(r.keeps_dim, "keepdim")},
                                                     std::vector<Shape>{values, indices});
                 builder.output(first);
                 if (r.sizes.back() < 127) builder.output(first + 1);
                 return builder.finish({});
               }});
    }
}

}  // namespace

void add_reductions(CaseList& out) {
  for (const etb_dtype dtype : kAllDtypes) {
    for (const Row& row : kRows)
      for (const Reduction& r : kReductions)
        for (const Values values : {Values::kExact, Values::kStatistical}) {
          if (!is_floating(dtype) && !row.takes_integers) continue;
          add_reduction(out, row, r, dtype, values, false);
          if (r.sizes.size() == 4) add_reduction(out, row, r, dtype, values, true);
        }
    if (dtype != ETB_DTYPE_BOOL)
      for (const Values values : {Values::kExact, Values::kStatistical}) add_cumsum(out, dtype, values);
    if (dtype == ETB_DTYPE_FLOAT32 || dtype == ETB_DTYPE_INT32 || dtype == ETB_DTYPE_INT8)
      add_extremes(out, dtype);
  }
}

}  // namespace etb::conformance
