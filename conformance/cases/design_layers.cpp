// SPDX-License-Identifier: Apache-2.0
// Dynamic sizes of products, convolutions, pools, norms, softmax, attention, resizing and quantised arithmetic.
#include <cmath>

#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::bool_arg;
using graph::float_arg;
using graph::int_arg;
using graph::ints_arg;
using graph::none_arg;
using graph::value_arg;

constexpr Order kOrders[] = {Order::kGrowing, Order::kShrinking, Order::kMixed, Order::kWithZero};

// Adds every choice of moving dimensions, with the orders in turn. Windows and norms need an element.
void add_all(CaseList& out, etb_dtype dtype, const Maker& maker, const Sizes& sizes, bool may_be_empty) {
  size_t at = hash_text(form_name(maker(sizes), dtype)) % 4;
  for (const Moving moving : {Moving::kFirst, Moving::kMiddle, Moving::kLast, Moving::kOuter, Moving::kAll})
    add_dynamic_form(out, dtype, maker, sizes, moving, kOrders[at++ % (may_be_empty ? 4 : 3)]);
}

Operand weight(etb_dtype dtype, Sizes sizes, bool is_constant = true) {
  return {{dtype, std::move(sizes), {}}, Data::kStat, {-1, 1}, is_constant};
}

// ---- products

void add_products(CaseList& out, etb_dtype dtype) {
  const auto product = [=](const char* op, bool is_constant, int64_t columns) -> Maker {
    return [=](const Sizes& sizes) {
      Sizes second = sizes, result = sizes;
      result.back() = columns;
      second.end()[-2] = sizes.back();
      second.back() = columns;
      OpForm form{op,
                  {{{dtype, sizes, {}}, Data::kStat, {-1, 1}}, weight(dtype, second, is_constant)},
                  {value_arg(0, "self"), value_arg(1, "mat2")},
                  {{dtype, result, {}}}};
      form.error_model = contraction_model(std::max<int64_t>(sizes.back(), 1), false);
      return form;
    };
  };
  for (const bool is_constant : {false, true}) {
    add_all(out, dtype, product("aten.mm.default", is_constant, 5), {4, 9}, true);
    add_all(out, dtype, product("aten.mm.default", is_constant, 33), {4, 65}, true);
  }
  add_all(out, dtype, product("aten.bmm.default", false, 7), {3, 4, 9}, true);
  const auto linear = [=](int64_t columns, bool has_bias) -> Maker {
    return [=](const Sizes& sizes) {
      Sizes result = sizes;
      result.back() = columns;
      OpForm form{"aten.linear.default",
                  {{{dtype, sizes, {}}, Data::kStat, {-1, 1}},
                   weight(dtype, {columns, sizes.back()}),
                   weight(dtype, {columns})},
                  {value_arg(0, "input"), value_arg(1, "weight"), value_arg(2, "bias")},
                  {{dtype, result, {}}}};
      if (!has_bias) {
        form.operands.pop_back();
        form.args[2] = none_arg("bias");
      }
      form.error_model = contraction_model(sizes.back() + 1, false);
      return form;
    };
  };
  for (const Sizes& sizes : {Sizes{4, 9}, {3, 4, 17}, {2, 3, 4, 64}, {2, 2, 3, 4, 5}}) {
    add_all(out, dtype, linear(6, true), sizes, true);
    add_all(out, dtype, linear(33, false), sizes, true);
  }
  for (const bool is_constant : {false, true})
    add_all(
        out, dtype,
        [=](const Sizes& sizes) {
          OpForm form{"aten.addmm.default",
                      {{{dtype, sizes, {}}, Data::kStat, {-1, 1}},
                       weight(dtype, {sizes[1], 6}, is_constant),
                       weight(dtype, {6}, is_constant)},
                      {value_arg(2, "self"), value_arg(0, "mat1"), value_arg(1, "mat2")},
                      {{dtype, {sizes[0], 6}, {}}}};
          form.error_model = contraction_model(sizes[1] + 1, false);
          return form;
        },
        {4, 19}, true);
}

// ---- windows

struct Window {
  int64_t kernel, stride, padding, dilation, groups;
  int64_t outputs;
};

int64_t window_size(int64_t in, const Window& w) {
  return (in + 2 * w.padding - w.dilation * (w.kernel - 1) - 1) / w.stride + 1;
}

void add_convolutions(CaseList& out, etb_dtype dtype) {
  const auto convolution = [=](const Window& w, bool is_transposed, uint32_t order) -> Maker {
    return [=](const Sizes& sizes) {
      const size_t directions = sizes.size() - 2;
      Sizes filter = is_transposed ? Sizes{sizes[1], w.outputs} : Sizes{w.outputs, sizes[1] / w.groups},
            result = {sizes[0], w.outputs};
      for (size_t d = 2; d < sizes.size(); ++d) {
        filter.push_back(w.kernel);
        result.push_back(is_transposed ? (sizes[d] - 1) * w.stride - 2 * w.padding + w.kernel
                                       : window_size(sizes[d], w));
      }
      const auto all = [&](int64_t number) { return std::vector<int64_t>(directions, number); };
      const std::vector<uint8_t> dims = order_of(sizes.size(), order);
      OpForm form{
          "aten.convolution.default",
          {{{dtype, sizes, dims}, Data::kStat, {-1, 1}}, weight(dtype, filter), weight(dtype, {w.outputs})},
          {value_arg(0, "input"), value_arg(1, "weight"), value_arg(2, "bias"),
           ints_arg(all(w.stride), "stride"), ints_arg(all(w.padding), "padding"),
           ints_arg(all(w.dilation), "dilation"), bool_arg(is_transposed, "transposed"),
           ints_arg(all(0), "output_padding"), int_arg(w.groups, "groups")},
          {{dtype, result, dims}}};
      int64_t length = sizes[1] / w.groups + 1;
      for (size_t d = 0; d < directions; ++d) length *= w.kernel;
      form.error_model = contraction_model(length + 1, false);
      return form;
    };
  };
  for (const uint32_t order : {0u, 1u}) {
    add_all(out, dtype, convolution({1, 1, 0, 1, 1, 5}, false, order), {2, 3, 5, 6}, false);
    add_all(out, dtype, convolution({3, 1, 1, 1, 1, 4}, false, order), {2, 3, 5, 6}, false);
    add_all(out, dtype, convolution({3, 2, 1, 1, 1, 5}, false, order), {1, 2, 7, 6}, false);
    add_all(out, dtype, convolution({3, 1, 1, 1, 6, 6}, false, order), {2, 6, 5, 6}, false);
    add_all(out, dtype, convolution({3, 1, 2, 2, 2, 4}, false, order), {2, 4, 6, 7}, false);
    add_all(out, dtype, convolution({2, 2, 0, 1, 1, 3}, true, order), {2, 3, 4, 5}, false);
  }
  add_all(out, dtype, convolution({3, 1, 1, 1, 1, 4}, false, 0), {2, 3, 9}, false);
  add_all(out, dtype, convolution({3, 2, 1, 1, 3, 6}, false, 0), {2, 3, 9}, false);
}

void add_pools(CaseList& out, etb_dtype dtype) {
  const auto pool = [=](const Window& w, bool is_max, uint32_t order) -> Maker {
    return [=](const Sizes& sizes) {
      const Shape result{dtype,
                         {sizes[0], sizes[1], window_size(sizes[2], w), window_size(sizes[3], w)},
                         order_of(4, order)};
      OpForm form;
      form.op = is_max ? "aten.max_pool2d_with_indices.default" : "aten.avg_pool2d.default";
      form.operands = {{{dtype, sizes, order_of(4, order)}}};
      form.args = {value_arg(0, "self"), ints_arg({w.kernel, w.kernel}, "kernel_size"),
                   ints_arg({w.stride, w.stride}, "stride"), ints_arg({w.padding, w.padding}, "padding")};
      form.results = {result};
      if (is_max) {
        form.args.insert(form.args.end(), {ints_arg({1, 1}, "dilation"), bool_arg(false, "ceil_mode")});
        form.results.push_back(result);
        form.results.back().dtype = ETB_DTYPE_INT64;
        form.outputs = {0};
        return form;
      }
      form.args.insert(form.args.end(),
                       {bool_arg(false, "ceil_mode"), bool_arg(w.groups == 1, "count_include_pad")});
      form.error_model = contraction_model(w.kernel * w.kernel + 1, false);
      return form;
    };
  };
  for (const uint32_t order : {0u, 1u})
    for (const bool is_max : {true, false}) {
      add_all(out, dtype, pool({3, 1, 1, 1, 1, 0}, is_max, order), {2, 3, 5, 6}, false);
      add_all(out, dtype, pool({3, 2, 1, 1, 0, 0}, is_max, order), {2, 3, 7, 6}, false);
    }
  add_all(
      out, dtype,
      [=](const Sizes& sizes) {
        OpForm form{"aten._adaptive_avg_pool2d.default",
                    {{{dtype, sizes, {}}}},
                    {value_arg(0, "self"), ints_arg({1, 1}, "output_size")},
                    {{dtype, {sizes[0], sizes[1], 1, 1}, {}}}};
        form.error_model = contraction_model(sizes[2] * sizes[3] + 1, false);
        return form;
      },
      {2, 3, 5, 6}, false);
  add_all(
      out, dtype,
      [=](const Sizes& sizes) {
        OpForm form{
            "aten.upsample_nearest2d.vec",
            {{{dtype, sizes, {}}}},
            {value_arg(0, "input"), none_arg("output_size"), graph::floats_arg({2, 2}, "scale_factors")},
            {{dtype, {sizes[0], sizes[1], 2 * sizes[2], 2 * sizes[3]}, {}}}};
        return form;
      },
      {2, 3, 4, 5}, false);
}

// ---- norms, softmax, attention

std::vector<double> product_of_largest(const std::vector<TensorData>& inputs) {
  const double largest = twice_the_largest({inputs[0]})[0];
  return {4 * largest * (1 + largest)};
}

void add_norms(CaseList& out, etb_dtype dtype) {
  const Magnitude magnitude = product_of_largest;
  for (const char* op : {"aten._softmax.default", "aten._log_softmax.default"})
    for (const int64_t dim : {int64_t{-1}, int64_t{0}, int64_t{1}})
      for (const Sizes& sizes : {Sizes{3, 17}, {2, 3, 5}, {2, 3, 4, 5}})
        add_all(
            out, dtype,
            [=](const Sizes& now) {
              const Shape shape{dtype, now, {}};
              OpForm form{op,
                          {{shape}},
                          {value_arg(0, "self"), int_arg(dim, "dim"), bool_arg(false, "half_to_float")},
                          {shape}};
              const bool is_log = op[6] == 'l';
              form.error_model = rounded_model(4, 40, is_log ? Magnitude(twice_the_largest) : nullptr);
              return form;
            },
            sizes, dim == -1);
  for (const Sizes& sizes : {Sizes{3, 8}, {2, 3, 33}, {2, 3, 4, 5}})
    add_all(
        out, dtype,
        [=](const Sizes& now) {
          const Shape shape{dtype, now, {}};
          Shape mean = shape;
          mean.sizes.back() = 1;
          OpForm form{"aten.native_layer_norm.default",
                      {{shape},
                       {{dtype, {now.back()}, {}}, Data::kStat, {0.5, 2}, true},
                       weight(dtype, {now.back()})},
                      {value_arg(0, "input"), ints_arg({now.back()}, "normalized_shape"),
                       value_arg(1, "weight"), value_arg(2, "bias"), float_arg(1e-5, "eps")},
                      {shape, mean, mean}};
          form.outputs = {0};
          form.error_model = rounded_model(4, 4 * std::sqrt(static_cast<double>(now.back())) + 8, magnitude);
          return form;
        },
        sizes, false);
  for (const uint32_t order : {0u, 1u})
    for (const Sizes& sizes : {Sizes{4, 6}, {2, 3, 4, 5}})
      add_all(
          out, dtype,
          [=](const Sizes& now) {
            const Shape shape{dtype, now, order_of(now.size(), order)}, empty{dtype, {0}, {}};
            const Operand scale{{dtype, {now[1]}, {}}, Data::kStat, {0.5, 2}, true};
            OpForm form{"aten._native_batch_norm_legit_no_training.default",
                        {{shape}, scale, weight(dtype, {now[1]}), weight(dtype, {now[1]}), scale},
                        {value_arg(0, "input"), value_arg(1, "weight"), value_arg(2, "bias"),
                         value_arg(3, "running_mean"), value_arg(4, "running_var"),
                         float_arg(0.1, "momentum"), float_arg(1e-5, "eps")},
                        {shape, empty, empty}};
            form.outputs = {0};
            form.error_model = rounded_model(4, 16, magnitude);
            return form;
          },
          sizes, true);
}

// Queries, keys and values of one length, or keys of a length of their own.
Maker attention_maker(etb_dtype dtype, bool has_own_keys) {
  return [=](const Sizes& sizes) {
    const int64_t head = sizes[2], batch = sizes[0], rows = sizes[1], keys = has_own_keys ? 5 : rows;
    const Shape scores{dtype, {batch, rows, keys}, {}};
    OpForm form;
    form.op = "aten.scaled_dot_product_attention.default";
    form.operands = {{{dtype, sizes, {}}, Data::kStat, {-1, 1}},
                     {{dtype, {batch, keys, head}, {}}, Data::kStat, {-1, 1}},
                     {{dtype, {batch, keys, 6}, {}}}};
    form.args = {value_arg(0, "query"), value_arg(1, "key"), value_arg(2, "value")};
    form.results = {{dtype, {batch, rows, 6}, {}}};
    form.error_model = rounded_model(8, 64 * static_cast<double>(head),
                                     [](const std::vector<TensorData>&) { return std::vector<double>{4}; });
    form.reference = {{"aten.permute_copy.default",
                       {value_arg(1, "self"), ints_arg({0, 2, 1}, "dims")},
                       {dtype, {batch, head, keys}, {}}},
                      {"aten.bmm.default", {value_arg(0, "self"), value_arg(3, "mat2")}, scores},
                      {"aten.mul.Scalar",
                       {value_arg(4, "self"), float_arg(1 / std::sqrt(static_cast<double>(head)), "other")},
                       scores},
                      {"aten._softmax.default",
                       {value_arg(5, "self"), int_arg(-1, "dim"), bool_arg(false, "half_to_float")},
                       scores},
                      {"aten.bmm.default", {value_arg(6, "self"), value_arg(2, "mat2")}, form.results[0]}};
    return form;
  };
}

// ---- activations

void add_activations(CaseList& out, etb_dtype dtype) {
  struct Activation {
    const char* op;
    std::vector<graph::ArgumentDesc> args;
    double ulps, steps;
  };
  const std::vector<Activation> activations = {
      {"aten.leaky_relu.default", {float_arg(0.125, "negative_slope")}, 0.5, 1},
      {"aten.elu.default", {float_arg(1, "alpha")}, 4, 1},
      {"aten.gelu.default", {graph::string_arg("none", "approximate")}, 6, 4},
      {"aten.gelu.default", {graph::string_arg("tanh", "approximate")}, 6, 8}};
  size_t at = 0;
  for (const Activation& item : activations)
    for (const Sizes& sizes :
         {Sizes{9}, {3, 17}, {2, 3, 4}, {2, 3, 4, 5}, {2, 1, 3, 2, 4}, {2, 1, 2, 3, 2, 2}})
      for (const uint32_t order : {0u, 1u}) {
        if (order == 1 && sizes.size() < 4) continue;
        const Maker maker = [=](const Sizes& now) {
          const Shape shape{dtype, now, order_of(now.size(), order)};
          OpForm form{item.op, {{shape}}, {value_arg(0, "self")}, {shape}};
          form.args.insert(form.args.end(), item.args.begin(), item.args.end());
          form.error_model = rounded_model(item.ulps, item.steps, twice_the_largest);
          return form;
        };
        add_form(out, dtype, maker(sizes), "pair");
        add_dynamic_forms(out, dtype, maker, sizes, ++at);
      }
  const auto product_with = [=](const char* whole, const char* part) -> Maker {
    return [=](const Sizes& now) {
      const Shape shape{dtype, now, {}};
      OpForm form{whole, {{shape}}, {value_arg(0, "self")}, {shape}};
      form.error_model = rounded_model(8, 2, twice_the_largest);
      form.reference = {{part, {value_arg(0, "self")}, shape},
                        {"aten.mul.Tensor", {value_arg(0, "self"), value_arg(1, "other")}, shape}};
      return form;
    };
  };
  for (const Sizes& sizes : {Sizes{9}, {3, 17}, {2, 3, 4, 5}, {2, 1, 2, 3, 2, 2}})
    add_dynamic_forms(out, dtype, product_with("aten.silu.default", "aten.sigmoid.default"), sizes, ++at);
}

// ---- arithmetic between codes

std::vector<graph::ArgumentDesc> code_args(uint32_t x, double scale, int64_t zero) {
  return {value_arg(x, "input"),       float_arg(scale, "scale"),
          int_arg(zero, "zero_point"), int_arg(-128, "quant_min"),
          int_arg(127, "quant_max"),   graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, "dtype")};
}

// A maker of op(dequantised, dequantised), quantised again; of one operand for relu.
Maker code_maker(const char* op, bool is_unary, uint32_t part) {
  return [=](const Sizes& sizes) {
    Sizes other = sizes;
    if (part == 1) other = {sizes.back()};
    if (part == 2) other.front() = 1;
    const Shape code{ETB_DTYPE_INT8, sizes, {}}, real{ETB_DTYPE_FLOAT32, sizes, {}};
    const char* dequantize = "quantized_decomposed.dequantize_per_tensor.default";
    OpForm form;
    form.op = op;
    form.word = "between_codes";
    form.operands = {{code, Data::kStat, {-128, 127}}};
    form.nodes = {{dequantize, code_args(0, 0x1p-5, 3), real}};
    uint32_t last = 1;
    std::vector<graph::ArgumentDesc> args = {value_arg(1, "self")};
    if (!is_unary) {
      form.operands.push_back({{ETB_DTYPE_INT8, other, {}}, Data::kStat, {-128, 127}});
      form.nodes = {{dequantize, code_args(0, 0x1p-5, 3), real},
                    {dequantize, code_args(1, 0x1p-5, -7), {ETB_DTYPE_FLOAT32, other, {}}}};
      args = {value_arg(2, "self"), value_arg(3, "other")};
      last = 3;
    }
    form.nodes.push_back({op, args, real});
    form.reference = form.nodes;
    form.nodes.push_back(
        {"quantized_decomposed.quantize_per_tensor.default", code_args(last + 1, 0x1p-4, 11), code});
    form.reference.push_back(
        {"aten.div.Scalar", {value_arg(last + 1, "self"), float_arg(0x1p-4, "other")}, real});
    form.reference.push_back({"aten.add.Scalar", {value_arg(last + 2, "self"), int_arg(11, "other")}, real});
    form.reference.push_back({"aten.clamp.default",
                              {value_arg(last + 3, "self"), int_arg(-128, "min"), int_arg(127, "max")},
                              real});
    form.results = {code};
    form.error_model.rule = Rule::kQuantized;
    form.error_model.zero_point = 11;
    return form;
  };
}

void add_codes(CaseList& out) {
  for (const Sizes& sizes : {Sizes{17}, {3, 17}, {2, 3, 4}, {2, 3, 4, 5}, {2, 1, 3, 2, 4}}) {
    for (const char* op : {"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor"})
      for (const uint32_t part : {0u, 1u, 2u})
        add_all(out, ETB_DTYPE_INT8, code_maker(op, false, part), sizes, true);
    add_all(out, ETB_DTYPE_INT8, code_maker("aten.relu.default", true, 0), sizes, true);
    for (const char* op : {"quantized_decomposed.quantize_per_tensor.default",
                           "quantized_decomposed.dequantize_per_tensor.default"})
      add_all(
          out, ETB_DTYPE_INT8,
          [=](const Sizes& now) {
            const bool is_down = std::string_view(op).find(".quantize") != std::string_view::npos;
            const Shape code{ETB_DTYPE_INT8, now, {}}, real{ETB_DTYPE_FLOAT32, now, {}};
            OpForm form{op,
                        {{is_down ? real : code, is_down ? Data::kExact : Data::kStat, {-128, 127}}},
                        code_args(0, 0x1p-3, 3),
                        {is_down ? code : real}};
            return form;
          },
          sizes, true);
  }
}

// More runs on one context than any counter of a plugin is likely to be tested with.
void add_many_runs(CaseList& out) {
  const auto unary = [](const char* op) -> Maker {
    return [op](const Sizes& sizes) {
      const Shape shape{ETB_DTYPE_FLOAT32, sizes, {}};
      return OpForm{op, {{shape}}, {value_arg(0, "self")}, {shape}};
    };
  };
  for (const char* op : {"aten.abs.default", "aten.neg.default", "aten.ceil.default", "aten.clone.default"})
    add_dynamic_form(out, ETB_DTYPE_FLOAT32, unary(op), {3, 2}, Moving::kOuter, Order::kManyRuns);
  for (const char* op : {"aten.add.Tensor", "aten.mul.Tensor", "aten.maximum.default"})
    add_dynamic_form(
        out, ETB_DTYPE_FLOAT32,
        [op](const Sizes& sizes) {
          const Shape shape{ETB_DTYPE_FLOAT32, sizes, {}};
          OpForm form{op, {{shape}, {shape}}, {value_arg(0, "self"), value_arg(1, "other")}, {shape}};
          form.error_model = rounded_model(0.5);
          return form;
        },
        {2, 3}, Moving::kOuter, Order::kManyRuns);
  add_dynamic_form(
      out, ETB_DTYPE_FLOAT32,
      [](const Sizes& sizes) {
        OpForm form{
            "aten.linear.default",
            {{{ETB_DTYPE_FLOAT32, sizes, {}}, Data::kStat, {-1, 1}}, weight(ETB_DTYPE_FLOAT32, {3, 4})},
            {value_arg(0, "input"), value_arg(1, "weight"), none_arg("bias")},
            {{ETB_DTYPE_FLOAT32, {sizes[0], 3}, {}}}};
        form.error_model = contraction_model(5, false);
        return form;
      },
      {2, 4}, Moving::kFirst, Order::kManyRuns);
}

}  // namespace

void add_layer_designs(CaseList& out) {
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16}) {
    add_products(out, dtype);
    add_convolutions(out, dtype);
    add_pools(out, dtype);
    add_norms(out, dtype);
    add_activations(out, dtype);
    for (const bool has_own_keys : {false, true})
      add_all(out, dtype, attention_maker(dtype, has_own_keys), {2, 4, 8}, false);
  }
  add_codes(out);
  add_many_runs(out);
}

}  // namespace etb::conformance
