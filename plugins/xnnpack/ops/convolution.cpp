// SPDX-License-Identifier: Apache-2.0
// Convolutions over one or two dimensions.
#include "ops/convolution.hpp"
#include "plugins/xnnpack/compile/quantised_weights.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

using ConvolutionArguments = ops::convolution_default<NodeArguments>;

struct Convolution {
  bool is_transposed = false;
  int64_t groups = 1;
  std::vector<int64_t> stride, padding, dilation, output_padding;
  uint32_t spatial_rank = 2;
};

// Reads numbers for height and width. Those of a 1-d convolution get `otherwise` for the height.
Result<std::vector<int64_t>> pair_of(const NodeArguments::NumberList& argument, int64_t otherwise,
                                     uint32_t spatial_rank) {
  ETB_ASSIGN(std::vector<int64_t> found, argument.integers());
  if (found.empty()) found.assign(spatial_rank, otherwise);
  if (found.size() == 1 && spatial_rank == 2) found.push_back(found[0]);
  if (found.size() != spatial_rank)
    return reject("attribute", argument.name(), ": ", found.size(), " numbers");
  if (spatial_rank == 1) found.insert(found.begin(), otherwise);
  for (const int64_t number : found) {
    if (number < 0 || number > 1 << 20) return reject("attribute", argument.name(), ": ", number);
  }
  return found;
}

Result<Convolution> read(const ConvolutionArguments& args, uint32_t rank) {
  Convolution c;
  c.spatial_rank = rank - 2;
  ETB_ASSIGN(c.is_transposed, args.transposed().value_or(false));
  ETB_ASSIGN(c.groups, args.groups().integer_or(1));
  ETB_ASSIGN(c.stride, pair_of(args.stride(), 1, c.spatial_rank));
  ETB_ASSIGN(c.padding, pair_of(args.padding(), 0, c.spatial_rank));
  ETB_ASSIGN(c.dilation, pair_of(args.dilation(), 1, c.spatial_rank));
  ETB_ASSIGN(c.output_padding, pair_of(args.output_padding(), 0, c.spatial_rank));
  // XNNPACK accepts rows and columns after the last ones of the filter only as far as the stride reaches.
  for (size_t i = 0; c.is_transposed && i < 2; ++i) {
    if (c.output_padding[i] != 0 && c.output_padding[i] >= c.stride[i])
      return reject("attribute", "output_padding: ", c.output_padding[i], ", expected less than the stride, ",
                    c.stride[i]);
  }
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
Result<ConstantPtr> read_weight(LoweringContext& context, const ConvolutionArguments& args,
                                const Convolution& c, bool is_dynamic) {
  if (!is_dynamic && !context.is_quantised()) return context.constant(args.weight());
  ETB_ASSIGN(const uint32_t weight, args.weight().id());
  const XnnGraphBuilder& builder = context.builder();
  const LoweredValue* integers = context.values().find_integers(weight);
  if (integers == nullptr || !builder.constant(integers->id) || !is_identity(integers->perm))
    return reject("quant", "weight: no int8 constant");
  const XnnValue& value = builder.value(integers->id);
  // Dimension 1 of a transposed convolution has the outputs of one group only.
  if (value.quantisation == XnnQuantisation::kPerChannel &&
      (value.channel_dim != (c.is_transposed ? 1 : 0) || (c.is_transposed && c.groups != 1)))
    return reject("quant", "weight, expected a scale an output");
  return builder.constant(integers->id);
}

Result<Filter> read_filter(ConstantPtr found, const Convolution& c) {
  std::vector<int64_t> sizes = found->sizes;
  if (c.spatial_rank == 1) {
    sizes.insert(sizes.begin() + 2, 1);
    found = reshaped(found, sizes);
  }
  if (sizes.size() != 4) return reject("rank", "weight of rank ", found->sizes.size());
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
Result<uint32_t> channels_last(LoweringContext& context, uint32_t value) {
  if (context.graph().rank(value) == 4) return context.arranged(value, kChannelsLast);
  ETB_ASSIGN(const uint32_t id, context.arranged(value, {0, 2, 1}));
  Extents wide = context.builder().extents(id);
  wide.sizes.insert(wide.sizes.begin() + 1, 1);
  wide.dynamic_dims = (wide.dynamic_dims & 1) | (wide.dynamic_dims >> 1 << 2);
  return context.builder().add_reshape(id, std::move(wide));
}

// Adds the result [N, height, width, channels]; height is 1 for a 1-d convolution.
Result<uint32_t> add_output(LoweringContext& context) {
  const Extents made = context.graph().extents(context.result());
  if (made.sizes.size() == 4) return context.add_result(0, kChannelsLast);
  const uint32_t n = made.sizes[0], channels = made.sizes[1], length = made.sizes[2];
  const uint32_t dynamic = made.dynamic_dims;
  ETB_ASSIGN(const XnnDatatype datatype, context.result_datatype());
  const uint32_t id = context.builder().add_value(
      datatype, {{n, 1, length, channels}, (dynamic & 1) | (dynamic >> 2 & 1) << 2});
  context.adopt_result_params(id);
  return id;
}

Status define_output(LoweringContext& context, uint32_t id) {
  if (context.graph().rank(context.result()) == 4) return {};
  Extents narrow = context.builder().extents(id);
  narrow.sizes.erase(narrow.sizes.begin() + 1);
  narrow.dynamic_dims = (narrow.dynamic_dims & 1) | (narrow.dynamic_dims >> 2 & 1) << 1;
  ETB_ASSIGN(const uint32_t flat, context.builder().add_reshape(id, std::move(narrow)));
  context.define(context.result(), {flat, {0, 2, 1}});
  return {};
}

// Values of a convolution node.
struct Edges {
  uint32_t input = kXnnNoValue, filter = kXnnNoValue, bias = kXnnNoValue, output = kXnnNoValue;
};

// Adds the filter. With an input that is quantised at run time, replaces the input by its integers.
Status add_weights(LoweringContext& context, const ConvolutionArguments& args, const Filter& filter,
                   bool is_dynamic, Edges& edges) {
  ETB_ASSIGN(const uint32_t weight, args.weight().id());
  if (is_dynamic) {
    if (filter.is_depthwise) return reject("quant", "depthwise, with an input quantised at run time");
    ETB_ASSIGN(edges.filter,
               add_dynamic_filter(context, filter.constant, weight, static_cast<size_t>(filter.outputs)));
    edges.input = context.builder().add_runtime_quantised(edges.input, 3);
  } else {
    // XNNPACK converts weights to float16 when it packs them.
    ETB_ASSIGN(edges.filter, add_filter(context, filter.constant, weight, filter.is_depthwise ? 3 : 0,
                                        XnnDatatype::kFloat32));
  }
  if (!args.bias().has_value()) return {};
  ETB_ASSIGN(const ConstantPtr bias, context.constant(args.bias()));
  if (numel_of(bias->sizes) != filter.outputs)
    return reject("attribute", "bias, expected one element an output");
  ETB_ASSIGN(edges.bias, add_bias(context, converted(bias, ETB_DTYPE_FLOAT32), edges.input, edges.filter));
  return {};
}

XnnWindow window_of(const Convolution& c, const Filter& filter) {
  const auto u32 = [](int64_t number) { return static_cast<uint32_t>(number); };
  XnnWindow w;
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
  return w;
}

Status lower_convolution(LoweringContext& context, ConvolutionArguments args) {
  const SourceGraph& graph = context.graph();
  ETB_ASSIGN(const uint32_t input, args.input().id());
  ETB_TRY(args.weight().id());
  const size_t rank = graph.rank(input), result_rank = graph.rank(context.result());
  if (rank != 3 && rank != 4) return reject("rank", "input of rank ", rank, ", expected 3 or 4");
  if (result_rank != rank) return reject("rank", "result of rank ", result_rank);
  ETB_ASSIGN(const Convolution c, read(args, static_cast<uint32_t>(rank)));
  if (c.is_transposed && (c.dilation[0] != 1 || c.dilation[1] != 1) && c.groups != 1)
    return reject("attribute", "a transposed convolution with groups and dilation");
  const std::optional<uint32_t> source = context.values().dynamic_source(input);
  ETB_ASSIGN(ConstantPtr constant, read_weight(context, args, c, source.has_value()));
  ETB_ASSIGN(const Filter filter, read_filter(std::move(constant), c));
  if (c.groups < 1 || filter.group_inputs * c.groups != graph.sizes(input)[1] ||
      filter.outputs % c.groups != 0)
    return reject("attribute", "groups: ", c.groups);

  Edges edges;
  ETB_ASSIGN(edges.input, channels_last(context, source.value_or(input)));
  ETB_TRY(add_weights(context, args, filter, source.has_value(), edges));
  ETB_ASSIGN(edges.output, add_output(context));
  ETB_TRY(check_multipliers(context, edges.input, edges.filter, edges.output));
  const XnnOperator op = c.is_transposed       ? XnnOperator::kConvTranspose2d
                         : filter.is_depthwise ? XnnOperator::kDepthwiseConv2d
                                               : XnnOperator::kConv2d;
  context.builder().add_node(op, {edges.input, edges.filter, edges.bias}, {edges.output}).window =
      window_of(c, filter);
  return define_output(context, edges.output);
}

constexpr Op kRows[] = {
    op_row<ops::convolution_default, lower_convolution>(
        {.quantised = QuantKind::kComputes,
         .min_rank = 1,
         .max_rank = 4,
         .constraint = "One or two spatial dimensions; weight and bias are constants.",
         .traits = kEndsChain}),
};

}  // namespace

extern const OpList convolution_ops = kRows;

}  // namespace etb::xnnpack
