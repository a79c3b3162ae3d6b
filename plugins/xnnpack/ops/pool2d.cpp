// SPDX-License-Identifier: Apache-2.0
// Pooling over height and width.
#include <algorithm>

#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

struct Pool {
  std::vector<int64_t> kernel, stride, padding, dilation;
  std::vector<int64_t> extra = {0, 0};  // padding at the end, so that the last window of ceil_mode fits
};

Result<std::vector<int64_t>> pair_of(const Lowering& l, const char* name, std::vector<int64_t> otherwise) {
  ETB_ASSIGN(std::vector<int64_t> found, l.integers(name, otherwise));
  if (found.empty()) found = otherwise;
  if (found.size() == 1) found.push_back(found[0]);
  if (found.size() != 2 || found[0] < 0 || found[1] < 0) return Lowering::refuse("attribute", name);
  return found;
}

Result<Pool> read(Lowering& l, uint32_t input) {
  Pool pool;
  ETB_ASSIGN(pool.kernel, pair_of(l, "kernel_size", {}));
  ETB_ASSIGN(pool.stride, pair_of(l, "stride", pool.kernel));
  ETB_ASSIGN(pool.padding, pair_of(l, "padding", {0, 0}));
  ETB_ASSIGN(pool.dilation, pair_of(l, "dilation", {1, 1}));
  ETB_ASSIGN(const bool is_ceiling, l.flag("ceil_mode", false));
  if (!is_ceiling) return pool;
  if (l.extents(input).dynamic_dims != 0) return Lowering::refuse("dynamic", "ceil_mode with dynamic sizes");
  const std::vector<int64_t> in = l.sizes(input), out = l.sizes(l.result());
  for (size_t i = 0; i < 2; ++i) {
    const int64_t needed = (out[2 + i] - 1) * pool.stride[i] + (pool.kernel[i] - 1) * pool.dilation[i] + 1;
    pool.extra[i] = std::max<int64_t>(0, needed - in[2 + i] - 2 * pool.padding[i]);
  }
  return pool;
}

Status add_pool(Lowering& l, XnnOperator op, uint32_t in, const Pool& pool) {
  ETB_ASSIGN(const uint32_t out, l.add_result(0, kChannelsLast));
  const auto u32 = [](int64_t number) { return static_cast<uint32_t>(number); };
  if (pool.kernel[0] == 1 && pool.kernel[1] == 1)  // rejected by XNNPACK
    return Lowering::refuse("attribute", "kernel_size: 1, expected more");
  if (op == XnnOperator::kAveragePooling2d && l.is_quantised())
    return Lowering::refuse("quant", "means of int8 windows");
  XnnNode& node = l.draft().add_node(op, {in}, {out});
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

Status lower_max_pool2d(Lowering& l) {
  ETB_TRY(check_only_first_result_is_read(l, "indices"));
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const Pool pool, read(l, self));
  for (size_t i = 0; i < 2; ++i) {
    if (pool.stride[i] > pool.kernel[i])
      return Lowering::refuse("attribute", "stride: ", pool.stride[i], ", expected at most the kernel, ",
                              pool.kernel[i]);
  }
  ETB_ASSIGN(const uint32_t in, l.arranged(self, kChannelsLast));
  return add_pool(l, XnnOperator::kMaxPooling2d, in, pool);
}

Status lower_avg_pool2d(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(Pool pool, read(l, self));
  ETB_ASSIGN(const bool counts_padding, l.flag("count_include_pad", true));
  ETB_ASSIGN(const bool is_ceiling, l.flag("ceil_mode", false));
  if (is_ceiling && (pool.extra[0] != 0 || pool.extra[1] != 0))
    return Lowering::refuse("attribute", "ceil_mode with a last window that is cut off");
  const int64_t area = pool.kernel[0] * pool.kernel[1];
  ETB_ASSIGN(const int64_t divisor, l.integer("divisor_override", area));
  if (divisor != area)
    return Lowering::refuse("attribute", "divisor_override: ", divisor, ", expected the window's ", area);
  ETB_ASSIGN(uint32_t in, l.arranged(self, kChannelsLast));
  if (counts_padding && (pool.padding[0] != 0 || pool.padding[1] != 0)) {  // XNNPACK does not count padding
    Draft::Extents wide = l.draft().extents(in);
    const auto top = static_cast<uint32_t>(pool.padding[0]), left = static_cast<uint32_t>(pool.padding[1]);
    wide.sizes[1] += 2 * top;
    wide.sizes[2] += 2 * left;
    const uint32_t padded = l.draft().add_like(in, std::move(wide));
    XnnNode& pad = l.draft().add_node(XnnOperator::kConstantPad, {in}, {padded});
    pad.first = pad.second = {0, top, left, 0};
    in = padded;
    pool.padding = {0, 0};
  }
  return add_pool(l, XnnOperator::kAveragePooling2d, in, pool);
}

Status lower_adaptive_avg_pool2d(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  if (l.extents(self).dynamic_dims != 0)
    return Lowering::refuse("dynamic", "dynamic sizes, expected static ones");
  const std::vector<int64_t> in = l.sizes(self), out = l.sizes(l.result());
  ETB_ASSIGN(const uint32_t id, l.arranged(self, kChannelsLast));
  if (out[2] == 1 && out[3] == 1) {
    const uint32_t mean = add_mean(l.draft(), id);
    l.adopt_result_params(mean);
    l.define(l.result(), {mean, kChannelsLast});
    return {};
  }
  if (in[2] % out[2] != 0 || in[3] % out[3] != 0)
    return Lowering::refuse("attribute", "output_size, expected divisors of the input's");
  Pool pool;
  pool.kernel = pool.stride = {in[2] / out[2], in[3] / out[3]};
  pool.padding = {0, 0};
  pool.dilation = {1, 1};
  return add_pool(l, XnnOperator::kAveragePooling2d, id, pool);
}

constexpr Op kRows[] = {
    {.name = "aten.max_pool2d.default",
     .lower = lower_max_pool2d,
     .quantised = QuantKind::kMoves,
     .min_rank = 4,
     .max_rank = 4,
     .constraint = "The stride is at most the kernel."},
    {.name = "aten.max_pool2d_with_indices.default",
     .lower = lower_max_pool2d,
     .quantised = QuantKind::kMoves,
     .min_rank = 4,
     .max_rank = 4,
     .constraint = "The stride is at most the kernel; nobody reads the indices."},
    {.name = "aten.avg_pool2d.default",
     .lower = lower_avg_pool2d,
     .min_rank = 4,
     .max_rank = 4,
     .constraint = "No window is cut off by ceil_mode; divisor_override is the size of the window."},
    {.name = "aten._adaptive_avg_pool2d.default",
     .lower = lower_adaptive_avg_pool2d,
     .quantised = QuantKind::kComputes,
     .min_rank = 4,
     .max_rank = 4,
     .constraint = "The output sizes divide the input's."},
};

}  // namespace

extern const OpList pool2d_ops = kRows;

}  // namespace etb::xnnpack
