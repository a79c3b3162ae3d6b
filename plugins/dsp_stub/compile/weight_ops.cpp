// SPDX-License-Identifier: Apache-2.0
// Convolutions and linear layers.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "plugins/dsp_stub/compile/lowering.hpp"

namespace etb::dsp_stub {

namespace {

uint32_t to_u32(int64_t number) { return static_cast<uint32_t>(number); }

tl::unexpected<Error> bad_rank(size_t rank, const char* expected) {
  return reject("rank", "rank " + std::to_string(rank) + ", expected " + expected);
}

// ---- weights

// A weight in the order in which the op reads it: dimension d of the op is dimension from[d] of the constant.
struct Weight {
  std::vector<int64_t> sizes;
  std::vector<uint32_t> from;
  std::vector<double> codes, scales, zeros;  // of the constant; scales and zeros: one, or one a channel
  uint32_t axis = graph::kNone;              // dimension of the op that has a scale for each element
  uint32_t width = 1;                        // bytes of a code

  double scale(uint32_t channel) const { return scales.size() == 1 ? scales[0] : scales[channel]; }
  int32_t zero(uint32_t channel) const {
    return static_cast<int32_t>(zeros.size() == 1 ? zeros[0] : zeros[channel]);
  }
};

Status permute_weight(const Node& step, Weight& weight) {
  std::vector<int64_t> dims = {1, 0};
  const size_t rank = weight.sizes.size();
  if (step.op_name() == "aten.permute_copy.default" || step.op_name() == "aten.permute.default") {
    ETB_ASSIGN(dims, Arguments(step).integers("dims"));
  } else if (step.op_name() != "aten.t_copy.default" && step.op_name() != "aten.t.default") {
    return reject(kPatternReason, std::string(step.op_name()) + " of a weight, expected a permutation");
  }
  if (dims.size() != rank) return bad_rank(rank, "that of the permutation");
  Weight out = weight;
  for (size_t i = 0; i < rank; ++i) {
    const auto source = static_cast<size_t>(dims[i] < 0 ? dims[i] + static_cast<int64_t>(rank) : dims[i]);
    out.sizes[i] = weight.sizes[source];
    out.from[i] = weight.from[source];
    if (weight.axis == source) out.axis = static_cast<uint32_t>(i);
  }
  weight = std::move(out);
  return {};
}

Status read_scales(PatternLowering& lowering, const Node& dequantize, const Operand& operand, Weight& out) {
  if (is_dequantize(dequantize)) {
    out.scales = {operand.params.scale};
    out.zeros = {static_cast<double>(operand.params.zero)};
    return {};
  }
  const Arguments args(dequantize);
  ETB_ASSIGN(const uint32_t scales, args.tensor("scales"));
  ETB_ASSIGN(out.scales, lowering.builder().read_numbers(scales));
  ETB_ASSIGN(out.axis, args.dim("axis", 0, static_cast<uint32_t>(out.sizes.size())));
  out.zeros = {0};
  if (args.has("zero_points")) {
    ETB_ASSIGN(const uint32_t zeros, args.tensor("zero_points"));
    ETB_ASSIGN(out.zeros, lowering.builder().read_numbers(zeros));
  }
  const auto count = static_cast<size_t>(out.sizes[out.axis]);
  if (out.scales.size() != count || (out.zeros.size() != count && out.zeros.size() != 1))
    return reject("quant", "scales, expected one a channel");
  return {};
}

Result<Weight> read_weight(PatternLowering& lowering, const Operand& operand) {
  if (!operand.is_constant) return reject("constant", "weight: known only at run time, expected a constant");
  const Graph& graph = lowering.facts().graph();
  const auto dtype = static_cast<etb_dtype>(graph.spec_of(operand.codes).dtype);
  if (dtype != ETB_DTYPE_INT8 && dtype != ETB_DTYPE_INT16)
    return reject("dtype", "weight: no int8 or int16 codes");
  if (dtype == ETB_DTYPE_INT16 && !lowering.facts().allows_version_3())
    return reject("quant", "int16 weights, expected payload_version 3 for them");
  Weight out;
  out.width = dtype == ETB_DTYPE_INT16 ? 2 : 1;
  out.sizes = lowering.facts().sizes(operand.codes);
  out.from = row_major(out.sizes.size());
  ETB_TRY(read_scales(lowering, graph.node(operand.dequantize), operand, out));
  for (const uint32_t step : operand.steps) ETB_TRY(permute_weight(graph.node(step), out));
  if (!lowering.builder().is_claiming()) {
    ETB_ASSIGN(out.codes, lowering.builder().read_numbers(operand.codes));
  }
  return out;
}

// Returns the bias in the scale of each channel's sum.
Result<std::vector<double>> read_bias(PatternLowering& lowering, const Node& node,
                                      const std::vector<double>& scales) {
  std::vector<double> out(scales.size());
  const char* name = find_core(node.op_name())->bias;
  const Arguments args(node);
  if (name == nullptr || !args.has(name)) return out;
  ETB_ASSIGN(uint32_t value, args.tensor(name));
  std::vector<double> factors = {1}, zeros = {0};
  if (!lowering.facts().is_constant(value)) {  // codes
    const Node dequantize = lowering.facts().graph().node(lowering.facts().producer(value));
    const Arguments quant(dequantize);
    ETB_ASSIGN(value, quant.tensor("input"));
    if (dequantize.op_name() == kDequantizePerChannel) {
      ETB_ASSIGN(const uint32_t scale, quant.tensor("scales"));
      ETB_ASSIGN(factors, lowering.builder().read_numbers(scale));
    } else {
      ETB_ASSIGN(factors[0], quant.number("scale", 1));
      ETB_ASSIGN(zeros[0], quant.number("zero_point", 0));
    }
  }
  ETB_ASSIGN(const std::vector<double> numbers, lowering.builder().read_numbers(value));
  if (numbers.size() != out.size() || (factors.size() != 1 && factors.size() != out.size()))
    return reject("attribute",
                  "bias: " + std::to_string(numbers.size()) + " numbers, expected one a channel");
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = (numbers[i] - zeros[0]) * factors[factors.size() == 1 ? 0 : i] / scales[i];
  return out;
}

// One output channel: the scale of its sums, and the bias in that scale.
struct Channel {
  double scale = 1, bias = 0;
  int32_t zero = 0;  // of the weights
  int halvings = 0;  // of the weights
};

// Bits of a bias that fit beside the sum: of 32 bits, or 48 for int16 input or weights.
constexpr int bias_bits(bool is_wide) { return is_wide ? 46 : 30; }

// A bias that needs more bits gets a coarser scale. The weights are halved as often: beside such a bias they hardly matter.
void fit_bias(Channel& channel, int bits) {
  int exponent = 0;
  (void)std::frexp(channel.bias, &exponent);
  if (!std::isfinite(channel.bias) || exponent <= bits) return;
  channel.halvings = exponent - bits;
  channel.bias = std::ldexp(channel.bias, -channel.halvings);
  channel.scale = std::ldexp(channel.scale, channel.halvings);
}

int32_t to_weight(double code, const Channel& channel, uint32_t width) {
  if (channel.halvings == 0) return static_cast<int32_t>(code);
  const double halved = std::nearbyint(std::ldexp(code - channel.zero, -channel.halvings));
  return static_cast<int32_t>(std::clamp<double>(halved, lowest_code(width), highest_code(width)));
}

// Writes bias and multiplier of one channel: 4 bytes each, or 6 and 2 for int16 input or weights. Returns the shift.
uint32_t write_scale(double bias, double scale, bool is_wide, std::byte* to) {
  if (is_wide) {
    const Multiplier made = to_wide_multiplier(scale);
    const auto number = static_cast<int64_t>(std::clamp(bias, -0x1p46, 0x1p46));
    std::memcpy(to, &number, 6);
    std::memcpy(to + 6, &made.multiplier, 2);
    return made.shift;
  }
  const Multiplier made = to_multiplier(scale);
  const auto number = static_cast<int32_t>(std::clamp<double>(bias, INT32_MIN, INT32_MAX));
  std::memcpy(to, &number, 4);
  std::memcpy(to + 4, &made.multiplier, 4);
  return made.shift;
}

// Writes bias, multiplier, shift and zero point of each channel.
ConstantRange add_channels(NetworkBuilder& builder, const std::vector<Channel>& channels, double result_scale,
                           bool is_wide, uint32_t weight_width) {
  std::vector<std::byte> bytes(channels.size() * DSP_CHANNEL_BYTES);
  std::byte* at = bytes.data();
  for (const Channel& channel : channels) {
    const uint32_t shift =
        write_scale(std::nearbyint(channel.bias), channel.scale / result_scale, is_wide, at);
    const auto zero = static_cast<uint32_t>(channel.halvings == 0 ? channel.zero : 0);
    const uint32_t last = weight_width == 2 ? shift | zero << 16 : shift | (zero & 0xffu) << 8;
    std::memcpy(at + 8, &last, 4);
    at += DSP_CHANNEL_BYTES;
  }
  return builder.add_constant(bytes);
}

// ---- convolutions and linear layers

// Places of the weight's dimensions: output channel (of its group), input channel (of its group), taps.
struct WeightPlaces {
  uint32_t out, in, first_tap;
  bool is_transposed = false;  // input channels of all groups come first
};

// Stores the weight as [output channel, KH, KW, input channel of its group].
ConstantRange add_weight(NetworkBuilder& builder, const Weight& weight, const Window& w,
                         const WeightPlaces& places, const std::vector<Channel>& channels) {
  const size_t filter = size_t{w.kernel_h} * w.kernel_w * w.group_in;
  if (builder.is_claiming()) return builder.reserve_constant(filter * w.out_c * weight.width);
  std::vector<int64_t> strides(weight.sizes.size());
  std::vector<int64_t> own(weight.sizes.size());
  for (size_t d = 0; d < own.size(); ++d) own[weight.from[d]] = weight.sizes[d];
  int64_t step = 1;
  std::vector<int64_t> own_strides(own.size());
  for (size_t d = own.size(); d-- > 0; step *= own[d]) own_strides[d] = step;
  for (size_t d = 0; d < strides.size(); ++d) strides[d] = own_strides[weight.from[d]];
  std::vector<std::byte> bytes;
  bytes.reserve(filter * w.out_c * weight.width);
  const bool has_taps = strides.size() == 4;
  for (uint32_t o = 0; o < w.out_c; ++o)
    for (uint32_t y = 0; y < w.kernel_h; ++y)
      for (uint32_t x = 0; x < w.kernel_w; ++x)
        for (uint32_t i = 0; i < w.group_in; ++i) {
          const uint32_t out = places.is_transposed ? o % w.group_out : o;
          const uint32_t in = places.is_transposed ? o / w.group_out * w.group_in + i : i;
          int64_t from = out * strides[places.out] + in * strides[places.in];
          if (has_taps) from += y * strides[places.first_tap] + x * strides[places.first_tap + 1];
          append_code(to_weight(weight.codes[static_cast<size_t>(from)], channels[o], weight.width),
                      weight.width, bytes);
        }
  return builder.add_constant(bytes);
}

// Adds the layer of a convolution whose window is complete. `input` is stored as the window has it.
Status add_conv(PatternLowering& lowering, const Node& node, const Codes& input, const Weight& weight,
                const Window& w, const WeightPlaces& places, const Codes& output) {
  if (uint64_t{w.kernel_h} * w.kernel_w * w.group_in > DSP_MAX_PRODUCTS)
    return reject("attribute", "sums of more than 32768 products, which could overflow 32 bits");
  if (weight.axis != graph::kNone && weight.axis != places.out)
    return reject("quant", "scales along another dimension of the weight than the output channels");
  if (weight.axis != graph::kNone && places.is_transposed && w.group_out != w.out_c)
    return reject("quant", "scales for each channel of a transposed convolution with groups");
  NetworkBuilder& builder = lowering.builder();
  std::vector<double> scales;
  for (uint32_t o = 0; o < w.out_c; ++o) scales.push_back(input.params.scale * weight.scale(o));
  ETB_ASSIGN(const std::vector<double> bias, read_bias(lowering, node, scales));
  const bool is_wide = input.params.width == 2 || weight.width == 2;
  std::vector<Channel> channels;
  for (uint32_t o = 0; o < w.out_c; ++o) {
    channels.push_back({scales[o], bias[o], weight.zero(o)});
    if (!builder.is_claiming()) fit_bias(channels.back(), bias_bits(is_wide));
  }
  Layer layer{
      .kind = Layer::Kind::kConv, .inputs = {input.buffer, kNoBuffer}, .output = output.buffer, .window = w};
  layer.in_zeros = {input.params.zero, 0};
  layer.out_zero = lowering.result().zero;
  layer.low = lowering.result().low;
  layer.high = lowering.result().high;
  layer.weight_width = weight.width;
  layer.weights = add_weight(builder, weight, w, places, channels);
  layer.tables = add_channels(builder, channels, lowering.result().scale, is_wide, weight.width);
  builder.add_layer(std::move(layer));
  lowering.finish(output);
  return {};
}

Status lower_convolution(PatternLowering& lowering, const Node& node) {
  const Arguments args(node);
  ETB_ASSIGN(Codes input, lowering.operand(0));
  if (input.sizes.size() != 4) return bad_rank(input.sizes.size(), "4");
  ETB_ASSIGN(const Weight weight, read_weight(lowering, lowering.operand_at(1)));
  if (weight.sizes.size() != 4) return bad_rank(weight.sizes.size(), "4");
  ETB_ASSIGN(const auto stride, args.pair("stride", {1, 1}));
  ETB_ASSIGN(const auto padding, args.pair("padding", {0, 0}));
  ETB_ASSIGN(const auto dilation, args.pair("dilation", {1, 1}));
  ETB_ASSIGN(const bool is_transposed, args.flag("transposed", false));
  ETB_ASSIGN(const int64_t groups, args.integer("groups", 1));
  const std::vector<int64_t> sizes = lowering.result_sizes();
  if (groups < 1 || sizes.size() != 4 || input.sizes[1] % groups != 0 || sizes[1] % groups != 0)
    return reject("attribute", "groups that do not divide the channels");
  for (const int64_t number : {stride[0], stride[1], dilation[0], dilation[1]})
    if (number < 1 || number > DSP_MAX_EXTENT) return reject("attribute", "stride or dilation");
  for (const int64_t number : padding)
    if (number < 0 || number > DSP_MAX_EXTENT) return reject("attribute", "padding");
  input = lowering.builder().reorder(input, channels_last());
  Window w;
  w.batch = input.size(0), w.in_c = input.size(1), w.in_h = input.size(2), w.in_w = input.size(3);
  w.out_c = to_u32(sizes[1]), w.out_h = to_u32(sizes[2]), w.out_w = to_u32(sizes[3]);
  w.kernel_h = to_u32(weight.sizes[2]), w.kernel_w = to_u32(weight.sizes[3]);
  w.stride_h = to_u32(stride[0]), w.stride_w = to_u32(stride[1]);
  w.dilation_h = to_u32(dilation[0]), w.dilation_w = to_u32(dilation[1]);
  w.top = static_cast<int32_t>(padding[0]), w.left = static_cast<int32_t>(padding[1]);
  w.group_in = to_u32(w.in_c / groups), w.group_out = to_u32(w.out_c / groups);
  w.is_transposed = is_transposed;
  const WeightPlaces places = is_transposed ? WeightPlaces{1, 0, 2, true} : WeightPlaces{0, 1, 2};
  const int64_t out_size = weight.sizes[places.out], in_size = weight.sizes[places.in];
  if (out_size != (is_transposed ? w.group_out : w.out_c) || in_size != (is_transposed ? w.in_c : w.group_in))
    return reject("attribute", "a weight of other channels");
  Codes output = lowering.builder().add_codes(sizes, channels_last(), lowering.result());
  return add_conv(lowering, node, input, weight, w, places, output);
}

// input [..., I] by a weight whose dimensions are `places`.
Status lower_product(PatternLowering& lowering, const Node& node, const WeightPlaces& places) {
  ETB_ASSIGN(Codes input, lowering.operand(0));
  ETB_ASSIGN(const Weight weight, read_weight(lowering, lowering.operand_at(1)));
  if (weight.sizes.size() != 2) return bad_rank(weight.sizes.size(), "2");
  if (input.sizes.empty()) return bad_rank(0, "at least 1");
  const Arguments args(node);
  for (const char* factor : {"alpha", "beta"}) {
    ETB_ASSIGN(const double number, args.number(factor, 1));
    if (number != 1) return reject("attribute", std::string(factor) + ", expected 1");
  }
  input = lowering.builder().reorder(input, row_major(input.sizes.size()));
  const std::vector<int64_t> sizes = lowering.result_sizes();
  Window w;
  w.in_c = w.group_in = to_u32(input.sizes.back());
  w.out_c = w.group_out = to_u32(weight.sizes[places.out]);
  if (weight.sizes[places.in] != input.sizes.back() || sizes.empty() || sizes.back() != w.out_c)
    return reject("attribute", "a weight of other sizes");
  w.in_h = w.out_h = to_u32(input.numel() / w.in_c);
  if (w.in_h > DSP_MAX_EXTENT) return reject("attribute", "more rows than the device has");
  const Codes output = lowering.builder().add_codes(sizes, row_major(sizes.size()), lowering.result());
  return add_conv(lowering, node, input, weight, w, places, output);
}

Status lower_linear(PatternLowering& lowering, const Node& node) {
  return lower_product(lowering, node, {0, 1, 0});
}
Status lower_mm(PatternLowering& lowering, const Node& node) {
  return lower_product(lowering, node, {1, 0, 0});
}

constexpr const char* kWeightRule =
    "Only in a whole pattern; the weight is an int8 or int16 constant, sums have at most 32768 products.";
constexpr CoreOp kOps[] = {
    {"aten.convolution.default", {"input", "weight"}, lower_convolution, "bias", false, kWeightRule},
    {"aten.linear.default", {"input", "weight"}, lower_linear, "bias", false, kWeightRule},
    {"aten.addmm.default", {"mat1", "mat2"}, lower_mm, "self", false, kWeightRule},
    {"aten.mm.default", {"self", "mat2"}, lower_mm, nullptr, false, kWeightRule},
};

}  // namespace

std::span<const CoreOp> weight_ops() { return kOps; }

}  // namespace etb::dsp_stub
