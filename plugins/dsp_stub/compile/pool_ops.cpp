// SPDX-License-Identifier: Apache-2.0
// Pools, means and resize.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "plugins/dsp_stub/compile/lowering.hpp"
#include "plugins/dsp_stub/plan/tiles.hpp"

namespace etb::dsp_stub {

namespace {

uint32_t to_u32(int64_t number) { return static_cast<uint32_t>(number); }

tl::unexpected<Error> no_image(const Codes& input) {
  return reject("rank", "rank " + std::to_string(input.sizes.size()) + ", expected 4");
}

// ---- pools and means

// Sets the scale of a sum of elements that is divided by `divisor`.
void set_scale(PatternLowering& lowering, const Codes& input, double divisor, Layer& layer) {
  const Multiplier scale = to_multiplier(input.params.scale / lowering.result().scale / divisor);
  layer.multipliers[0] = scale.multiplier;
  layer.shift = scale.shift;
}

// A layer of averages over the elements that are no padding. Codes of one scale and zero point are averaged as CMSIS-NN does it.
Layer average_layer(PatternLowering& lowering, const Codes& input, const Window& w) {
  Layer layer{.op = DSP_POOL_AVERAGE};
  if (lowering.facts().allows_version_3() && input.params.has_codes_of(lowering.result())) {
    layer.op = DSP_POOL_AVERAGE_OF_CODES;
    return layer;
  }
  set_scale(lowering, input, static_cast<double>(w.kernel_h) * w.kernel_w, layer);
  if (w.top == 0 && w.left == 0) return layer;
  layer.op = DSP_POOL_AVERAGE_BY_COUNT;
  std::vector<std::byte> bytes(size_t{w.kernel_h} * w.kernel_w * 8);
  for (uint32_t i = 0; i < bytes.size() / 8; ++i) {
    const Multiplier scale = to_multiplier(input.params.scale / lowering.result().scale / (i + 1));
    std::memcpy(bytes.data() + size_t{i} * 8, &scale.multiplier, 4);
    std::memcpy(bytes.data() + size_t{i} * 8 + 4, &scale.shift, 4);
  }
  layer.tables = lowering.builder().add_constant(bytes);
  return layer;
}

Status add_pool(PatternLowering& lowering, const Codes& input, const Codes& output, const Window& window,
                Layer layer) {
  const uint64_t most = input.params.width == 2 ? DSP_MAX_WIDE_WINDOW : DSP_MAX_WINDOW;
  if (uint64_t{window.kernel_h} * window.kernel_w > most)
    return reject("attribute", "a window of more than " + std::to_string(most) + " elements");
  layer.kind = Layer::Kind::kPool;
  layer.inputs = {input.buffer, kNoBuffer};
  layer.output = output.buffer;
  layer.window = window;
  layer.in_zeros = {input.params.zero, 0};
  layer.out_zero = lowering.result().zero;
  layer.low = lowering.result().low;
  layer.high = lowering.result().high;
  lowering.builder().add_layer(std::move(layer));
  lowering.finish(output);
  return {};
}

// Reads the sizes of a pool and checks them. The window has no channels of the output yet.
Result<Window> pool_window(PatternLowering& lowering, const Codes& input, const Arguments& args) {
  ETB_ASSIGN(const auto kernel, args.pair("kernel_size", {1, 1}));
  ETB_ASSIGN(const auto stride, args.pair("stride", kernel));
  ETB_ASSIGN(const auto padding, args.pair("padding", {0, 0}));
  ETB_ASSIGN(const auto dilation, args.pair("dilation", {1, 1}));
  for (const int64_t number : {kernel[0], kernel[1], stride[0], stride[1], dilation[0], dilation[1]})
    if (number < 1 || number > DSP_MAX_EXTENT) return reject("attribute", "kernel, stride or dilation");
  for (size_t i = 0; i < 2; ++i)
    if (padding[i] < 0 || padding[i] > kernel[i] / 2)
      return reject("attribute", "padding, expected at most half a kernel");
  if (kernel[0] * kernel[1] > DSP_MAX_WINDOW) return reject("attribute", "kernel size");
  const std::vector<int64_t> sizes = lowering.result_sizes();
  if (input.sizes.size() != 4 || sizes.size() != 4) return no_image(input);
  Window w;
  w.batch = input.size(0), w.in_c = w.out_c = input.size(1), w.in_h = input.size(2), w.in_w = input.size(3);
  w.out_h = to_u32(sizes[2]), w.out_w = to_u32(sizes[3]);
  w.kernel_h = to_u32(kernel[0]), w.kernel_w = to_u32(kernel[1]);
  w.stride_h = to_u32(stride[0]), w.stride_w = to_u32(stride[1]);
  w.dilation_h = to_u32(dilation[0]), w.dilation_w = to_u32(dilation[1]);
  w.top = static_cast<int32_t>(padding[0]), w.left = static_cast<int32_t>(padding[1]);
  return w;
}

Status lower_max_pool(PatternLowering& lowering, const Node& node) {
  ETB_ASSIGN(Codes input, lowering.operand(0));
  ETB_ASSIGN(const Window w, pool_window(lowering, input, Arguments(node)));
  input = lowering.builder().reorder(input, channels_last());
  const Codes output =
      lowering.builder().add_codes(lowering.result_sizes(), channels_last(), lowering.result());
  Layer layer{.op = DSP_POOL_MAX};
  set_scale(lowering, input, 1, layer);
  return add_pool(lowering, input, output, w, std::move(layer));
}

Status lower_average_pool(PatternLowering& lowering, const Node& node) {
  const Arguments args(node);
  ETB_ASSIGN(Codes input, lowering.operand(0));
  ETB_ASSIGN(const Window w, pool_window(lowering, input, args));
  ETB_ASSIGN(const bool is_ceil, args.flag("ceil_mode", false));
  ETB_ASSIGN(const bool counts_padding, args.flag("count_include_pad", true));
  if (is_ceil) return reject("attribute", "ceil_mode, expected false");
  Layer layer{.op = DSP_POOL_AVERAGE};
  if (args.has("divisor_override")) {
    ETB_ASSIGN(const double divisor, args.number("divisor_override", 1));
    if (divisor < 1) return reject("attribute", "divisor_override, expected at least 1");
    set_scale(lowering, input, divisor, layer);
  } else if (counts_padding && (w.top != 0 || w.left != 0)) {
    set_scale(lowering, input, static_cast<double>(w.kernel_h) * w.kernel_w, layer);
  } else {
    layer = average_layer(lowering, input, w);
  }
  input = lowering.builder().reorder(input, channels_last());
  const Codes output =
      lowering.builder().add_codes(lowering.result_sizes(), channels_last(), lowering.result());
  return add_pool(lowering, input, output, w, std::move(layer));
}

// Windows that divide the input.
Status lower_adaptive_pool(PatternLowering& lowering, const Node& node) {
  ETB_ASSIGN(Codes input, lowering.operand(0));
  const std::vector<int64_t> sizes = lowering.result_sizes();
  if (input.sizes.size() != 4 || sizes.size() != 4) return no_image(input);
  if (input.sizes[2] % sizes[2] != 0 || input.sizes[3] % sizes[3] != 0)
    return reject("attribute", std::string(node.op_name()) + ": windows of different sizes");
  Window w;
  w.batch = input.size(0), w.in_c = w.out_c = input.size(1), w.in_h = input.size(2), w.in_w = input.size(3);
  w.out_h = to_u32(sizes[2]), w.out_w = to_u32(sizes[3]);
  w.kernel_h = w.stride_h = w.in_h / w.out_h;
  w.kernel_w = w.stride_w = w.in_w / w.out_w;
  input = lowering.builder().reorder(input, channels_last());
  const Codes output = lowering.builder().add_codes(sizes, channels_last(), lowering.result());
  return add_pool(lowering, input, output, w, average_layer(lowering, input, w));
}

// True if windows over `reduced` fit into the TCM together with all elements of dimension `last`.
bool fits_beside(PatternLowering& lowering, const Codes& input, const std::vector<uint32_t>& reduced,
                 uint32_t last) {
  uint64_t count = input.size(last);
  const uint64_t result = count * lowering.result().width;
  for (const uint32_t d : reduced) count *= input.size(d);
  return aligned(count * input.params.width) + aligned(result) <= lowering.builder().tcm_bytes();
}

// Moves the other dimensions outwards: then a mean is a pool over one column.
Status lower_mean(PatternLowering& lowering, const Node& node) {
  const Arguments args(node);
  ETB_ASSIGN(Codes input, lowering.operand(0));
  ETB_ASSIGN(const std::vector<int64_t> given, args.integers("dim"));
  const auto rank = static_cast<int64_t>(input.sizes.size());
  std::vector<bool> is_reduced(input.sizes.size(), given.empty());
  for (const int64_t dim : given) {
    if (dim < -rank || dim >= rank) return reject("attribute", "dim");
    is_reduced[static_cast<size_t>(dim < 0 ? dim + rank : dim)] = true;
  }
  std::vector<uint32_t> order, reduced, kept;
  for (const uint32_t d : input.order) (is_reduced[d] ? reduced : kept).push_back(d);
  // Channels last keeps the reduced dimensions before the channels; there they stay, if a window of all channels fits.
  const bool is_inner = !input.order.empty() && !is_reduced[input.order.back()] &&
                        fits_beside(lowering, input, reduced, input.order.back());
  const uint32_t last = is_inner ? input.order.back() : graph::kNone;
  for (const uint32_t d : kept)
    if (d != last) order.push_back(d);
  order.insert(order.end(), reduced.begin(), reduced.end());
  if (is_inner) order.push_back(last);
  input = lowering.builder().reorder(input, order);
  Window w;
  int64_t count = 1;
  for (const uint32_t d : reduced) count *= input.sizes[d];
  w.in_c = w.out_c = is_inner ? input.size(last) : 1;
  w.in_h = w.kernel_h = to_u32(count);
  w.batch = to_u32(input.numel() / count / w.in_c);
  if (count > DSP_MAX_WINDOW || w.batch > 1 << 16)
    return reject("attribute", "more elements than a window has");
  // The results are stored in the order of the kept dimensions.
  const std::vector<int64_t> sizes = lowering.result_sizes();
  std::vector<uint32_t> result_order;
  const bool keeps_dims = sizes.size() == input.sizes.size();
  for (const uint32_t d : order) {
    if (keeps_dims) result_order.push_back(d);
    if (keeps_dims || is_reduced[d]) continue;
    result_order.push_back(to_u32(std::count(is_reduced.begin(), is_reduced.begin() + d, false)));
  }
  const Codes output = lowering.builder().add_codes(sizes, result_order, lowering.result());
  return add_pool(lowering, input, output, w, average_layer(lowering, input, w));
}

// ---- resize

// Indices of nearest neighbours, in float as PyTorch computes them.
void put_indices(std::vector<uint16_t>& out, uint32_t in, uint32_t result, std::optional<double> factor) {
  const float step =
      factor ? static_cast<float>(1.0 / *factor) : static_cast<float>(in) / static_cast<float>(result);
  for (uint32_t i = 0; i < result; ++i)
    out.push_back(static_cast<uint16_t>(
        std::min<int64_t>(static_cast<int64_t>(std::floor(static_cast<float>(i) * step)), in - 1)));
}

Status lower_nearest(PatternLowering& lowering, const Node& node) {
  const Arguments args(node);
  ETB_ASSIGN(Codes input, lowering.operand(0));
  const std::vector<int64_t> sizes = lowering.result_sizes();
  if (input.sizes.size() != 4 || sizes.size() != 4) return no_image(input);
  if (!input.params.has_codes_of(lowering.result()) || !lowering.result().is_whole())
    return reject("quant", "another scale of the result, expected that of the input");
  std::array<std::optional<double>, 2> factors;
  if (const auto given = args.find("scale_factors"))
    for (uint32_t i = 0; i < given->floats().size() && i < 2; ++i) factors[i] = given->floats()[i];
  Window w;
  w.batch = input.size(0), w.in_c = w.out_c = input.size(1), w.in_h = input.size(2), w.in_w = input.size(3);
  w.out_h = to_u32(sizes[2]), w.out_w = to_u32(sizes[3]);
  if (std::max({w.in_h, w.in_w, w.out_h, w.out_w}) > 65536)
    return reject("attribute", "more rows than indices reach");
  std::vector<uint16_t> indices;
  put_indices(indices, w.in_h, w.out_h, factors[0]);
  put_indices(indices, w.in_w, w.out_w, factors[1]);
  input = lowering.builder().reorder(input, channels_last());
  const Codes output = lowering.builder().add_codes(sizes, channels_last(), lowering.result());
  Layer layer{.kind = Layer::Kind::kGather,
              .inputs = {input.buffer, kNoBuffer},
              .output = output.buffer,
              .window = w};
  layer.tables = lowering.builder().add_constant(std::as_bytes(std::span(indices)));
  lowering.builder().add_layer(std::move(layer));
  lowering.finish(output);
  return {};
}

constexpr CoreOp kOps[] = {
    {"aten.max_pool2d_with_indices.default",
     {"self"},
     lower_max_pool,
     nullptr,
     false,
     "Only in a whole pattern; no indices."},
    {"aten.max_pool2d.default", {"self"}, lower_max_pool},
    {"aten.avg_pool2d.default",
     {"self"},
     lower_average_pool,
     nullptr,
     false,
     "Only in a whole pattern; no ceil_mode."},
    {"aten._adaptive_avg_pool2d.default",
     {"self"},
     lower_adaptive_pool,
     nullptr,
     false,
     "Only in a whole pattern; windows of equal sizes."},
    {"aten.adaptive_avg_pool2d.default",
     {"self"},
     lower_adaptive_pool,
     nullptr,
     false,
     "Only in a whole pattern; windows of equal sizes."},
    {"aten.mean.dim", {"self"}, lower_mean},
    {"aten.upsample_nearest2d.vec",
     {"input"},
     lower_nearest,
     nullptr,
     false,
     "Only in a whole pattern; the scale stays."},
};

}  // namespace

std::span<const CoreOp> pool_ops() { return kOps; }

}  // namespace etb::dsp_stub
