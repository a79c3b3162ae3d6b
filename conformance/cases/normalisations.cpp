// SPDX-License-Identifier: Apache-2.0
// Softmax and norms. Their bounds add the roundings of each step: sums of `length` terms, and the magnitudes
// of the intermediates.
#include <algorithm>
#include <cmath>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/generators.hpp"

namespace etb::conformance {
namespace {

using graph::int_arg;
using graph::value_arg;

double largest(const TensorData& data) {
  double out = 0;
  for (int64_t i = 0; i < data.shape.numel(); ++i)
    out = std::max(out, std::abs(load_element(data.shape.dtype, data.bytes.data(), i)));
  return out;
}

void add_softmax(CaseList& out, etb_dtype dtype, bool is_log) {
  const char* op = is_log ? "aten._log_softmax.default" : "aten._softmax.default";
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{5}, std::vector<int64_t>{3, 17},
                                            std::vector<int64_t>{2, 3, 4}, std::vector<int64_t>{4, 1000}})
    for (const int64_t dim : {int64_t{-1}, int64_t{0}})
      for (const double reach : {4.0, 30.0}) {
        const Shape shape{dtype, sizes, {}};
        const std::string name = op_word(op) + "." + short_name(dtype) + "." + shape_text(shape) + ".d" +
                                 (dim < 0 ? "m1" : "0") + (reach > 10 ? ".wide" : "") + ".stat";
        out.add({name, op, dtype, [=](std::string_view full_name) {
                   CaseBuilder builder(full_name);
                   const uint32_t x = builder.input(shape, Values::kStatistical, {-reach, reach});
                   builder.output(builder.node(
                       op,
                       {value_arg(x, "self"), int_arg(dim, "dim"), graph::bool_arg(false, "half_to_float")},
                       shape));
                   const double length = static_cast<double>(dim < 0 ? sizes.back() : sizes.front());
                   ErrorModel error_model;
                   error_model.rule = Rule::kRounded;
                   error_model.ulps = 4;
                   // exp(x - max): the difference is rounded once, an error of |x| u in the exponent. Then
                   // comes the sum.
                   error_model.steps = 4 * std::sqrt(length) + (is_log ? 4 : 2 * reach + 4);
                   if (is_log)
                     error_model.magnitude = [length](const std::vector<TensorData>& inputs) {
                       return std::vector<double>{2 * largest(inputs[0]) + std::log(length) + 1};
                     };
                   return builder.finish(std::move(error_model));
                 }});
      }
}

struct Norm {
  std::vector<int64_t> sizes;
  int64_t length;  // elements of one mean
};

// Outputs are the normalised tensor, means and 1 / standard deviations: one magnitude covers all three.
ErrorModel norm_error_model(int64_t length) {
  ErrorModel error_model;
  error_model.rule = Rule::kRounded;
  error_model.ulps = 4;
  error_model.steps = 4 * std::sqrt(static_cast<double>(length)) + 8;
  error_model.magnitude = [](const std::vector<TensorData>& inputs) {
    // Values are spread over [-4, 4]: their deviation is above 1 for every length in the cases. Constant
    // parameters of the graph come from [0.5, 2] and [-1, 1].
    const double x = largest(inputs[0]), w = inputs.size() > 1 ? largest(inputs[1]) : 2,
                 b = inputs.size() > 2 ? largest(inputs[2]) : 1;
    return std::vector<double>{(x + 1) * (w + 1) * (1 + x) + b};
  };
  return error_model;
}

void add_layer_norm(CaseList& out, etb_dtype dtype) {
  for (const Norm& norm : {Norm{{3, 8}, 8}, Norm{{2, 3, 33}, 33}, Norm{{4, 257}, 257}})
    for (const bool has_weight : {true, false}) {
      const Shape shape{dtype, norm.sizes, {}};
      const std::string name = std::string("op.native_layer_norm.") + short_name(dtype) + "." +
                               shape_text(shape) + (has_weight ? ".weight" : ".plain") + ".stat";
      out.add({name, "aten.native_layer_norm.default", dtype, [=](std::string_view full_name) {
                 CaseBuilder builder(full_name);
                 const Shape row{dtype, {norm.length}, {}};
                 Shape mean = shape;
                 mean.sizes.back() = 1;
                 const uint32_t x = builder.input(shape, Values::kStatistical);
                 std::vector<graph::ArgumentDesc> args = {value_arg(x, "input"),
                                                          graph::ints_arg({norm.length}, "normalized_shape")};
                 args.push_back(has_weight
                                    ? value_arg(builder.input(row, Values::kStatistical, {0.5, 2}), "weight")
                                    : graph::none_arg("weight"));
                 args.push_back(has_weight
                                    ? value_arg(builder.input(row, Values::kStatistical, {-1, 1}), "bias")
                                    : graph::none_arg("bias"));
                 args.push_back(graph::float_arg(1e-5, "eps"));
                 // Some plugins keep statistics in float32 at least, others in the input's dtype. So 16-bit cases
                 // compare the result only.
                 const uint32_t first = builder.node("aten.native_layer_norm.default", args,
                                                     std::vector<Shape>{shape, mean, mean});
                 builder.output(first);
                 if (!is_half(dtype)) {
                   builder.output(first + 1);
                   builder.output(first + 2);
                 }
                 return builder.finish(norm_error_model(norm.length));
               }});
    }
}

void add_batch_norm(CaseList& out, etb_dtype dtype) {
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{2, 3, 4, 5}, std::vector<int64_t>{4, 6}})
    for (const bool is_last : {false, true})
      for (const bool is_constant : {false, true}) {
        if (is_last && sizes.size() != 4) continue;
        const Shape shape{dtype, sizes, is_last ? channels_last(4) : std::vector<uint8_t>{}};
        const std::string name = std::string("op.batch_norm_no_training.") + short_name(dtype) + "." +
                                 shape_text(shape) + (is_constant ? ".constant" : "") + ".stat";
        out.add({name, "aten._native_batch_norm_legit_no_training.default", dtype,
                 [=](std::string_view full_name) {
                   CaseBuilder builder(full_name);
                   const Shape row{dtype, {sizes[1]}, {}};
                   const uint32_t x = builder.input(shape, Values::kStatistical);
                   const auto parameter = [&](const Domain& domain) {
                     return is_constant ? builder.constant(make_values(row, Values::kStatistical, domain, 1,
                                                                       builder.random()))
                                        : builder.input(row, Values::kStatistical, domain);
                   };
                   const uint32_t w = parameter({0.5, 2}), b = parameter({-1, 1});
                   const uint32_t mean = parameter({-1, 1}), variance = parameter({0.5, 2});
                   const Shape empty{dtype, {0}, {}};
                   builder.output(
                       builder.node("aten._native_batch_norm_legit_no_training.default",
                                    {value_arg(x, "input"), value_arg(w, "weight"), value_arg(b, "bias"),
                                     value_arg(mean, "running_mean"), value_arg(variance, "running_var"),
                                     graph::float_arg(0.1, "momentum"), graph::float_arg(1e-5, "eps")},
                                    std::vector<Shape>{shape, empty, empty}));
                   return builder.finish(norm_error_model(4));
                 }});
      }
}

}  // namespace

void add_normalisations(CaseList& out) {
  for (const etb_dtype dtype : kFloats) {
    add_softmax(out, dtype, false);
    add_softmax(out, dtype, true);
    add_layer_norm(out, dtype);
    add_batch_norm(out, dtype);
  }
}

}  // namespace etb::conformance
