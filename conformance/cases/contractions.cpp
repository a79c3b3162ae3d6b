// SPDX-License-Identifier: Apache-2.0
// Sums of products: matrices and convolutions. Exact probes allow no error; statistical values have an error
// bound.
#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/error_models.hpp"
#include "conformance/cases/generators.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

// True if the dtype holds the values, and sums of those that are to be exact.
bool suits(etb_dtype dtype, Values values, int64_t length) {
  return (is_floating(dtype) && (values == Values::kStatistical || values == Values::kPositive)) ||
         is_exact_sum(dtype, values, length);
}

constexpr Values kSets[] = {Values::kExact, Values::kSparse, Values::kStatistical, Values::kPositive};
constexpr etb_dtype kDtypes[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64, ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16,
                                 ETB_DTYPE_INT32,   ETB_DTYPE_INT64,   ETB_DTYPE_INT8};

struct MatrixSizes {
  int64_t m, k, n;
};
const MatrixSizes kMatrices[] = {{1, 1, 1},     {1, 7, 1},    {2, 3, 4},    {5, 5, 5},    {8, 8, 8},
                                 {16, 27, 16},  {3, 31, 17},  {32, 64, 32}, {33, 65, 31}, {7, 129, 5},
                                 {48, 512, 48}, {4, 4608, 8}, {1, 1031, 3}, {2, 0, 3}};

std::string matrix_name(const char* word, etb_dtype dtype, const MatrixSizes& s, Values values,
                        const char* more = "") {
  const bool is_edge = s.m * s.k * s.n == 0;
  return std::string(is_edge ? "edge." : "op.") + word + "." + short_name(dtype) + "." + std::to_string(s.m) +
         "x" + std::to_string(s.k) + "__" + std::to_string(s.k) + "x" + std::to_string(s.n) + more + "." +
         to_text(values);
}

Domain domain_of(etb_dtype dtype) { return is_floating(dtype) ? Domain{-1, 1} : Domain{-3, 3}; }

void add_matrix_cases(CaseList& out, etb_dtype dtype, const MatrixSizes& s, Values values) {
  if (!suits(dtype, values, s.k + 1)) return;
  const Shape a{dtype, {s.m, s.k}, {}}, b{dtype, {s.k, s.n}, {}}, result{dtype, {s.m, s.n}, {}};
  const Domain domain = domain_of(dtype);
  const int64_t length = std::max<int64_t>(s.k, 1);
  out.add({matrix_name("mm", dtype, s, values), "aten.mm.default", dtype, [=](std::string_view name) {
             CaseBuilder builder(name);
             const uint32_t x = builder.input(a, values, domain), y = builder.input(b, values, domain);
             builder.output(
                 builder.node("aten.mm.default", {value_arg(x, "self"), value_arg(y, "mat2")}, result));
             return builder.finish(sum_model(values, length));
           }});
  out.add(
      {matrix_name("bmm", dtype, s, values, ".b3"), "aten.bmm.default", dtype, [=](std::string_view name) {
         CaseBuilder builder(name);
         const Shape batch_a{dtype, {3, s.m, s.k}, {}}, batch_b{dtype, {3, s.k, s.n}, {}};
         const uint32_t x = builder.input(batch_a, values, domain),
                        y = builder.input(batch_b, values, domain);
         builder.output(builder.node("aten.bmm.default", {value_arg(x, "self"), value_arg(y, "mat2")},
                                     Shape{dtype, {3, s.m, s.n}, {}}));
         return builder.finish(sum_model(values, length));
       }});
  for (const bool is_full : {true, false})
    out.add({matrix_name("addmm", dtype, s, values, is_full ? ".full" : ".row"), "aten.addmm.default", dtype,
             [=](std::string_view name) {
               CaseBuilder builder(name);
               const Shape bias{dtype, is_full ? result.sizes : std::vector<int64_t>{s.n}, {}};
               // The bias of sparse probes is sparse too: operand 1.
               const uint32_t x = builder.input(a, values, domain), y = builder.input(b, values, domain),
                              z = builder.input(bias, values, domain);
               builder.output(builder.node("aten.addmm.default",
                                           {value_arg(z, "self"), value_arg(x, "mat1"), value_arg(y, "mat2")},
                                           result));
               return builder.finish(sum_model(values, length + 1, bias.numel()));
             }});
  for (const bool is_constant : {true, false})
    out.add({matrix_name("linear", dtype, s, values, is_constant ? ".constant" : ".bias"),
             "aten.linear.default", dtype, [=](std::string_view name) {
               CaseBuilder builder(name);
               const Shape weight{dtype, {s.n, s.k}, {}}, bias{dtype, {s.n}, {}};
               const uint32_t x = builder.input(a, values, domain);
               const uint32_t w =
                   is_constant ? builder.constant(make_values(weight, values, domain, 1, builder.random()))
                               : builder.input(weight, values, domain);
               std::vector<graph::ArgumentDesc> args = {value_arg(x, "input"), value_arg(w, "weight")};
               if (!is_constant) args.push_back(value_arg(builder.input(bias, values, domain), "bias"));
               builder.output(builder.node("aten.linear.default", args, result));
               return builder.finish(sum_model(values, length + 1, is_constant ? 0 : s.n));
             }});
}

struct Convolution {
  const char* word;
  std::vector<int64_t> input;   // N C spatial...
  std::vector<int64_t> weight;  // O C/groups kernel...
  int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
  bool has_bias = true;
  bool is_transposed = false;
  int64_t uneven = 0;  // added to stride and padding in the last direction

  std::vector<int64_t> per_direction(int64_t number, int64_t more = 0) const {
    std::vector<int64_t> out(input.size() - 2, number);
    out.back() += more;
    return out;
  }
  std::vector<int64_t> strides() const { return per_direction(stride, uneven); }
  std::vector<int64_t> paddings() const { return per_direction(padding, uneven); }
};

const Convolution kConvolutions[] = {
    {"k1", {1, 3, 4, 5}, {2, 3, 1, 1}},
    {"k3", {1, 2, 6, 7}, {4, 2, 3, 3}},
    {"k3_pad", {2, 3, 5, 6}, {4, 3, 3, 3}, 1, 1},
    {"k3_pad_stride2", {1, 3, 7, 8}, {5, 3, 3, 3}, 2, 1},
    {"k3_stride2_nobias", {1, 3, 9, 9}, {2, 3, 3, 3}, 2, 0, 1, 1, false},
    {"k3_dilated", {1, 2, 9, 9}, {3, 2, 3, 3}, 1, 2, 2},
    {"k5_pad2", {1, 2, 6, 6}, {3, 2, 5, 5}, 1, 2},
    {"groups2", {1, 4, 5, 5}, {6, 2, 3, 3}, 1, 1, 1, 2},
    {"depthwise", {1, 6, 6, 6}, {6, 1, 3, 3}, 1, 1, 1, 6},
    {"depthwise_multiplier2", {2, 3, 5, 5}, {6, 1, 3, 3}, 1, 1, 1, 3},
    {"depthwise_stride2", {1, 4, 8, 8}, {4, 1, 3, 3}, 2, 1, 1, 4},
    {"wide", {1, 64, 3, 3}, {8, 64, 3, 3}, 1, 1},
    {"d1_k3", {2, 3, 9}, {4, 3, 3}, 1, 1},
    {"d1_k1_groups3", {1, 3, 8}, {6, 1, 1}, 1, 0, 1, 3},
    {"transposed_k2_stride2", {1, 3, 4, 4}, {3, 2, 2, 2}, 2, 0, 1, 1, true, true},
    {"transposed_k3_pad", {1, 2, 5, 4}, {2, 3, 3, 3}, 1, 1, 1, 1, true, true},
    {"k3x2_uneven", {1, 3, 8, 9}, {4, 3, 3, 2}, 1, 0, 1, 1, true, false, 1},
    {"depthwise_uneven", {1, 4, 7, 9}, {4, 1, 3, 3}, 1, 0, 1, 4, true, false, 1},
};

std::vector<int64_t> result_sizes(const Convolution& c) {
  std::vector<int64_t> out = {c.input[0], c.is_transposed ? c.weight[1] * c.groups : c.weight[0]};
  for (size_t i = 2; i < c.input.size(); ++i) {
    const int64_t reach = c.dilation * (c.weight[i] - 1), stride = c.strides()[i - 2],
                  padding = c.paddings()[i - 2];
    out.push_back(c.is_transposed ? (c.input[i] - 1) * stride - 2 * padding + reach + 1
                                  : (c.input[i] + 2 * padding - reach - 1) / stride + 1);
  }
  return out;
}

int64_t length_of(const Convolution& c) {
  int64_t length = c.is_transposed ? c.weight[0] / c.groups : c.weight[1];
  for (size_t i = 2; i < c.weight.size(); ++i) length *= c.weight[i];
  return length;
}

void add_convolution(CaseList& out, const Convolution& c, etb_dtype dtype, Values values, bool is_last,
                     bool is_constant) {
  const int64_t length = length_of(c);
  if (!suits(dtype, values, length + 1)) return;
  const std::vector<uint8_t> order = is_last ? channels_last(c.input.size()) : std::vector<uint8_t>{};
  const Shape input{dtype, c.input, order}, weight{dtype, c.weight, {}},
      result{dtype, result_sizes(c), order};
  const std::string name = std::string("op.convolution.") + short_name(dtype) + "." + shape_text(input) +
                           "." + c.word + (is_constant ? ".constant" : "") + "." + to_text(values);
  out.add({name, "aten.convolution.default", dtype, [=, &c](std::string_view full_name) {
             CaseBuilder builder(full_name);
             const Domain domain = domain_of(dtype);
             const uint32_t x = builder.input(input, values, domain);
             const auto parameter = [&](const Shape& shape) {
               return is_constant ? builder.constant(make_values(shape, values, domain, 1, builder.random()))
                                  : builder.input(shape, values, domain);
             };
             const uint32_t w = parameter(weight);
             const Shape bias{dtype, {result.sizes[1]}, {}};
             builder.output(builder.node(
                 "aten.convolution.default",
                 {value_arg(x, "input"), value_arg(w, "weight"),
                  c.has_bias ? value_arg(parameter(bias), "bias") : graph::none_arg("bias"),
                  graph::ints_arg(c.strides(), "stride"), graph::ints_arg(c.paddings(), "padding"),
                  graph::ints_arg(c.per_direction(c.dilation), "dilation"),
                  graph::bool_arg(c.is_transposed, "transposed"),
                  graph::ints_arg(c.per_direction(0), "output_padding"), graph::int_arg(c.groups, "groups")},
                 result));
             return builder.finish(sum_model(values, length + 1, c.has_bias ? bias.numel() : 0));
           }});
}

}  // namespace

void add_contractions(CaseList& out) {
  for (const etb_dtype dtype : kDtypes)
    for (const Values values : kSets) {
      for (const MatrixSizes& sizes : kMatrices) add_matrix_cases(out, dtype, sizes, values);
      if (dtype == ETB_DTYPE_INT8 || dtype == ETB_DTYPE_INT32) continue;
      for (const Convolution& c : kConvolutions) {
        for (const bool is_constant : {false, true})
          add_convolution(out, c, dtype, values, false, is_constant);
        if (c.input.size() == 4) add_convolution(out, c, dtype, values, true, true);
      }
    }
}

}  // namespace etb::conformance
