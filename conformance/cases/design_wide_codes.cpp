// SPDX-License-Identifier: Apache-2.0
// Codes of 16 bits, alone and beside codes of 8 bits: arithmetic, functions, softmax, movement, windows and layers with weights of
// 8 or 16 bits. Sums of such products need more than 32 bits.
#include <cmath>

#include "conformance/cases/coded_form.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/quantised_layer.hpp"

namespace etb::conformance {
namespace {

using graph::ArgumentDesc;
using graph::bool_arg;
using graph::float_arg;
using graph::int_arg;
using graph::ints_arg;
using graph::value_arg;

// Error limits in codes of 16 bits: of float32 arithmetic, of sums, and of curves between two samples of a table.
constexpr double kPlain = 0x1p-4, kSummed = 0.5, kSampled = 1;

bool is_wide(const CodeRange& codes) { return codes.dtype == ETB_DTYPE_INT16; }

// Codes of 16 bits have zero point 0 in most rows, as vendors want it; a place of 0.5 is 0.
Coding coding_of(const CodeRange& codes, double scale, double place) {
  if (!is_wide(codes)) return {codes, scale, zero_at(codes, place)};
  return {codes, scale / 256, place == 1 ? 1000 : 0};
}

void add_wide_form(CaseList& out, const Coded& coded, double codes) {
  OpForm form = coded_form(coded);
  const bool is_all_wide = is_wide(coded.from[0].codes) && is_wide(coded.to.codes);
  form.error_model = wide_code_model(coded.to.zero, is_all_wide ? codes : kPlain);
  add_form(out, coded.from[0].codes.dtype, std::move(form));
}

// Types of operands and result; each row has one of 16 bits.
struct Types {
  CodeRange first, second, result;
};
const std::vector<Types> kTypes = {
    {kInt16, kInt16, kInt16}, {kInt16, kInt16, kInt16}, {kInt8, kInt16, kInt16}, {kInt16, kInt8, kInt16},
    {kInt8, kInt8, kInt16},   {kInt16, kInt8, kInt8},   {kInt16, kInt16, kInt8}};

// ---- arithmetic

struct ArithmeticRow {
  const char* op = "";
  Types types;
  Sizes sizes;
  int second = 0;  // 0 whole, 1 a row, 2 one element
  double ratio = 1, result_ratio = 1;
  double place = 0;
  bool is_power = false;
  int clamp = 0;
};

void add_arithmetic(CaseList& out) {
  DesignOf<ArithmeticRow> design;
  design.add(&ArithmeticRow::op, {"aten.add.Tensor", "aten.mul.Tensor", "aten.sub.Tensor",
                                  "aten.maximum.default", "aten.minimum.default"});
  design.add(&ArithmeticRow::types, kTypes);
  design.add(&ArithmeticRow::sizes, {{64}, {3, 17}, {2, 3, 5, 7}, {1, 8, 4, 9}, {1031}, {5, 129}});
  design.add(&ArithmeticRow::second, {0, 0, 1, 2});
  design.add(&ArithmeticRow::ratio, {1, 0.37, 2.9});
  design.add(&ArithmeticRow::result_ratio, {1, 0.61, 2.3});
  design.add(&ArithmeticRow::place, {0.5, 0.3, 0.5, 0, 0.5, 1});
  design.add(&ArithmeticRow::is_power, {true, false});
  design.add(&ArithmeticRow::clamp, {0, 0, 1, 2});
  for (const char* seed : {"wide arithmetic", "wide arithmetic, again"})
    for (const ArithmeticRow& row : design.rows(seed)) {
      const double scale = row.is_power ? 0x1p-5 : 0.0317;
      Sizes second = row.sizes;
      if (row.second == 1) second = {row.sizes.back()};
      if (row.second == 2) second = {1};
      const bool is_product = std::string_view(row.op) == "aten.mul.Tensor";
      Coded coded;
      coded.op = row.op;
      coded.word = row.clamp == 0 ? "wide" : row.clamp == 1 ? "wide_relu" : "wide_limits";
      coded.operands = {{row.types.first.dtype, row.sizes, {}}, {row.types.second.dtype, second, {}}};
      coded.from = {coding_of(row.types.first, scale, row.place),
                    coding_of(row.types.second, scale * row.ratio, row.place)};
      coded.to = coding_of(row.types.result, scale * row.result_ratio * (is_product ? 2 : 1), row.place);
      coded.result = {row.types.result.dtype, row.sizes, {}};
      coded.args = [](const std::vector<uint32_t>& values) {
        return std::vector<ArgumentDesc>{value_arg(values[0], "self"), value_arg(values[1], "other")};
      };
      if (row.clamp == 1) coded.tail = {{"aten.relu.default", {}}};
      if (row.clamp == 2)
        coded.tail = {{"aten.hardtanh.default", {float_arg(-1, "min_val"), float_arg(1.5, "max_val")}}};
      add_wide_form(out, coded, kPlain);
    }
}

// Codes of one type become codes of another one: a quantize node whose operand is a dequantize node.
void add_conversions(CaseList& out) {
  const std::pair<CodeRange, CodeRange> kPairs[] = {{kInt8, kInt16}, {kInt16, kInt8}, {kInt16, kInt16}};
  for (const auto& [from, to] : kPairs)
    for (const double ratio : {1.0, 0.0061, 0.43, 3.7, 0x1p4})
      for (const Sizes& sizes : {Sizes{2, 513}, {1, 3, 5, 7}}) {
        const Coding input = coding_of(from, 0x1p-5, 0.3), result = coding_of(to, 0x1p-5 * ratio, 0.6);
        OpForm form;
        form.op = kQuantise;
        form.group = "quant";
        form.word = "wide_from_codes.to_s" + real_text(result.scale);
        form.operands = {{{from.dtype, sizes, {}}, Values::kStatistical, from.domain()}};
        const Shape real{ETB_DTYPE_FLOAT32, sizes, {}};
        for (const bool is_reference : {false, true}) {
          FormNodes nodes(is_reference ? form.reference.nodes : form.nodes, 1);
          const uint32_t x =
              nodes.add(kDequantise, tensor_quant_args(0, input.scale, input.zero, from), real);
          if (is_reference)
            add_real_codes(nodes, x, result.scale, result.zero, to, real);
          else
            nodes.add(kQuantise, tensor_quant_args(x, result.scale, result.zero, to),
                      Shape{to.dtype, sizes, {}});
        }
        form.error_model = wide_code_model(result.zero, kPlain);
        add_form(out, from.dtype, std::move(form), std::string("to_") + short_name(to.dtype));
      }
}

// ---- functions of one element

double hard_swish(double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }

struct Function {
  const char* op;
  std::vector<ArgumentDesc> more;
  double most;  // largest result for operands from -4 to 4
  double codes;
  double (*formula)(double) = nullptr;  // as Coded::formula
};

void add_functions(CaseList& out) {
  const Function kFunctions[] = {
      {"aten.sigmoid.default", {}, 1, kSampled},
      {"aten.tanh.default", {}, 1, kSampled},
      {"aten.hardswish.default", {}, 4, kSampled, hard_swish},
      {"aten.leaky_relu.default", {float_arg(0.125, "negative_slope")}, 4, kPlain},
      {"aten.relu.default", {}, 4, kPlain},
      {"aten.neg.default", {}, 4, kPlain},
      {"aten.abs.default", {}, 4, kPlain},
      {"aten.clamp.default", {float_arg(-1, "min"), float_arg(2, "max")}, 2, kPlain},
      {"aten.mul.Scalar", {float_arg(1.5, "other")}, 6, kPlain},
      {"aten.add.Scalar", {float_arg(-0.75, "other")}, 4.75, kPlain}};
  for (const Function& function : kFunctions)
    for (const auto& [from, to] :
         {std::pair(kInt16, kInt16), std::pair(kInt16, kInt8), std::pair(kInt8, kInt16)})
      for (const double spread : {1.0, 0.37}) {
        Coded coded;
        coded.op = function.op;
        coded.word = "wide";
        coded.operands = {{from.dtype, {3, 1367}, {}}};
        coded.from = {coding_of(from, 0x1p-5, 0.5)};
        coded.to = coding_of(to, function.most / 127 * spread, 0.5);
        coded.result = {to.dtype, {3, 1367}, {}};
        coded.formula = function.formula;
        coded.args = [&function](const std::vector<uint32_t>& values) {
          std::vector<ArgumentDesc> args = {value_arg(values[0], "self")};
          args.insert(args.end(), function.more.begin(), function.more.end());
          return args;
        };
        add_wide_form(out, coded, function.codes);
      }
}

// Rows of one element, of a few and of many, whose exponentials are far apart or nearly equal. The sum of a row is exact to less
// than a code.
void add_softmax(CaseList& out) {
  const std::pair<Sizes, int64_t> kRows[] = {{{3, 17}, -1},     {{2, 5, 129}, 2}, {{2, 33, 6}, 1},
                                             {{1, 4, 9, 7}, 1}, {{1031}, 0},      {{3, 600}, -1},
                                             {{9, 1}, 1}};
  for (const auto& [from, to] :
       {std::pair(kInt16, kInt16), std::pair(kInt16, kInt8), std::pair(kInt8, kInt16)})
    for (const auto& [sizes, dim] : kRows)
      for (const double spread : {0x1p-8, 0x1p-5, 0.0731})
        for (const double result : {0x1p-7, 0x1p-12, 0.0043}) {
          Coded coded;
          coded.op = "aten._softmax.default";
          coded.word = "wide_dim_" + std::string(dim < 0 ? "m" : "") + std::to_string(std::abs(dim));
          coded.operands = {{from.dtype, sizes, {}}};
          coded.from = {coding_of(from, spread, 0.5)};
          coded.to = coding_of(to, result * (is_wide(to) ? 1 : 0.5), is_wide(to) ? 0.5 : 0);
          coded.result = {to.dtype, sizes, {}};
          coded.args = [dim](const std::vector<uint32_t>& values) {
            return std::vector<ArgumentDesc>{value_arg(values[0], "self"), int_arg(dim, "dim"),
                                             bool_arg(false, "half_to_float")};
          };
          add_wide_form(out, coded, kPlain);
        }
}

// ---- movement

struct Movement {
  const char* op;
  const char* word;
  Sizes sizes, result;
  std::vector<ArgumentDesc> more;
};

void add_movement(CaseList& out) {
  const Movement kMovements[] = {
      {"aten.permute_copy.default", "nhwc", {2, 3, 5, 7}, {2, 5, 7, 3}, {ints_arg({0, 2, 3, 1}, "dims")}},
      {"aten.view_copy.default", "split", {4, 33}, {4, 3, 11}, {ints_arg({4, 3, 11}, "size")}},
      {"aten.slice_copy.Tensor",
       "steps",
       {3, 65, 9},
       {3, 21, 9},
       {int_arg(1, "dim"), int_arg(2, "start"), int_arg(-1, "end"), int_arg(3, "step")}},
      {"aten.constant_pad_nd.default",
       "zero",
       {1, 3, 5, 7},
       {1, 3, 8, 11},
       {ints_arg({1, 3, 2, 1}, "pad"), float_arg(0, "value")}},
      {"aten.expand_copy.default", "rows", {1, 3, 1, 7}, {2, 3, 5, 7}, {ints_arg({2, -1, 5, 7}, "size")}},
      {"aten.upsample_nearest2d.vec",
       "twice",
       {1, 3, 5, 7},
       {1, 3, 10, 14},
       {graph::none_arg("output_size"), graph::floats_arg({2, 2}, "scale_factors")}}};
  for (const Movement& movement : kMovements)
    for (const auto& [from, to] :
         {std::pair(kInt16, kInt16), std::pair(kInt8, kInt16), std::pair(kInt16, kInt8)})
      for (const double ratio : {1.0, 0.7}) {
        Coded coded;
        coded.op = movement.op;
        coded.word = std::string("wide_") + movement.word;
        coded.operands = {{from.dtype, movement.sizes, {}}};
        coded.from = {coding_of(from, 0x1p-5, 0.5)};
        coded.to = coding_of(to, 0x1p-5 * ratio, 0.5);
        coded.result = {to.dtype, movement.result, {}};
        const bool is_resize = std::string_view(movement.op).find("upsample") != std::string_view::npos;
        coded.args = [&movement, is_resize](const std::vector<uint32_t>& values) {
          std::vector<ArgumentDesc> args = {value_arg(values[0], is_resize ? "input" : "self")};
          args.insert(args.end(), movement.more.begin(), movement.more.end());
          return args;
        };
        add_wide_form(out, coded, kPlain);
      }
}

// Parts of both types, each with a scale of its own.
void add_joins(CaseList& out) {
  for (const Types& types : kTypes)
    for (const size_t dim : {size_t{0}, size_t{2}}) {
      Coded coded;
      coded.op = "aten.cat.default";
      coded.word = "wide_dim_" + std::to_string(dim);
      coded.result = {types.result.dtype, {2, 5, 7}, {}};
      coded.result.sizes[dim] = 0;
      double scale = 0x1p-5;
      for (const CodeRange& codes : {types.first, types.second}) {
        Shape part{codes.dtype, {2, 5, 7}, {}};
        part.sizes[dim] += static_cast<int64_t>(coded.operands.size());
        coded.result.sizes[dim] += part.sizes[dim];
        coded.operands.push_back(part);
        coded.from.push_back(coding_of(codes, scale, 0.5));
        scale *= 0.6;
      }
      coded.to = coding_of(types.result, 0x1p-5, 0.5);
      coded.args = [dim](const std::vector<uint32_t>& values) {
        return std::vector<ArgumentDesc>{graph::values_arg(values, "tensors"),
                                         int_arg(static_cast<int64_t>(dim), "dim")};
      };
      add_wide_form(out, coded, kPlain);
    }
}

// ---- layers and windows

struct LayerRow : QuantisedLayer {
  std::pair<CodeRange, CodeRange> types;
  Numbers leading;
  int64_t inputs = 1;
  bool is_power = false, is_saturated = false;
};

const std::vector<std::pair<CodeRange, CodeRange>> kLayerTypes = {
    {kInt16, kInt16}, {kInt16, kInt16}, {kInt8, kInt16}, {kInt16, kInt8}};
// Layers with weights of 16 bits may have codes of 8 bits only.
const std::vector<std::pair<CodeRange, CodeRange>> kWideWeightTypes = {
    {kInt16, kInt16}, {kInt8, kInt8}, {kInt8, kInt16}, {kInt16, kInt8}};
constexpr CodeRange kWideWeightCodes{ETB_DTYPE_INT16, -32767, 32767};

DesignOf<LayerRow> layer_design(LayerKind kind, const CodeRange& weights) {
  LayerRow base;
  base.kind = kind;
  base.weight_codes = weights;
  base.convolution.output_padding = {0, 0};
  DesignOf<LayerRow> design(base);
  design.add(&LayerRow::types, base.has_wide_weight() ? kWideWeightTypes : kLayerTypes);
  design.add(&LayerRow::is_power, {true, false});
  design.add(&LayerRow::is_saturated, {false, false, true});
  design.add(&LayerRow::is_per_channel, {true, false});
  design.add(&LayerRow::has_bias, {true, false});
  design.add(&LayerRow::clamp, {LayerClamp::kNone, LayerClamp::kRelu, LayerClamp::kNone, LayerClamp::kSix});
  return design;
}

// Returns the layer of a row whose input has its sizes.
QuantisedLayer layer_of(const LayerRow& row) {
  QuantisedLayer layer = row;
  layer.codes = row.types.first;
  layer.result_codes = row.types.second;
  layer.input.dtype = layer.codes.dtype;
  const Coding input = coding_of(layer.codes, row.is_power ? 0x1p-5 : 0.0173, 0.3);
  layer.input_scale = input.scale;
  layer.input_zero = input.zero;
  layer.result_zero = coding_of(layer.result_range(), 1, 0.55).zero;
  layer.weight_scale = (row.is_power ? 0x1p-6 : 0.0047) / (row.has_wide_weight() ? 256 : 1);
  layer.result_scale = result_scale(layer, row.is_power) / (row.is_saturated ? 8 : 1);
  return layer;
}

void add_layer(CaseList& out, const QuantisedLayer& layer) {
  add_form(out, layer.codes.dtype, layer_form(layer), "wide");
}

void add_products(CaseList& out, const char* seed, const CodeRange& weights) {
  DesignOf<LayerRow> design = layer_design(LayerKind::kLinear, weights);
  design.add(&LayerRow::kind, {LayerKind::kLinear, LayerKind::kLinear, LayerKind::kAddmm, LayerKind::kMm});
  design.add(&LayerRow::leading, {{1}, {3}, {8}, {2, 5}, {17}});
  design.add(&LayerRow::inputs, {1, 7, 8, 16, 31, 65, 515, 2100});
  design.add(&LayerRow::outputs, {1, 4, 7, 9, 16, 33});
  for (LayerRow row : design.rows(seed)) {
    row.input.sizes = row.kind == LayerKind::kLinear ? row.leading : Numbers{row.leading.back()};
    row.input.sizes.push_back(row.inputs);
    if (row.kind != LayerKind::kLinear) row.has_bias = row.kind == LayerKind::kAddmm;
    add_layer(out, layer_of(row));
  }
}

void add_convolutions(CaseList& out, const char* seed, const CodeRange& weights) {
  DesignOf<LayerRow> design = layer_design(LayerKind::kConvolution, weights);
  add_image_layer<LayerRow>(
      design, &LayerRow::convolution,
      {{3, 8, 1}, {8, 5, 1}, {6, 4, 2}, {4, 4, 4}, {5, 10, 5}, {17, 17, 17}, {33, 16, 1}},
      {{{5, 7}, {9, 8}, {11, 6}},
       {{3, 3}, {1, 1}, {3, 2}, {5, 5}},
       {{1, 1}, {2, 1}, {2, 2}},
       {{1, 1}, {0, 0}, {2, 0}},
       {{1, 1}, {1, 1}, {1, 2}}});
  design.add([](LayerRow& row) -> int64_t& { return row.convolution.batch; }, {1, 3});
  design.add([](LayerRow& row) -> bool& { return row.convolution.is_last; }, {true, false});
  design.add([](LayerRow& row) -> bool& { return row.convolution.is_transposed; },
             {false, false, false, true});
  const auto is_allowed = [](const LayerRow& row) {
    const Convolution& c = row.convolution;
    const bool is_shared = c.is_transposed && c.channels.groups != 1 && row.is_per_channel;
    const Numbers made = c.result_size();
    return !is_shared && made[0] > 0 && made[1] > 0;
  };
  for (LayerRow row : design.rows(seed, is_allowed)) {
    row.input = row.convolution.input_shape();
    add_layer(out, layer_of(row));
  }
}

void add_windows(CaseList& out) {
  for (const LayerKind kind : {LayerKind::kMean, LayerKind::kAdaptiveMean, LayerKind::kMaximum,
                               LayerKind::kPaddedMaximum, LayerKind::kAdd})
    for (const auto& types : kLayerTypes)
      for (const Sizes& sizes : {Sizes{1, 3, 4, 6}, {2, 17, 5, 7}}) {
        LayerRow row;
        row.kind = kind;
        row.types = types;
        row.input.sizes = sizes;
        row.is_power = sizes[1] == 3;
        QuantisedLayer layer = layer_of(row);
        layer.result_scale = layer.input_scale * (is_wide(types.second) == is_wide(types.first) ? 1
                                                  : is_wide(types.first)                        ? 256
                                                                                                : 0x1p-8);
        if (kind == LayerKind::kMean || kind == LayerKind::kAdaptiveMean) layer.result_scale *= 0.31;
        if (kind == LayerKind::kAdd) layer.result_scale *= 1.3;
        add_layer(out, layer);
      }
}

}  // namespace

void add_wide_code_designs(CaseList& out) {
  add_arithmetic(out);
  add_conversions(out);
  add_functions(out);
  add_softmax(out);
  add_movement(out);
  add_joins(out);
  add_products(out, "wide products", kWeightCodes);
  add_products(out, "products of wide weights", kWideWeightCodes);
  add_convolutions(out, "wide convolutions", kWeightCodes);
  add_convolutions(out, "convolutions of wide weights", kWideWeightCodes);
  add_windows(out);
}

}  // namespace etb::conformance
