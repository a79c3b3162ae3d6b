// SPDX-License-Identifier: Apache-2.0
// Short chains that plugins fuse, move through or share: two clamps in a row, a value in two orders, codes that are read
// with another scale than they were made with. Attributes that plugins read only in part: slopes above 1, steps that
// leave a short part, fractions as padding, factors of a number, groups of a transposed convolution.
#include <algorithm>
#include <optional>

#include "conformance/cases/design_convolution.hpp"
#include "conformance/cases/design_quantisation.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {
namespace {

using graph::float_arg;
using graph::int_arg;
using graph::ints_arg;
using graph::value_arg;

// ---- two clamps

enum class Producer { kNone, kAdd, kMul, kLinear, kConvolution };
constexpr std::pair<Producer, const char*> kProducers[] = {{Producer::kNone, "none"},
                                                           {Producer::kAdd, "add"},
                                                           {Producer::kMul, "mul"},
                                                           {Producer::kLinear, "linear"},
                                                           {Producer::kConvolution, "convolution"}};

struct Limits {
  const char* word;
  std::optional<double> low, high;
};
constexpr Limits kRelu{"relu", 0, {}}, kInner{"m1_3", -1, 3}, kOuter{"m4_6", -4, 6}, kAbove{"min2", 2, {}},
    kBelow{"max1", {}, 1};
constexpr std::pair<Limits, Limits> kPairs[] = {{kRelu, kInner},  {kInner, kRelu},  {kInner, kOuter},
                                                {kOuter, kInner}, {kAbove, kBelow}, {kBelow, kRelu}};

uint32_t add_limits(FormNodes& nodes, uint32_t x, const Limits& limits, const Shape& shape) {
  if (limits.low == 0.0 && !limits.high) return nodes.add("aten.relu.default", {value_arg(x, "self")}, shape);
  return nodes.add("aten.clamp.default",
                   {value_arg(x, "self"), limits.low ? float_arg(*limits.low, "min") : graph::none_arg("min"),
                    limits.high ? float_arg(*limits.high, "max") : graph::none_arg("max")},
                   shape);
}

OpForm clamped_twice(etb_dtype dtype, Producer producer, const Limits& first, const Limits& second) {
  const bool is_image = producer == Producer::kConvolution;
  const Shape shape{dtype, is_image ? Sizes{1, 4, 5, 6} : Sizes{5, 8}, {}};
  OpForm form;
  form.op = "aten.clamp.default";
  form.operands = {{shape, Values::kExact}};
  const Convolution c = even_convolution(dtype, {4, 4, 1}, {5, 6}, 3, 1, 1);
  if (producer == Producer::kAdd || producer == Producer::kMul)
    form.operands.push_back({shape, Values::kExact});
  if (producer == Producer::kLinear) form.operands.push_back({{dtype, {8, 8}, {}}, Values::kExact, {}, true});
  if (is_image) form.operands.push_back({c.weight_shape(), Values::kExact, {}, true});
  FormNodes nodes(form.nodes, form.operands.size());
  uint32_t x = 0;
  if (producer == Producer::kAdd || producer == Producer::kMul)
    x = nodes.add(producer == Producer::kAdd ? "aten.add.Tensor" : "aten.mul.Tensor",
                  {value_arg(0, "self"), value_arg(1, "other")}, shape);
  if (producer == Producer::kLinear)
    x = nodes.add("aten.linear.default",
                  {value_arg(0, "input"), value_arg(1, "weight"), graph::none_arg("bias")}, shape);
  if (is_image)
    x = nodes.add("aten.convolution.default", convolution_args(c, 0, 1, graph::none_arg("bias")), shape);
  x = add_limits(nodes, x, first, shape);
  add_limits(nodes, x, second, shape);
  form.error_model = exact_model(Rule::kExactValue);
  return form;
}

void add_clamps(CaseList& out) {
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16})
    for (const auto& [producer, word] : kProducers)
      for (const auto& [first, second] : kPairs) {
        if (dtype == ETB_DTYPE_FLOAT16 && producer > Producer::kAdd) continue;
        OpForm form = clamped_twice(dtype, producer, first, second);
        form.word = std::string("twice.") + word + "." + first.word + "." + second.word;
        add_form(out, dtype, std::move(form));
      }
}

// ---- one value in two orders

void add_orders(CaseList& out) {
  const std::vector<int64_t> orders[] = {{0, 2, 1}, {1, 0, 2}, {2, 1, 0}, {1, 2, 0}};
  for (size_t a = 0; a < std::size(orders); ++a)
    for (size_t b = a + 1; b < std::size(orders); ++b) {
      const Shape cube{ETB_DTYPE_FLOAT32, {4, 4, 4}, {}};
      OpForm form;
      form.op = "aten.permute_copy.default";
      form.word = "two_orders." + std::to_string(a) + std::to_string(b);
      form.operands = {{cube, Values::kStatistical}};
      FormNodes nodes(form.nodes, 1);
      for (const size_t number : {a, b})
        nodes.add(form.op, {value_arg(0, "self"), ints_arg(orders[number], "dims")}, cube);
      form.outputs = {0, 1};
      add_form(out, ETB_DTYPE_FLOAT32, std::move(form));
    }
}

// ---- codes that are read with another scale

void add_other_scales(CaseList& out) {
  struct Scale {
    double scale;
    int64_t zero;
  };
  const Shape shape{ETB_DTYPE_FLOAT32, {5, 9}, {}};
  for (const Scale& other : {Scale{0.25, 3}, Scale{0.5, -7}, Scale{1, 3}}) {
    OpForm form;
    form.op = kDequantise;
    form.group = "quant";
    form.word = "other_scale_" + real_text(other.scale) + "_z" + number_text(other.zero);
    form.operands = {{shape, Values::kExact}};
    FormNodes nodes(form.nodes, 1);
    const uint32_t q =
        nodes.add(kQuantise, tensor_quant_args(0, 0.5, 3, kInt8), Shape{ETB_DTYPE_INT8, {5, 9}, {}});
    nodes.add(kDequantise, tensor_quant_args(q, other.scale, other.zero, kInt8), shape);
    form.error_model = exact_model(Rule::kExactValue);
    add_form(out, ETB_DTYPE_FLOAT32, std::move(form));
  }
  OpForm form;  // a constant that two nodes read, each with its own scale
  form.op = kDequantise;
  form.group = "quant";
  form.word = "constant_of_two_scales";
  form.operands = {{shape, Values::kExact},
                   {{ETB_DTYPE_INT8, {5, 9}, {}}, Values::kStatistical, {-40, 40}, true}};
  FormNodes nodes(form.nodes, 2);
  const uint32_t a = nodes.add(kDequantise, tensor_quant_args(1, 0.5, 3, kInt8), shape),
                 b = nodes.add(kDequantise, tensor_quant_args(1, 0.25, -7, kInt8), shape);
  nodes.add("aten.add.Tensor", {value_arg(0, "self"), value_arg(a, "other")}, shape);
  nodes.add("aten.mul.Tensor", {value_arg(0, "self"), value_arg(b, "other")}, shape);
  form.outputs = {2, 3};
  form.error_model = exact_model(Rule::kExactValue);
  add_form(out, ETB_DTYPE_FLOAT32, std::move(form));
}

// A mean of codes in another order than they are stored in.
void add_means_of_permuted(CaseList& out) {
  struct Row {
    Sizes sizes;
    std::vector<int64_t> order, dims;
  };
  for (const Row& row :
       {Row{{3, 5, 8}, {2, 0, 1}, {1}}, Row{{3, 5, 8}, {1, 2, 0}, {1}}, Row{{2, 3, 4, 4}, {0, 2, 3, 1}, {1}},
        Row{{2, 3, 4, 4}, {3, 1, 0, 2}, {-1}}, Row{{2, 3, 4, 4}, {2, 0, 3, 1}, {2}}}) {
    const auto rank = static_cast<int64_t>(row.sizes.size());
    Shape code{ETB_DTYPE_INT8, row.sizes, {}}, real{ETB_DTYPE_FLOAT32, row.sizes, {}}, moved = real;
    for (size_t i = 0; i < row.sizes.size(); ++i)
      moved.sizes[i] = row.sizes[static_cast<size_t>(row.order[i])];
    Shape mean = moved;
    mean.sizes.erase(mean.sizes.begin() + (row.dims[0] < 0 ? row.dims[0] + rank : row.dims[0]));
    OpForm form;
    form.op = "aten.mean.dim";
    form.group = "quant";
    form.word = "permuted_" + number_text(row.order) + "_d" + number_text(row.dims);
    form.operands = {{code, Values::kStatistical, {-60, 60}}};
    for (const bool is_reference : {false, true}) {
      FormNodes nodes(is_reference ? form.reference.nodes : form.nodes, 1);
      uint32_t x = nodes.add(kDequantise, tensor_quant_args(0, 0x1p-5, 3, kInt8), real);
      x = nodes.add("aten.permute_copy.default", {value_arg(x, "self"), ints_arg(row.order, "dims")}, moved);
      x = nodes.add("aten.mean.dim",
                    {value_arg(x, "self"), ints_arg(row.dims, "dim"), graph::bool_arg(false, "keepdim")},
                    mean);
      if (is_reference)
        add_real_codes(nodes, x, 0x1p-6, 5, kInt8, mean);
      else
        nodes.add(kQuantise, tensor_quant_args(x, 0x1p-6, 5, kInt8), Shape{ETB_DTYPE_INT8, mean.sizes, {}});
    }
    form.error_model = code_model(5);
    add_form(out, ETB_DTYPE_INT8, std::move(form));
  }
}

// ---- attributes

void add_slopes(CaseList& out, etb_dtype dtype) {
  for (const double slope : {0.0, 1.0, 1.5, 3.0, -0.5}) {
    const Shape shape{dtype, {5, 13}, {}};
    OpForm form{"aten.leaky_relu.default",
                {{shape}},
                {value_arg(0, "self"), float_arg(slope, "negative_slope")},
                {shape}};
    form.error_model = rounded_model(2);
    add_form(out, dtype, std::move(form));
  }
}

// Some last parts are shorter than a step, with the first element at each place of it.
void add_steps(CaseList& out, etb_dtype dtype) {
  for (const int64_t extent : {7, 10})
    for (const int64_t step : {2, 3})
      for (const int64_t start : {0, 1, 2, 3})
        for (const int64_t end : {extent, extent - 2}) {
          const bool is_last = (extent + start) % 2 == 0;
          const int64_t count = (end - start + step - 1) / step;
          const Shape from{dtype, is_last ? Sizes{3, extent} : Sizes{2, extent, 3}, {}};
          Shape to = from;
          to.sizes[1] = count;
          add_form(out, dtype,
                   {"aten.slice_copy.Tensor",
                    {{from}},
                    {value_arg(0, "self"), int_arg(1, "dim"), int_arg(start, "start"), int_arg(end, "end"),
                     int_arg(step, "step")},
                    {to}});
        }
}

void add_paddings(CaseList& out, etb_dtype dtype) {
  for (const double value : {0.5, -1.25, 1000.5, -0.001}) {
    const Shape from{dtype, {2, 3, 4}, {}};
    add_form(out, dtype,
             {"aten.constant_pad_nd.default",
              {{from}},
              {value_arg(0, "self"), ints_arg({1, 2, 0, 1}, "pad"), float_arg(value, "value")},
              {{dtype, {2, 4, 7}, {}}}});
  }
}

void add_factors(CaseList& out, etb_dtype dtype) {
  for (const char* op : {"aten.add.Scalar", "aten.sub.Scalar"})
    for (const int64_t alpha : {2, -1, -3}) {
      const Shape shape{dtype, {4, 9}, {}};
      OpForm form{op,
                  {{shape, Values::kExact}},
                  {value_arg(0, "self"), int_arg(3, "other"), int_arg(alpha, "alpha")},
                  {shape}};
      form.error_model = exact_model(Rule::kExactValue);
      add_form(out, dtype, std::move(form));
    }
}

// Operands of two types: the result has the larger one.
void add_promotions(CaseList& out) {
  for (const char* op : {"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor"})
    for (const etb_dtype other : {ETB_DTYPE_FLOAT16, ETB_DTYPE_INT32, ETB_DTYPE_INT64, ETB_DTYPE_INT8})
      for (const bool is_first : {false, true}) {
        const Shape real{ETB_DTYPE_FLOAT32, {3, 7}, {}}, small{other, {3, 7}, {}};
        OpForm form{op,
                    {{is_first ? small : real, Values::kExact}, {is_first ? real : small, Values::kExact}},
                    {value_arg(0, "self"), value_arg(1, "other")},
                    {real}};
        form.word = std::string("promoted.") + short_name(other) + (is_first ? ".first" : ".second");
        form.error_model = exact_model(Rule::kExactValue);
        add_form(out, ETB_DTYPE_FLOAT32, std::move(form));
      }
}

// As many inputs as outputs in each group, of which there are several.
void add_transposed_groups(CaseList& out) {
  for (const Channels& channels : {Channels{6, 6, 3}, Channels{8, 8, 2}, Channels{6, 9, 3}})
    for (const int64_t stride : {1, 2}) {
      Convolution c = even_convolution(ETB_DTYPE_FLOAT32, channels, {5, 4}, 3, stride, 1);
      c.kernel = {3, 2};
      c.is_transposed = true;
      add_form(out, ETB_DTYPE_FLOAT32, convolution_form(c));
    }
}

}  // namespace

void add_chain_designs(CaseList& out) {
  add_clamps(out);
  add_orders(out);
  add_other_scales(out);
  add_means_of_permuted(out);
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16}) {
    add_slopes(out, dtype);
    add_steps(out, dtype);
    add_paddings(out, dtype);
    add_factors(out, dtype);
  }
  add_promotions(out);
  add_transposed_groups(out);
}

}  // namespace etb::conformance
