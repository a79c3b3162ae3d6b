// SPDX-License-Identifier: Apache-2.0
// Convolutions over one or two dimensions.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

struct Convolution {
  bool is_transposed = false;
  int64_t groups = 1;
  std::vector<int64_t> stride, padding, dilation, output_padding;
  uint32_t spatial_rank = 2;
};

// Reads the numbers of a convolution. Those of a 1-d convolution get height 1.
Result<std::vector<int64_t>> pair_of(const Lowering& l, const char* name, int64_t otherwise,
                                     uint32_t spatial_rank) {
  ETB_ASSIGN(std::vector<int64_t> found, l.integers(name, {}));
  if (found.empty()) found.assign(spatial_rank, otherwise);
  if (found.size() == 1 && spatial_rank == 2) found.push_back(found[0]);
  if (found.size() != spatial_rank)
    return Lowering::refuse("attribute", name, ": ", found.size(), " numbers");
  if (spatial_rank == 1) found.insert(found.begin(), otherwise);
  for (const int64_t number : found) {
    if (number < 0 || number > 1 << 20) return Lowering::refuse("attribute", name, ": ", number);
  }
  return found;
}

Result<Convolution> read(Lowering& l, uint32_t rank) {
  Convolution c;
  c.spatial_rank = rank - 2;
  ETB_ASSIGN(c.is_transposed, l.flag("transposed", false));
  ETB_ASSIGN(c.groups, l.integer("groups", 1));
  ETB_ASSIGN(c.stride, pair_of(l, "stride", 1, c.spatial_rank));
  ETB_ASSIGN(c.padding, pair_of(l, "padding", 0, c.spatial_rank));
  ETB_ASSIGN(c.dilation, pair_of(l, "dilation", 1, c.spatial_rank));
  ETB_ASSIGN(c.output_padding, pair_of(l, "output_padding", 0, c.spatial_rank));
  return c;
}

// The filter in XNNPACK's layout: [outputs, height, width, inputs of a group], depthwise [1, height, width,
// outputs].
struct Filter {
  ConstantPtr constant;
  int64_t outputs = 0, group_inputs = 0, height = 1, width = 1;
  bool is_depthwise = false;
};

// Reads the weight as stored in the graph; as int8 if the node computes with int8.
Result<ConstantPtr> read_weight(Lowering& l, uint32_t weight, const Convolution& c, bool is_dynamic) {
  if (!is_dynamic && !l.is_quantised()) return l.constant(weight, "weight");
  const auto form = l.integers_of(weight);
  if (!form || !l.draft().constant(form->id) || !is_identity(form->perm))
    return Lowering::refuse("quant", "weight: no int8 constant");
  const XnnValue& value = l.draft().value(form->id);
  // Dimension 1 of a transposed convolution has the outputs of one group only.
  if (value.quantisation == XnnQuantisation::kPerChannel &&
      (value.channel_dim != (c.is_transposed ? 1 : 0) || (c.is_transposed && c.groups != 1)))
    return Lowering::refuse("quant", "weight, expected a scale an output");
  return l.draft().constant(form->id);
}

Result<Filter> read_filter(ConstantPtr found, const Convolution& c) {
  std::vector<int64_t> sizes = found->sizes;
  if (c.spatial_rank == 1) {
    sizes.insert(sizes.begin() + 2, 1);
    found = reshaped(found, sizes);
  }
  if (sizes.size() != 4) return Lowering::refuse("rank", "weight of rank ", found->sizes.size());
  Filter filter;
  filter.height = sizes[2];
  filter.width = sizes[3];
  if (c.is_transposed) {  // [inputs, outputs of a group, height, width]
    const int64_t group_outputs = sizes[1], group_inputs = sizes[0] / c.groups;
    filter.outputs = group_outputs * c.groups;
    filter.group_inputs = group_inputs;
    const ConstantPtr grouped = reshaped(found, {c.groups, group_inputs, group_outputs, sizes[2], sizes[3]});
    filter.constant = reshaped(transposed(grouped, std::vector<uint32_t>{0, 2, 3, 4, 1}),
                               {filter.outputs, sizes[2], sizes[3], group_inputs});
    return filter;
  }
  filter.outputs = sizes[0];
  filter.group_inputs = sizes[1];
  filter.is_depthwise = c.groups > 1 && sizes[1] == 1;
  if (filter.is_depthwise) {
    filter.constant = transposed(found, std::vector<uint32_t>{1, 2, 3, 0});
  } else {
    filter.constant = transposed(found, std::vector<uint32_t>{0, 2, 3, 1});
  }
  return filter;
}

// Returns the input as [N, height, width, channels].
Result<uint32_t> channels_last(Lowering& l, uint32_t value) {
  if (l.rank(value) == 4) return l.arranged(value, kChannelsLast);
  ETB_ASSIGN(const uint32_t id, l.arranged(value, {0, 2, 1}));
  Draft::Extents wide = l.draft().extents(id);
  wide.sizes.insert(wide.sizes.begin() + 1, 1);
  wide.dynamic_dims = (wide.dynamic_dims & 1) | (wide.dynamic_dims >> 1 << 2);
  return l.draft().add_reshape(id, std::move(wide));
}

// Adds the result [N, height, width, channels]; height is 1 for a 1-d convolution.
Result<uint32_t> add_output(Lowering& l) {
  if (l.rank(l.result()) == 4) return l.add_result(0, kChannelsLast);
  const Draft::Extents made = l.extents(l.result());
  const uint32_t n = made.sizes[0], channels = made.sizes[1], length = made.sizes[2];
  const uint32_t dynamic = made.dynamic_dims;
  ETB_ASSIGN(const XnnDatatype datatype, datatype_of(static_cast<etb_dtype>(l.spec(l.result()).dtype)));
  const uint32_t id =
      l.draft().add_value(l.is_quantised() ? XnnDatatype::kQint8 : datatype,
                          {{n, 1, length, channels}, (dynamic & 1) | (dynamic >> 2 & 1) << 2});
  l.adopt_result_params(id);
  return id;
}

Status define_output(Lowering& l, uint32_t id) {
  if (l.rank(l.result()) == 4) return {};
  Draft::Extents narrow = l.draft().extents(id);
  narrow.sizes.erase(narrow.sizes.begin() + 1);
  narrow.dynamic_dims = (narrow.dynamic_dims & 1) | (narrow.dynamic_dims >> 2 & 1) << 1;
  ETB_ASSIGN(const uint32_t flat, l.draft().add_reshape(id, std::move(narrow)));
  l.define(l.result(), {flat, {0, 2, 1}});
  return {};
}

Status lower_convolution(Lowering& l) {
  ETB_ASSIGN(const uint32_t input, l.value("input"));
  ETB_ASSIGN(const uint32_t weight, l.value("weight"));
  const size_t rank = l.rank(input);
  if (rank != 3 && rank != 4) return Lowering::refuse("rank", "input of rank ", rank, ", expected 3 or 4");
  if (l.rank(l.result()) != rank) return Lowering::refuse("rank", "result of rank ", l.rank(l.result()));
  ETB_ASSIGN(const Convolution c, read(l, static_cast<uint32_t>(rank)));
  if (c.is_transposed && (c.dilation[0] != 1 || c.dilation[1] != 1) && c.groups != 1)
    return Lowering::refuse("attribute", "a transposed convolution with groups and dilation");
  const std::optional<uint32_t> source = l.dynamic_source(input);
  ETB_ASSIGN(ConstantPtr constant, read_weight(l, weight, c, source.has_value()));
  ETB_ASSIGN(const Filter filter, read_filter(std::move(constant), c));
  if (c.groups < 1 || filter.group_inputs * c.groups != l.sizes(input)[1] || filter.outputs % c.groups != 0)
    return Lowering::refuse("attribute", "groups: ", c.groups);

  ETB_ASSIGN(uint32_t in, channels_last(l, source.value_or(input)));
  uint32_t kernel = kXnnNoValue;
  if (source) {
    if (filter.is_depthwise)
      return Lowering::refuse("quant", "depthwise, with an input quantised at run time");
    ETB_ASSIGN(kernel, l.add_dynamic_filter(filter.constant, weight, static_cast<size_t>(filter.outputs)));
    in = l.quantised_at_run_time(in, 3);
  } else {
    // XNNPACK converts weights to float16 when it packs them.
    ETB_ASSIGN(kernel,
               l.add_filter(filter.constant, weight, filter.is_depthwise ? 3 : 0, XnnDatatype::kFloat32));
  }
  uint32_t bias = kXnnNoValue;
  if (l.has("bias")) {
    ETB_ASSIGN(const uint32_t found, l.value("bias"));
    ETB_ASSIGN(const ConstantPtr floats, l.constant(found, "bias"));
    if (numel_of(floats->sizes) != filter.outputs)
      return Lowering::refuse("attribute", "bias, expected one element an output");
    ETB_ASSIGN(bias, l.add_bias(converted(floats, ETB_DTYPE_FLOAT32), in, kernel));
  }
  ETB_ASSIGN(const uint32_t out, add_output(l));
  XnnNode& node = l.draft().add_node(c.is_transposed       ? XnnOperator::kConvTranspose2d
                                     : filter.is_depthwise ? XnnOperator::kDepthwiseConv2d
                                                           : XnnOperator::kConv2d,
                                     {in, kernel, bias}, {out});
  const auto u32 = [](int64_t number) { return static_cast<uint32_t>(number); };
  XnnWindow& w = node.window;
  w.padding_top = w.padding_bottom = u32(c.padding[0]);
  w.padding_left = w.padding_right = u32(c.padding[1]);
  w.kernel_height = u32(filter.height);
  w.kernel_width = u32(filter.width);
  w.stride_height = u32(c.stride[0]);
  w.stride_width = u32(c.stride[1]);
  w.dilation_height = u32(c.dilation[0]);
  w.dilation_width = u32(c.dilation[1]);
  if (c.is_transposed) {
    w.adjustment_height = u32(c.output_padding[0]);
    w.adjustment_width = u32(c.output_padding[1]);
  }
  w.groups = u32(c.groups);
  w.group_input_channels = u32(filter.group_inputs);
  w.group_output_channels = u32(filter.outputs / c.groups);
  return define_output(l, out);
}

constexpr Op kRows[] = {
    {.name = "aten.convolution.default",
     .lower = lower_convolution,
     .quantised = QuantKind::kComputes,
     .min_rank = 1,
     .max_rank = 4,
     .constraint = "One or two spatial dimensions; weight and bias are constants.",
     .traits = kEndsChain},
};

}  // namespace

extern const OpList convolution_ops = kRows;

}  // namespace etb::xnnpack
