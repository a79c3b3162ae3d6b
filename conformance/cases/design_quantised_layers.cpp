// SPDX-License-Identifier: Apache-2.0
// Layers between codes. Plugins compute them on integers. Zero points are at both ends and inside, also where padding must have
// them; scales are per tensor or per channel, with one tiny channel.
#include <cmath>

#include "conformance/cases/quantised_layer.hpp"

namespace etb::conformance {
namespace {

// Adds the case, and for some rows a dynamic one of the first dimension, which every plugin has.
void add_row(CaseList& out, const QuantisedLayer& layer, size_t at) {
  add_form(out, layer.codes.dtype, layer_form(layer));
  if (at % 3 == 0 && layer.kind != LayerKind::kAdd)
    add_dynamic_form(out, layer.codes.dtype, maker_of(layer), layer.input.sizes, Moving::kFirst,
                     static_cast<Order>(at / 3 % 3));
}

// A row of a design: a layer before its codes have scales and zero points.
struct LayerRow : QuantisedLayer {
  double input_place = 0, result_place = 0;  // places of the zero points in the range of codes, from 0 to 1
  bool is_power = false;                     // scales are powers of two
  Numbers leading;                           // sizes before the inputs of a product
  int64_t inputs = 1;
};

// Returns a design with the factors that all layers have.
DesignOf<LayerRow> layer_design(LayerKind kind) {
  LayerRow base;
  base.kind = kind;
  base.convolution.output_padding = {0, 0};
  DesignOf<LayerRow> design(base);
  design.add(&LayerRow::codes, {kInt8, kInt8, kInt8, kUint8});
  design.add(&LayerRow::input_place, {0, 0.25, 1, 0.55});
  design.add(&LayerRow::result_place, {0.5, 0, 1, 0.3});
  design.add(&LayerRow::is_power, {true, false});
  design.add(&LayerRow::is_per_channel, {true, false});
  design.add(&LayerRow::weight_zero, {0, 0, 0, 0, 5});  // few plugins have any, so most rows have none
  design.add(&LayerRow::has_bias, {true, false});
  design.add(&LayerRow::clamp, {LayerClamp::kNone, LayerClamp::kRelu, LayerClamp::kNone, LayerClamp::kSix});
  return design;
}

// Returns the layer of a row, whose input has its sizes. The result has no scale yet.
QuantisedLayer layer_of(const LayerRow& row) {
  QuantisedLayer layer = row;
  const auto zero = [&](double place) {
    return layer.codes.low +
           static_cast<int64_t>(std::lround(place * static_cast<double>(layer.codes.high - layer.codes.low)));
  };
  layer.input.dtype = layer.codes.dtype;
  layer.input_zero = zero(row.input_place);
  layer.result_zero = zero(row.result_place);
  layer.input_scale = row.is_power ? 0x1p-5 : 0.0173;
  layer.weight_scale = row.is_power ? 0x1p-6 : 0.0047;
  return layer;
}

void add_products(CaseList& out) {
  DesignOf<LayerRow> design = layer_design(LayerKind::kLinear);
  design.add(&LayerRow::kind, {LayerKind::kLinear, LayerKind::kLinear, LayerKind::kAddmm, LayerKind::kMm});
  design.add(&LayerRow::leading, {{1}, {3}, {8}, {2, 5}, {1, 17}, {2, 2, 3}});
  design.add(&LayerRow::inputs, {1, 7, 8, 16, 31, 64, 65, 129});
  design.add(&LayerRow::outputs, {1, 4, 7, 8, 9, 16, 17, 33});
  size_t at = 0;
  for (const char* seed : {"products of codes", "products of codes, again"})
    for (const LayerRow& row : design.rows(seed)) {
      QuantisedLayer layer = layer_of(row);
      layer.input.sizes = layer.kind == LayerKind::kLinear ? row.leading : Numbers{row.leading.back()};
      layer.input.sizes.push_back(row.inputs);
      if (layer.kind != LayerKind::kLinear) layer.has_bias = layer.kind == LayerKind::kAddmm;
      layer.result_scale = result_scale(layer, row.is_power);
      add_row(out, layer, at++);
    }
}

void add_convolutions(CaseList& out) {
  DesignOf<LayerRow> design = layer_design(LayerKind::kConvolution);
  add_image_layer<LayerRow>(
      design, &LayerRow::convolution,
      {{3, 8, 1}, {8, 5, 1}, {1, 1, 1}, {6, 4, 2}, {4, 4, 4}, {5, 10, 5}, {17, 17, 17}, {33, 16, 1}},
      {{{5, 7}, {9, 8}, {11, 6}},
       {{3, 3}, {1, 1}, {3, 2}, {2, 5}, {5, 5}},
       {{1, 1}, {2, 1}, {2, 2}, {1, 3}},
       {{1, 1}, {0, 0}, {2, 0}, {0, 1}},
       {{1, 1}, {1, 1}, {1, 2}}});
  design.add([](LayerRow& row) -> int64_t& { return row.convolution.batch; }, {1, 3});
  design.add([](LayerRow& row) -> bool& { return row.convolution.is_last; }, {true, false});
  design.add([](LayerRow& row) -> bool& { return row.convolution.is_transposed; }, {false, false, true});
  const auto is_allowed = [](const LayerRow& row) {
    const Convolution& c = row.convolution;
    // A scale an output of a group would be shared by the groups.
    const bool is_shared = c.is_transposed && c.channels.groups != 1 && row.is_per_channel;
    const Numbers made = c.result_size();
    return !is_shared && made[0] > 0 && made[1] > 0;
  };
  size_t at = 0;
  for (const char* seed : {"convolutions of codes", "convolutions of codes, again"})
    for (LayerRow row : design.rows(seed, is_allowed)) {
      row.input = row.convolution.input_shape();
      QuantisedLayer layer = layer_of(row);
      layer.result_scale = result_scale(layer, row.is_power);
      add_row(out, layer, at++);
    }
}

// Means have a scale of their own; maxima keep the scale. A constant that is added has a zero point.
void add_windows(CaseList& out) {
  DesignOf<LayerRow> design = layer_design(LayerKind::kMean);
  design.add(&LayerRow::kind,
             {LayerKind::kMean, LayerKind::kAdaptiveMean, LayerKind::kMaximum, LayerKind::kAdd});
  design.add([](LayerRow& row) -> Sizes& { return row.input.sizes; },
             {{1, 3, 4, 6}, {2, 8, 5, 7}, {3, 17, 2, 2}, {1, 5, 9, 3}});
  design.add([](LayerRow& row) -> std::vector<uint8_t>& { return row.input.dim_order; },
             {channels_last(4), {}});
  size_t at = 0;
  for (const LayerRow& row : design.rows("windows of codes")) {
    QuantisedLayer layer = layer_of(row);
    layer.has_bias = layer.is_per_channel = false;
    layer.weight_zero = layer.kind == LayerKind::kAdd ? 37 : 0;
    layer.result_scale = layer.input_scale * (row.is_power ? 0.25 : 0.31);
    if (layer.kind == LayerKind::kAdd) layer.input.dim_order = {};
    if (layer.kind == LayerKind::kMaximum) {
      layer.result_scale = layer.input_scale;
      layer.result_zero = layer.input_zero;
    }
    add_row(out, layer, at++);
  }
}

// Maxima of windows that reach beyond the image, where nothing counts.
void add_padded_maxima(CaseList& out) {
  for (const int64_t zero : {-128, 3, 127})
    for (const Sizes& sizes : {Sizes{1, 3, 5, 6}, {2, 8, 7, 5}}) {
      QuantisedLayer layer;
      layer.kind = LayerKind::kPaddedMaximum;
      layer.codes = kInt8;
      layer.input = {ETB_DTYPE_INT8, sizes, {}};
      layer.input_scale = layer.result_scale = 0x1p-5;
      layer.input_zero = layer.result_zero = zero;
      add_form(out, ETB_DTYPE_INT8, layer_form(layer));
    }
}

// A bias of codes whose scale is a multiple of that of the sums.
void add_coded_biases(CaseList& out) {
  for (const double factor : {1.0, 2.0, 8.0})
    for (const LayerKind kind : {LayerKind::kLinear, LayerKind::kConvolution}) {
      QuantisedLayer layer;
      layer.kind = kind;
      layer.codes = kInt8;
      layer.input_scale = 0x1p-5;
      layer.weight_scale = 0x1p-6;
      layer.input_zero = -7;
      layer.result_zero = 5;
      layer.has_bias = true;
      layer.bias_factor = factor;
      layer.outputs = 6;
      layer.input = {ETB_DTYPE_INT8, {3, 17}, {}};
      if (kind == LayerKind::kConvolution) {
        layer.convolution = even_convolution(ETB_DTYPE_INT8, {3, 6, 1}, {5, 6}, 3, 1, 1);
        layer.convolution.output_padding = {0, 0};
        layer.input = {ETB_DTYPE_INT8, layer.convolution.input_shape().sizes, {}};
      }
      layer.result_scale = result_scale(layer, true);
      add_form(out, ETB_DTYPE_INT8, layer_form(layer));
    }
}

// The codes of one layer fill a quarter to three quarters of a memory of 256 KiB when the next one needs its weights
// there.
void add_products_behind_relu(CaseList& out) {
  struct Product {
    Numbers sizes;
    int64_t outputs;
  };
  for (const Product& product : {Product{{2, 32000}, 6}, Product{{6, 32768}, 5}, Product{{96, 2048}, 67},
                                 Product{{1, 100000}, 3}, Product{{33, 4100}, 20}}) {
    QuantisedLayer layer;
    layer.codes = kInt8;
    layer.input_scale = 0x1p-5;
    layer.weight_scale = 0x1p-6;
    layer.input_zero = -3;
    layer.is_per_channel = layer.has_bias = layer.is_large = layer.is_behind_relu = true;
    layer.input = {ETB_DTYPE_INT8, product.sizes, {}};
    layer.outputs = product.outputs;
    layer.result_scale = result_scale(layer, true);
    add_form(out, ETB_DTYPE_INT8, layer_form(layer));
  }
}

// Images that a memory of 256 KiB holds in parts only.
void add_large_windows(CaseList& out) {
  for (const LayerKind kind : {LayerKind::kMean, LayerKind::kAdaptiveMean, LayerKind::kMaximum,
                               LayerKind::kPaddedMaximum, LayerKind::kAdd})
    for (const bool is_last : {false, true}) {
      if (is_last && kind == LayerKind::kAdd) continue;  // its constant is row-major
      QuantisedLayer layer;
      layer.kind = kind;
      layer.codes = kInt8;
      layer.input = {ETB_DTYPE_INT8, {1, 9, 190, 170}, is_last ? channels_last(4) : std::vector<uint8_t>{}};
      layer.input_scale = layer.result_scale = 0x1p-5;
      layer.weight_scale = 0x1p-6;
      layer.input_zero = layer.result_zero = 3;
      layer.is_large = true;
      add_form(out, ETB_DTYPE_INT8, layer_form(layer));
    }
}

void add_large(CaseList& out) {
  QuantisedLayer layer;
  layer.codes = kInt8;
  layer.input_scale = 0x1p-5;
  layer.weight_scale = 0x1p-6;
  layer.input_zero = -7;
  layer.result_zero = 5;
  layer.is_per_channel = layer.has_bias = layer.is_large = true;
  struct Product {
    Numbers sizes;
    int64_t outputs;
  };
  // The last one is the first product behind 512 images of 7 x 7, as in VGG: eight of its rows have 196 KiB.
  for (const Product& product : {Product{{3, 1031}, 65}, Product{{5, 4096}, 9}, Product{{2, 33}, 1025},
                                 Product{{130, 64}, 33}, Product{{2, 25088}, 20}}) {
    layer.input = {ETB_DTYPE_INT8, product.sizes, {}};
    layer.outputs = product.outputs;
    layer.result_scale = result_scale(layer, true);
    add_form(out, ETB_DTYPE_INT8, layer_form(layer));
  }
  layer.kind = LayerKind::kConvolution;
  struct Image {
    Channels channels;
    Numbers size;
    int64_t batch = 1;
    Numbers stride = {1, 1}, dilation = {1, 1};
    bool is_last = false;
  };
  // Then images, weights, and both, that a memory of 256 KiB holds in parts only.
  for (const Image& image : {Image{{520, 33, 1}, {6, 5}},
                             {{17, 515, 1}, {6, 5}},
                             {{513, 513, 513}, {6, 5}},
                             {{4, 8, 1}, {210, 190}, 2},
                             {{16, 16, 4}, {140, 130}},
                             {{128, 512, 2}, {6, 5}},
                             {{3600, 5, 1}, {6, 10}},
                             {{6, 4, 1}, {230, 210}, 1, {1, 1}, {2, 2}},
                             {{6, 4, 1}, {230, 210}, 1, {2, 1}, {3, 1}, true},
                             {{7, 7, 7}, {220, 230}, 1, {2, 2}, {1, 1}, true},
                             {{7, 7, 7}, {220, 230}, 1, {1, 2}, {2, 5}},
                             {{6, 4, 2}, {5, 11000}, 1, {1, 2}, {1, 2}}}) {
    const Channels& channels = image.channels;
    Convolution& c = layer.convolution;
    c.channels = channels;
    c.size = image.size;
    c.batch = image.batch;
    c.kernel = {3, 3};
    c.stride = image.stride;
    c.dilation = image.dilation;
    c.is_last = image.is_last;
    c.padding = {1, 1};
    c.output_padding = {0, 0};
    layer.input = {ETB_DTYPE_INT8, c.input_shape().sizes, c.input_shape().dim_order};
    layer.result_scale = result_scale(layer, true);
    add_form(out, ETB_DTYPE_INT8, layer_form(layer));
  }
  add_large_windows(out);
}

}  // namespace

void add_quantised_layer_designs(CaseList& out) {
  add_products(out);
  add_convolutions(out);
  add_windows(out);
  add_padded_maxima(out);
  add_coded_biases(out);
  add_code_arithmetic(out);
  add_large(out);
  add_products_behind_relu(out);
}

}  // namespace etb::conformance
