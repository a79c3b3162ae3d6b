// SPDX-License-Identifier: Apache-2.0
// Pooling over height and width.
#include <algorithm>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/window.hpp"
#include "ops/_adaptive_avg_pool2d.hpp"
#include "ops/avg_pool2d.hpp"
#include "ops/max_pool2d.hpp"
#include "ops/max_pool2d_with_indices.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

struct Pool {
  std::vector<int64_t> kernel, stride, padding, dilation;
  std::vector<int64_t> extra = {0, 0};  // padding at the end, so that the last window of ceil_mode fits
};

// Arguments that all pools have. Mean pools have no dilation.
struct PoolArguments {
  template <class View>
  explicit PoolArguments(const View& args)
      : kernel_size(args.kernel_size()),
        stride(args.stride()),
        padding(args.padding()),
        ceil_mode(args.ceil_mode()) {
    if constexpr (requires { args.dilation(); }) dilation = args.dilation();
  }

  NodeArguments::NumberList kernel_size, stride, padding;
  std::optional<NodeArguments::NumberList> dilation = {};
  NodeArguments::Flag ceil_mode;
};

Result<std::vector<int64_t>> pair_of(const NodeArguments::NumberList& argument,
                                     const std::vector<int64_t>& otherwise) {
  ETB_ASSIGN(std::vector<int64_t> found, argument.integers());
  if (found.empty()) found = otherwise;
  if (found.size() == 1) found.push_back(found[0]);
  if (found.size() != 2 || found[0] < 0 || found[1] < 0) return reject("attribute", argument.name());
  return found;
}

// Returns the padding that the last of `count` windows needs after an image of `size`, which has the same padding on
// both sides: the windows reach over as many elements as a transposed convolution makes of `count`.
Result<int64_t> missing_padding(int64_t size, int64_t count, const ops::Window& window) {
  ops::Numbers numbers;
  int64_t needed = 0;
  const ops::WindowError error = ops::transposed_size(numbers, count, window, 0, &needed);
  if (numbers.has_overflowed()) return reject("attribute", "kernel_size: windows of more than 2^63 elements");
  return error == ops::WindowError::kNone ? std::max<int64_t>(0, needed - size) : 0;
}

Result<Pool> read(LoweringContext& context, const PoolArguments& args, uint32_t input) {
  Pool pool;
  ETB_ASSIGN(pool.kernel, pair_of(args.kernel_size, {}));
  ETB_ASSIGN(pool.stride, pair_of(args.stride, pool.kernel));
  ETB_ASSIGN(pool.padding, pair_of(args.padding, {0, 0}));
  pool.dilation = {1, 1};
  if (args.dilation) {
    ETB_ASSIGN(pool.dilation, pair_of(*args.dilation, {1, 1}));
  }
  ETB_ASSIGN(const bool is_ceiling, args.ceil_mode.value_or(false));
  if (!is_ceiling) return pool;
  const SourceGraph& graph = context.graph();
  if (graph.extents(input).dynamic_dims != 0) return reject("dynamic", "ceil_mode with dynamic sizes");
  const std::vector<int64_t> in = graph.sizes(input), out = graph.sizes(context.result());
  for (size_t i = 0; i < 2; ++i) {
    const ops::Window window = {pool.kernel[i], pool.stride[i], pool.dilation[i], pool.padding[i],
                                pool.padding[i]};
    ETB_ASSIGN(pool.extra[i], missing_padding(in[2 + i], out[2 + i], window));
  }
  return pool;
}

Status add_pool(LoweringContext& context, XnnOperator op, uint32_t in, const Pool& pool) {
  ETB_ASSIGN(const uint32_t out, context.add_result(0, kChannelsLast));
  const auto u32 = [](int64_t number) { return static_cast<uint32_t>(number); };
  if (pool.kernel[0] == 1 && pool.kernel[1] == 1)  // rejected by XNNPACK
    return reject("attribute", "kernel_size: 1, expected more");
  if (op == XnnOperator::kAveragePooling2d && context.is_quantised())
    return reject("quant", "means of int8 windows");
  XnnNode& node = context.builder().add_node(op, {in}, {out});
  node.flags = kFlagKeepDims;
  XnnWindow& w = node.window;
  w.padding_top = u32(pool.padding[0]);
  w.padding_left = u32(pool.padding[1]);
  w.padding_bottom = u32(pool.padding[0] + pool.extra[0]);
  w.padding_right = u32(pool.padding[1] + pool.extra[1]);
  w.kernel_height = u32(pool.kernel[0]);
  w.kernel_width = u32(pool.kernel[1]);
  w.stride_height = u32(pool.stride[0]);
  w.stride_width = u32(pool.stride[1]);
  w.dilation_height = u32(pool.dilation[0]);
  w.dilation_width = u32(pool.dilation[1]);
  return {};
}

Status lower_max_pool2d(LoweringContext& context, ops::max_pool2d_default<NodeArguments> args) {
  ETB_TRY(check_only_first_result_is_read(context, "indices"));
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(const Pool pool, read(context, PoolArguments(args), self));
  for (size_t i = 0; i < 2; ++i) {
    if (pool.stride[i] > pool.kernel[i])
      return reject("attribute", "stride: ", pool.stride[i], ", expected at most the kernel, ",
                    pool.kernel[i]);
  }
  // XNNPACK's windows keep the distance of pixels that they had with the first number of channels.
  if (context.graph().extents(self).is_dynamic(1))
    return reject("dynamic", "dynamic channels, expected static ones");
  ETB_ASSIGN(const uint32_t in, context.arranged(self, kChannelsLast));
  return add_pool(context, XnnOperator::kMaxPooling2d, in, pool);
}

Status lower_avg_pool2d(LoweringContext& context, ops::avg_pool2d_default<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(Pool pool, read(context, PoolArguments(args), self));
  ETB_ASSIGN(const bool counts_padding, args.count_include_pad().value_or(true));
  ETB_ASSIGN(const bool is_ceiling, args.ceil_mode().value_or(false));
  if (is_ceiling && (pool.extra[0] != 0 || pool.extra[1] != 0))
    return reject("attribute", "ceil_mode with a last window that is cut off");
  const int64_t area = pool.kernel[0] * pool.kernel[1];
  ETB_ASSIGN(const int64_t divisor, args.divisor_override().integer_or(area));
  if (divisor != area)
    return reject("attribute", "divisor_override: ", divisor, ", expected the window's ", area);
  // A divisor holds for windows at the border, too: as if padding counted.
  const bool is_padding_counted = counts_padding || args.divisor_override().has_value();
  ETB_ASSIGN(uint32_t in, context.arranged(self, kChannelsLast));
  if (is_padding_counted &&
      (pool.padding[0] != 0 || pool.padding[1] != 0)) {  // XNNPACK does not count padding
    Extents wide = context.builder().extents(in);
    const auto top = static_cast<uint32_t>(pool.padding[0]), left = static_cast<uint32_t>(pool.padding[1]);
    wide.sizes[1] += 2 * top;
    wide.sizes[2] += 2 * left;
    const uint32_t padded = context.builder().add_like(in, std::move(wide));
    XnnNode& pad = context.builder().add_node(XnnOperator::kConstantPad, {in}, {padded});
    pad.first = pad.second = {0, top, left, 0};
    in = padded;
    pool.padding = {0, 0};
  }
  return add_pool(context, XnnOperator::kAveragePooling2d, in, pool);
}

Status lower_adaptive_avg_pool2d(LoweringContext& context,
                                 ops::_adaptive_avg_pool2d_default<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t self, args.self().id());
  if (context.graph().extents(self).dynamic_dims != 0)
    return reject("dynamic", "dynamic sizes, expected static ones");
  const std::vector<int64_t> in = context.graph().sizes(self), out = context.graph().sizes(context.result());
  ETB_ASSIGN(const uint32_t id, context.arranged(self, kChannelsLast));
  if (out[2] == 1 && out[3] == 1) {
    const uint32_t mean = add_mean(context.builder(), id);
    context.adopt_result_params(mean);
    context.define(context.result(), {mean, kChannelsLast});
    return {};
  }
  if (in[2] % out[2] != 0 || in[3] % out[3] != 0)
    return reject("attribute", "output_size, expected divisors of the input's");
  Pool pool;
  pool.kernel = pool.stride = {in[2] / out[2], in[3] / out[3]};
  pool.padding = {0, 0};
  pool.dilation = {1, 1};
  return add_pool(context, XnnOperator::kAveragePooling2d, id, pool);
}

constexpr Op kRows[] = {
    op_row<ops::max_pool2d_default, lower_max_pool2d>(
        {.quantised = QuantKind::kMoves,
         .min_rank = 4,
         .max_rank = 4,
         .constraint = "The stride is at most the kernel; the channels are static."}),
    op_row<ops::max_pool2d_with_indices_default, lower_max_pool2d>(
        {.quantised = QuantKind::kMoves,
         .min_rank = 4,
         .max_rank = 4,
         .constraint =
             "The stride is at most the kernel; the channels are static; the indices are not read."}),
    op_row<ops::avg_pool2d_default, lower_avg_pool2d>(
        {.min_rank = 4,
         .max_rank = 4,
         .constraint = "No window is cut off by ceil_mode; divisor_override is the size of the window."}),
    op_row<ops::_adaptive_avg_pool2d_default, lower_adaptive_avg_pool2d>(
        {.quantised = QuantKind::kComputes,
         .min_rank = 4,
         .max_rank = 4,
         .constraint = "The output sizes divide the input's.",
         .traits = kStatic}),
};

}  // namespace

extern const OpList pool2d_ops = kRows;

}  // namespace etb::xnnpack
