// SPDX-License-Identifier: Apache-2.0
// Ops that plugins support whole, and the portable kernels under another name or in parts. Also ops with
// constant parameters and with only the result that most models read, as compilers pass them.
#include <algorithm>
#include <cmath>
#include <functional>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/generators.hpp"

namespace etb::conformance {
namespace {

using graph::bool_arg;
using graph::float_arg;
using graph::int_arg;
using graph::ints_arg;
using graph::value_arg;

using Nodes = std::function<void(CaseBuilder&)>;

struct Whole {
  std::string name;  // after "op."; of a graph that quantises after "quant."
  const char* op;
  etb_dtype dtype;
  ErrorModel error_model;
  Nodes whole;
  Nodes parts = nullptr;  // the reference on the same inputs; none: the op itself
};

void add(CaseList& out, Whole item) {
  const char* op = item.op;
  const bool is_quantised = std::string_view(op).find("choose_qparams") != std::string_view::npos;
  const std::string name = (is_quantised ? "quant." : "op.") + item.name;
  const etb_dtype dtype = item.dtype;
  out.add({name, op, dtype, [item = std::move(item)](std::string_view full_name) -> Result<BuiltCase> {
             CaseBuilder builder(full_name);
             item.whole(builder);
             ETB_ASSIGN(BuiltCase made, builder.finish(item.error_model));
             if (!item.parts) return made;
             CaseBuilder parts(full_name);
             item.parts(parts);
             ETB_ASSIGN(BuiltCase reference, parts.finish({}));
             made.reference_image = std::move(reference.image);
             return made;
           }});
}

std::string word(const char* op, etb_dtype dtype, const Shape& shape, const std::string& rest) {
  return op_word(op).substr(3) + "." + short_name(dtype) + "." + shape_text(shape) + rest + ".stat";
}

ErrorModel moved() {
  ErrorModel out;
  out.rule = Rule::kExact;
  return out;
}
// Judges results within a few roundings of numbers as large as `largest`.
ErrorModel rounded(double ulps, double steps, double largest) {
  ErrorModel out;
  out.rule = Rule::kRounded;
  out.ulps = ulps;
  out.steps = steps;
  if (steps > 0)
    out.magnitude = [largest](const std::vector<TensorData>&) { return std::vector<double>{largest}; };
  return out;
}

uint32_t parameter(CaseBuilder& builder, const Shape& shape, const Domain& domain) {
  return builder.constant(make_values(shape, Values::kStatistical, domain, 1, builder.random()));
}

// ---- powers, slopes

void add_powers(CaseList& out, etb_dtype dtype) {
  const Shape shape{dtype, {3, 17}, {}};
  for (const double exponent : {2.0, 3.0, 4.0, 0.5, -0.5, -1.0, 1.5}) {
    std::string text = std::to_string(exponent).substr(0, exponent < 0 ? 4 : 3);
    std::replace(text.begin(), text.end(), '.', 'p');
    std::replace(text.begin(), text.end(), '-', 'm');
    const char* op = "aten.pow.Tensor_Scalar";
    add(out,
        {word(op, dtype, shape, ".e" + text), op, dtype, rounded(16, 0, 0), [=](CaseBuilder& builder) {
           const uint32_t x = builder.input(shape, Values::kStatistical, {0.125, 4});
           builder.output(builder.node(op, {value_arg(x, "self"), float_arg(exponent, "exponent")}, shape));
         }});
  }
}

void add_prelu(CaseList& out, etb_dtype dtype) {
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{3, 5}, {2, 3, 4}, {2, 3, 4, 5}})
    for (const int64_t slopes : {int64_t{1}, sizes[1]}) {
      const Shape shape{dtype, sizes, {}}, weight{dtype, {slopes}, {}};
      std::vector<int64_t> along(sizes.size(), 1);
      along[1] = slopes;
      const Shape wide{dtype, along, {}};
      const char* op = "aten.prelu.default";
      const auto inputs = [=](CaseBuilder& builder) {
        const uint32_t x = builder.input(shape, Values::kStatistical);
        return std::pair(x, parameter(builder, weight, {-1, 1}));
      };
      add(out, {word(op, dtype, shape, ".w" + std::to_string(slopes)), op, dtype, rounded(0.5, 0, 0),
                [=](CaseBuilder& builder) {
                  const auto [x, w] = inputs(builder);
                  builder.output(builder.node(op, {value_arg(x, "self"), value_arg(w, "weight")}, shape));
                },
                [=](CaseBuilder& builder) {
                  const auto [x, w] = inputs(builder);
                  const auto binary = [&](const char* name, uint32_t a, uint32_t b) {
                    return builder.node(name, {value_arg(a, "self"), value_arg(b, "other")}, shape);
                  };
                  const uint32_t slope = builder.node("aten.view_copy.default",
                                                      {value_arg(w, "self"), ints_arg(along, "size")}, wide);
                  const uint32_t up = builder.node("aten.relu.default", {value_arg(x, "self")}, shape);
                  const uint32_t down = binary("aten.sub.Tensor", x, up);
                  builder.output(binary("aten.add.Tensor", up, binary("aten.mul.Tensor", down, slope)));
                }});
    }
}

// ---- attention

struct Heads {
  std::vector<int64_t> query, key, value;
};

void add_attention(CaseList& out, etb_dtype dtype) {
  const char* op = "aten.scaled_dot_product_attention.default";
  for (const Heads& h :
       {Heads{{2, 4, 8}, {2, 5, 8}, {2, 5, 6}}, Heads{{1, 2, 6, 4}, {1, 2, 6, 4}, {1, 2, 6, 4}}}) {
    std::vector<int64_t> result = h.query;
    result.back() = h.value.back();
    const auto flat = [](std::vector<int64_t> sizes) {
      if (sizes.size() == 4) sizes = {sizes[0] * sizes[1], sizes[2], sizes[3]};
      return sizes;
    };
    // A weighted mean of values up to 4. A score of `head` products changes all weights by as many roundings.
    const double head = static_cast<double>(h.query.back());
    add(out,
        {word(op, dtype, {dtype, h.query, {}}, ""), op, dtype, rounded(8, 64 * head, 4),
         [=](CaseBuilder& builder) {
           const uint32_t q = builder.input({dtype, h.query, {}}, Values::kStatistical, {-1, 1}),
                          k = builder.input({dtype, h.key, {}}, Values::kStatistical, {-1, 1}),
                          v = builder.input({dtype, h.value, {}}, Values::kStatistical);
           builder.output(builder.node(op,
                                       {value_arg(q, "query"), value_arg(k, "key"), value_arg(v, "value")},
                                       Shape{dtype, result, {}}));
         },
         [=](CaseBuilder& builder) {
           const auto view = [&](uint32_t x, const std::vector<int64_t>& sizes) {
             return builder.node("aten.view_copy.default", {value_arg(x, "self"), ints_arg(sizes, "size")},
                                 Shape{dtype, sizes, {}});
           };
           const std::vector<int64_t> a = flat(h.query), b = flat(h.key), c = flat(h.value);
           const Shape scores{dtype, {a[0], a[1], b[1]}, {}};
           const uint32_t x = builder.input({dtype, h.query, {}}, Values::kStatistical, {-1, 1}),
                          y = builder.input({dtype, h.key, {}}, Values::kStatistical, {-1, 1}),
                          z = builder.input({dtype, h.value, {}}, Values::kStatistical);
           const uint32_t q = view(x, a), k = view(y, b), v = view(z, c);
           const uint32_t t =
               builder.node("aten.permute_copy.default", {value_arg(k, "self"), ints_arg({0, 2, 1}, "dims")},
                            Shape{dtype, {b[0], b[2], b[1]}, {}});
           const uint32_t dots =
               builder.node("aten.bmm.default", {value_arg(q, "self"), value_arg(t, "mat2")}, scores);
           const uint32_t scaled = builder.node(
               "aten.mul.Scalar", {value_arg(dots, "self"), float_arg(1 / std::sqrt(head), "other")}, scores);
           const uint32_t weights = builder.node(
               "aten._softmax.default",
               {value_arg(scaled, "self"), int_arg(-1, "dim"), bool_arg(false, "half_to_float")}, scores);
           builder.output(
               view(builder.node("aten.bmm.default", {value_arg(weights, "self"), value_arg(v, "mat2")},
                                 Shape{dtype, {a[0], a[1], c[2]}, {}}),
                    result));
         }});
  }
}

// ---- windows and resizing

void add_max_pool(CaseList& out, etb_dtype dtype) {
  const Shape input{dtype, {1, 3, 6, 7}, {}}, result{dtype, {1, 3, 3, 3}, {}},
      indices{ETB_DTYPE_INT64, {1, 3, 3, 3}, {}};
  const char* op = "aten.max_pool2d.default";
  const auto args = [](uint32_t x) {
    return std::vector<graph::ArgumentDesc>{value_arg(x, "self"),         ints_arg({2, 2}, "kernel_size"),
                                            ints_arg({2, 2}, "stride"),   ints_arg({0, 0}, "padding"),
                                            ints_arg({1, 1}, "dilation"), bool_arg(false, "ceil_mode")};
  };
  add(out, {word(op, dtype, input, ".k2"), op, dtype, moved(),
            [=](CaseBuilder& builder) {
              builder.output(builder.node(op, args(builder.input(input, Values::kStatistical)), result));
            },
            [=](CaseBuilder& builder) {
              builder.output(builder.node("aten.max_pool2d_with_indices.default",
                                          args(builder.input(input, Values::kStatistical)),
                                          std::vector<Shape>{result, indices}));
            }});
  const char* largest = "aten.max.dim";
  add(out, {word(largest, dtype, input, ".values"), largest, dtype, moved(), [=](CaseBuilder& builder) {
              const uint32_t x = builder.input(input, Values::kStatistical);
              builder.output(builder.node(
                  largest, {value_arg(x, "self"), int_arg(2, "dim"), bool_arg(true, "keepdim")},
                  std::vector<Shape>{{dtype, {1, 3, 1, 7}, {}}, {ETB_DTYPE_INT64, {1, 3, 1, 7}, {}}}));
            }});
}

void add_resizing(CaseList& out, etb_dtype dtype) {
  const Shape input{dtype, {1, 3, 4, 6}, {}};
  for (const bool has_scales : {false, true}) {
    const std::string how = has_scales ? ".scales" : ".sizes";
    const Shape result{dtype, {1, 3, 8, 18}, {}};
    const auto resize = [=](CaseBuilder& builder, const char* op, bool is_bilinear, bool aligns) {
      const uint32_t x = builder.input(input, Values::kStatistical);
      std::vector<graph::ArgumentDesc> args = {value_arg(x, "input")};
      args.push_back(has_scales ? graph::none_arg("output_size") : ints_arg({8, 18}, "output_size"));
      if (is_bilinear) args.push_back(bool_arg(aligns, "align_corners"));
      args.push_back(has_scales ? graph::floats_arg({2, 3}, "scale_factors")
                                : graph::none_arg("scale_factors"));
      builder.output(builder.node(op, args, result));
    };
    const char* nearest = "aten.upsample_nearest2d.vec";
    add(out, {word(nearest, dtype, input, how), nearest, dtype, moved(),
              [=](CaseBuilder& builder) { resize(builder, nearest, false, false); }});
    for (const bool aligns : {false, true}) {
      // Coordinates up to 6 are rounded, too, and neighbours differ by up to 8.
      const char* op = "aten.upsample_bilinear2d.vec";
      add(out, {word(op, dtype, input, how + (aligns ? ".corners" : "")), op, dtype, rounded(4, 16, 8 * 6),
                [=](CaseBuilder& builder) { resize(builder, op, true, aligns); }});
    }
  }
}

// ---- normalisation with constant parameters; only the normalised tensor is read

void add_norms(CaseList& out, etb_dtype dtype) {
  const Shape shape{dtype, {2, 4, 3, 5}, {}};
  const auto judge = [](int64_t length) {
    return rounded(4, 4 * std::sqrt(static_cast<double>(length)) + 8, 5 * 3 * 5 + 1);
  };
  const char* layer = "aten.native_layer_norm.default";
  add(out,
      {word(layer, dtype, shape, ".constant"), layer, dtype, judge(15), [=](CaseBuilder& builder) {
         const Shape row{dtype, {3, 5}, {}}, mean{dtype, {2, 4, 1, 1}, {}};
         const uint32_t x = builder.input(shape, Values::kStatistical);
         const uint32_t w = parameter(builder, row, {0.5, 2}), b = parameter(builder, row, {-1, 1});
         builder.output(builder.node(layer,
                                     {value_arg(x, "input"), ints_arg({3, 5}, "normalized_shape"),
                                      value_arg(w, "weight"), value_arg(b, "bias"), float_arg(1e-5, "eps")},
                                     std::vector<Shape>{shape, mean, mean}));
       }});
  const char* group = "aten.native_group_norm.default";
  add(out, {word(group, dtype, shape, ".constant"), group, dtype, judge(30), [=](CaseBuilder& builder) {
              const Shape row{dtype, {4}, {}}, mean{dtype, {2, 2}, {}};
              const uint32_t x = builder.input(shape, Values::kStatistical);
              const uint32_t w = parameter(builder, row, {0.5, 2}), b = parameter(builder, row, {-1, 1});
              builder.output(builder.node(
                  group,
                  {value_arg(x, "input"), value_arg(w, "weight"), value_arg(b, "bias"), int_arg(2, "N"),
                   int_arg(4, "C"), int_arg(15, "HxW"), int_arg(2, "group"), float_arg(1e-5, "eps")},
                  std::vector<Shape>{shape, mean, mean}));
            }});
}

// ---- movement

void add_moves(CaseList& out, etb_dtype dtype) {
  const Shape shape{dtype, {2, 6, 3}, {}}, narrow{dtype, {2, 1, 3}, {}}, image{dtype, {1, 2, 3, 4}, {}};
  const char* split = "aten.split_with_sizes_copy.default";
  add(out, {word(split, dtype, shape, ""), split, dtype, moved(), [=](CaseBuilder& builder) {
              const uint32_t x = builder.input(shape, Values::kStatistical);
              const std::vector<Shape> parts = {
                  {dtype, {2, 1, 3}, {}}, {dtype, {2, 3, 3}, {}}, {dtype, {2, 2, 3}, {}}};
              const uint32_t first = builder.node(
                  split, {value_arg(x, "self"), ints_arg({1, 3, 2}, "split_sizes"), int_arg(1, "dim")}, parts,
                  {3});
              for (uint32_t i = 0; i < 3; ++i) builder.output(first + i);
            }});
  const char* squeeze = "aten.squeeze_copy.dim";
  add(out, {word(squeeze, dtype, narrow, ""), squeeze, dtype, moved(), [=](CaseBuilder& builder) {
              const uint32_t x = builder.input(narrow, Values::kStatistical);
              builder.output(
                  builder.node(squeeze, {value_arg(x, "self"), int_arg(1, "dim")}, Shape{dtype, {2, 3}, {}}));
            }});
  const char* clone = "dim_order_ops._clone_dim_order.default";
  Shape last = image;
  last.dim_order = channels_last(4);
  add(out, {word(clone, dtype, image, ".cl"), clone, dtype, moved(), [=](CaseBuilder& builder) {
              const uint32_t x = builder.input(image, Values::kStatistical);
              builder.output(builder.node(clone,
                                          {value_arg(x, "self"), bool_arg(false, "non_blocking"),
                                           ints_arg({0, 2, 3, 1}, "dim_order")},
                                          last));
            }});
  const char* copy = "dim_order_ops._to_dim_order_copy.default";
  for (const etb_dtype to : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16}) {
    Shape made = shape;
    made.dtype = to;
    add(out, {word(copy, dtype, shape, std::string(".") + short_name(to)), copy, dtype, rounded(0.5, 0, 0),
              [=](CaseBuilder& builder) {
                const uint32_t x = builder.input(shape, Values::kStatistical);
                builder.output(builder.node(
                    copy,
                    {value_arg(x, "self"), graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, to, "dtype"),
                     bool_arg(false, "non_blocking"), ints_arg({0, 1, 2}, "dim_order")},
                    made));
              }});
  }
}

// ---- linear layers with an input quantised at run time

constexpr int64_t kRows = 3, kInputs = 64, kOutputs = 5;
constexpr double kStep = 0x1p-5;  // input scale: each row has both ends of int8, so its scale is exactly this

TensorData filled(const Shape& shape, const std::function<double(int64_t)>& element) {
  TensorData out{shape,
                 std::vector<std::byte>(static_cast<size_t>(shape.numel()) * element_nbytes(shape.dtype))};
  for (int64_t i = 0; i < shape.numel(); ++i) store_element(shape.dtype, out.bytes.data(), i, element(i));
  return out;
}

TensorData rows() {
  return filled({ETB_DTYPE_FLOAT32, {kRows, kInputs}, {}}, [](int64_t i) {
    const int64_t column = i % kInputs;
    return kStep * static_cast<double>(column == 0 ? -128 : column == 1 ? 127 : i * 37 % 256 - 128);
  });
}

// Codes from -limit to limit - 1. Each group of inputs has a power of two as its scale.
struct Weights {
  int64_t limit, group;
  TensorData codes() const {
    return filled({ETB_DTYPE_INT8, {kOutputs, kInputs}, {}},
                  [this](int64_t i) { return static_cast<double>(i * 11 % (2 * limit) - limit); });
  }
  double scale(int64_t g) const { return std::ldexp(1.0, -static_cast<int>(g % 3) - 3); }
  TensorData scales() const {
    std::vector<int64_t> sizes = {kOutputs};
    if (group != kInputs) sizes.push_back(kInputs / group);
    return filled({ETB_DTYPE_FLOAT32, sizes, {}}, [this](int64_t g) { return scale(g); });
  }
  TensorData floats() const {
    const TensorData from = codes();
    return filled({ETB_DTYPE_FLOAT32, {kOutputs, kInputs}, {}}, [&](int64_t i) {
      return load_element(ETB_DTYPE_INT8, from.bytes.data(), i) * scale(i / group);
    });
  }
};

void add_dynamic_layer(CaseList& out, const char* op, const std::string& rest, const Weights& weights,
                       Nodes whole) {
  ErrorModel error_model;
  error_model.rule = Rule::kContraction;
  error_model.length = kInputs + 2;  // products and two scales
  error_model.has_input_magnitude = true;
  add(out,
      {"linear.f32.3x64" + rest, op, ETB_DTYPE_FLOAT32, error_model, std::move(whole),
       [weights](CaseBuilder& builder) {
         const uint32_t x = builder.input(rows()), w = builder.constant(weights.floats());
         builder.output(builder.node("aten.linear.default", {value_arg(x, "input"), value_arg(w, "weight")},
                                     Shape{ETB_DTYPE_FLOAT32, {kRows, kOutputs}, {}}));
       }});
}

const Shape kFloatRows{ETB_DTYPE_FLOAT32, {kRows, kInputs}, {}},
    kCodeRows{ETB_DTYPE_INT8, {kRows, kInputs}, {}};
const Shape kFloatWeights{ETB_DTYPE_FLOAT32, {kOutputs, kInputs}, {}};

std::vector<graph::ArgumentDesc> with_range(std::vector<graph::ArgumentDesc> args, int64_t low, int64_t high,
                                            const char* dtype_name) {
  graph::ArgumentDesc dtype = graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, dtype_name);
  const bool is_last = std::string_view(dtype_name) == "dtype";
  if (!is_last) args.push_back(dtype);
  args.push_back(int_arg(low, "quant_min"));
  args.push_back(int_arg(high, "quant_max"));
  if (is_last) args.push_back(dtype);
  return args;
}

// As PT2E writes it: one scale for the tensor, and one for each output of the weight.
void add_pt2e_layer(CaseList& out) {
  const Weights weights{127, kInputs};
  const char* op = "quantized_decomposed.choose_qparams.tensor";
  add_dynamic_layer(out, op, ".dynamic_int8", weights, [=](CaseBuilder& builder) {
    const Shape one{ETB_DTYPE_FLOAT32, {1}, {}}, zero{ETB_DTYPE_INT64, {1}, {}};
    const uint32_t x = builder.input(rows()), w = builder.constant(weights.codes()),
                   s = builder.constant(weights.scales()),
                   z = builder.constant(
                       filled({ETB_DTYPE_INT64, {kOutputs}, {}}, [](int64_t) { return 0.0; }));
    const uint32_t chosen = builder.node(
        op,
        {value_arg(x, "input"), int_arg(-128, "quant_min"), int_arg(127, "quant_max"), float_arg(1e-7, "eps"),
         graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, "dtype")},
        std::vector<Shape>{one, zero});
    const auto convert = [&](const char* name, uint32_t from, const Shape& to) {
      return builder.node(name,
                          with_range({value_arg(from, "input"), value_arg(chosen, "scale"),
                                      value_arg(chosen + 1, "zero_point")},
                                     -128, 127, "dtype"),
                          to);
    };
    const uint32_t codes = convert("quantized_decomposed.quantize_per_tensor.tensor", x, kCodeRows);
    const uint32_t reals = convert("quantized_decomposed.dequantize_per_tensor.tensor", codes, kFloatRows);
    const uint32_t weight = builder.node("quantized_decomposed.dequantize_per_channel.default",
                                         with_range({value_arg(w, "input"), value_arg(s, "scales"),
                                                     value_arg(z, "zero_points"), int_arg(0, "axis")},
                                                    -127, 127, "dtype"),
                                         kFloatWeights);
    builder.output(builder.node("aten.linear.default",
                                {value_arg(reals, "input"), value_arg(weight, "weight")},
                                Shape{ETB_DTYPE_FLOAT32, {kRows, kOutputs}, {}}));
  });
}

// As torchao writes 8da4w: one scale per row, 4-bit weights in groups.
void add_torchao_layer(CaseList& out, int64_t group) {
  const Weights weights{8, group};
  const char* op = "torchao.choose_qparams_affine.default";
  add_dynamic_layer(out, op, ".8da4w.g" + std::to_string(group), weights, [=](CaseBuilder& builder) {
    const Shape scale_row{ETB_DTYPE_FLOAT32, {kRows}, {}}, zero_row{ETB_DTYPE_INT8, {kRows}, {}};
    TensorData scales = weights.scales();
    scales.shape.sizes = {kOutputs, kInputs / group};
    const uint32_t x = builder.input(rows()), w = builder.constant(weights.codes()),
                   s = builder.constant(scales),
                   z = builder.constant(
                       filled({ETB_DTYPE_INT8, scales.shape.sizes, {}}, [](int64_t) { return 0.0; }));
    const uint32_t chosen =
        builder.node(op,
                     with_range({value_arg(x, "input"), graph::string_arg("ASYMMETRIC", "mapping_type"),
                                 ints_arg({1, kInputs}, "block_size")},
                                -128, 127, "target_dtype"),
                     std::vector<Shape>{scale_row, zero_row});
    const auto convert = [&](const char* name, uint32_t from, int64_t block, uint32_t scale, uint32_t zero,
                             int64_t limit, const char* dtype_name, const Shape& to) {
      return builder.node(name,
                          with_range({value_arg(from, "input"), ints_arg({1, block}, "block_size"),
                                      value_arg(scale, "scale"), value_arg(zero, "zero_point")},
                                     -limit, limit - 1, dtype_name),
                          to);
    };
    const uint32_t codes = convert("torchao.quantize_affine.default", x, kInputs, chosen, chosen + 1, 128,
                                   "output_dtype", kCodeRows);
    const uint32_t reals = convert("torchao.dequantize_affine.default", codes, kInputs, chosen, chosen + 1,
                                   128, "input_dtype", kFloatRows);
    const uint32_t weight =
        convert("torchao.dequantize_affine.default", w, group, s, z, 8, "input_dtype", kFloatWeights);
    builder.output(builder.node("aten.linear.default",
                                {value_arg(reals, "input"), value_arg(weight, "weight")},
                                Shape{ETB_DTYPE_FLOAT32, {kRows, kOutputs}, {}}));
  });
}

}  // namespace

void add_whole(CaseList& out) {
  add_pt2e_layer(out);
  for (const int64_t group : {int64_t{32}, kInputs}) add_torchao_layer(out, group);
  for (const etb_dtype dtype : kFloats) {
    add_powers(out, dtype);
    add_prelu(out, dtype);
    add_attention(out, dtype);
    add_max_pool(out, dtype);
    add_resizing(out, dtype);
    add_norms(out, dtype);
    add_moves(out, dtype);
  }
}

}  // namespace etb::conformance
