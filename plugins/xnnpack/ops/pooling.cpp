// Windows over height and width, means over dimensions, and resizing.
#include <algorithm>
#include <bit>

#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

struct Pool {
  std::vector<int64_t> kernel, stride, padding, dilation;
  std::vector<int64_t> extra = {0, 0};  // more padding behind, so that the last window of ceil_mode fits
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
  if (pool.kernel[0] == 1 && pool.kernel[1] == 1)  // XNNPACK refuses it
    return Lowering::refuse("attribute", "kernel_size: 1, expected more");
  if (op == XnnOperator::kAveragePooling2d && l.is_quantised())
    return Lowering::refuse("quant", "means of int8 windows");
  XnnNode& node = l.draft().add_node(op, {in}, {out});
  node.flags = kFlagKeepDims;
  format::XnnWindow& w = node.window;
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

}  // namespace

Status lower_max_pool2d(Lowering& l) {
  for (uint32_t i = 1; i < l.result_count(); ++i) {
    if (l.use_count(l.result(i)) != 0) return Lowering::refuse("attribute", "indices that somebody reads");
  }
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
  if (l.has("divisor_override")) return Lowering::refuse("attribute", "divisor_override");
  ETB_ASSIGN(uint32_t in, l.arranged(self, kChannelsLast));
  if (counts_padding && (pool.padding[0] != 0 || pool.padding[1] != 0)) {  // XNNPACK does not count it
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

namespace {

// Which payload dimensions [first, first + count) a set of dimensions fills, if they lie side by side.
struct Block {
  uint32_t first = 0, count = 0;
};
std::optional<Block> block_of(const std::vector<uint32_t>& dims, const Permutation& perm) {
  std::vector<uint32_t> places;
  for (const uint32_t dim : dims) places.push_back(perm[dim]);
  std::sort(places.begin(), places.end());
  if (places.empty() || places.back() - places.front() + 1 != places.size()) return std::nullopt;
  return Block{places.front(), static_cast<uint32_t>(places.size())};
}

Result<std::vector<uint32_t>> reduced_dims(Lowering& l, size_t rank) {
  ETB_ASSIGN(const std::vector<int64_t> found, l.integers("dim", {}));
  std::vector<uint32_t> dims;
  for (int64_t dim : found) {
    if (dim < 0) dim += static_cast<int64_t>(rank);
    if (dim < 0 || static_cast<size_t>(dim) >= rank) return Lowering::refuse("attribute", "dim");
    dims.push_back(static_cast<uint32_t>(dim));
  }
  if (dims.empty()) dims = identity(rank);
  std::sort(dims.begin(), dims.end());
  return dims;
}

// The mean over `dims`; the draft's value keeps them as 1.
Result<Form> mean_of(Lowering& l, uint32_t self, const std::vector<uint32_t>& dims) {
  Draft& draft = l.draft();
  ETB_ASSIGN(Form in, l.form(self));
  if (draft.constant(in.id))
    return Lowering::refuse("constant", "a constant, expected a tensor known at run time");
  auto block = block_of(dims, in.perm);
  if (!block) {
    ETB_ASSIGN(const uint32_t id, l.natural(self));
    in = {id, identity(in.perm.size())};
    block = block_of(dims, in.perm);
  }
  if (!block) return Lowering::refuse("attribute", "dim: dimensions apart, expected neighbours");
  const Draft::Extents whole = draft.extents(in.id);
  Draft::Extents flat{{1, 1, 1, 1}, 0}, kept = whole;
  for (uint32_t d = 0; d < whole.sizes.size(); ++d) {
    const uint32_t part = d < block->first ? 0 : d < block->first + block->count ? 1 : 3;
    flat.sizes[part] *= whole.sizes[d];
    flat.dynamic_dims |= (whole.dynamic_dims >> d & 1) << part;
    if (part != 1) continue;
    kept.sizes[d] = 1;
    kept.dynamic_dims &= ~(1u << d);
  }
  const bool fits = whole.sizes.size() == 4 && block->first == 1 && block->count == 2;
  uint32_t id = in.id;
  if (!fits) {
    ETB_ASSIGN(id, draft.add_reshape(id, std::move(flat)));
  }
  id = add_mean(draft, id);
  l.adopt_result_params(id);
  ETB_ASSIGN(id, draft.add_reshape(id, std::move(kept)));
  return Form{id, in.perm};
}

// Takes out dimensions of size 1.
Result<Form> without(Lowering& l, const Form& form, const std::vector<uint32_t>& dims) {
  const Draft::Extents wide = l.draft().extents(form.id);
  std::vector<bool> is_gone(wide.sizes.size(), false);  // by payload dimension
  for (const uint32_t dim : dims) is_gone[form.perm[dim]] = true;
  Draft::Extents narrow;
  std::vector<uint32_t> place(wide.sizes.size(), 0);
  for (size_t d = 0; d < wide.sizes.size(); ++d) {
    if (is_gone[d]) continue;
    place[d] = static_cast<uint32_t>(narrow.sizes.size());
    narrow.dynamic_dims |= (wide.dynamic_dims >> d & 1) << place[d];
    narrow.sizes.push_back(wide.sizes[d]);
  }
  Form out;
  for (const uint32_t d : form.perm) {
    if (!is_gone[d]) out.perm.push_back(place[d]);
  }
  ETB_ASSIGN(out.id, l.draft().add_reshape(form.id, std::move(narrow)));
  return out;
}

Status reduce(Lowering& l, bool is_sum) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  if (l.spec(self).dtype != l.spec(l.result()).dtype)
    return Lowering::refuse("dtype", "result of another type");
  ETB_ASSIGN(const bool keeps, l.flag("keepdim", false));
  ETB_ASSIGN(const std::vector<uint32_t> dims, reduced_dims(l, l.rank(self)));
  ETB_ASSIGN(Form mean, mean_of(l, self, dims));
  if (is_sum) {
    // The mean times the count, as the payload has no sum.
    uint64_t count = 1;
    for (const uint32_t dim : dims) {
      if ((l.extents(self).dynamic_dims >> dim & 1) != 0)
        return Lowering::refuse("dynamic", "dim: a dynamic dimension");
      count *= static_cast<uint64_t>(l.sizes(self)[dim]);
    }
    if (!std::has_single_bit(count))
      return Lowering::refuse("attribute", "dim: sums of ", count,
                              " numbers would be rounded twice, expected a power of two");
    mean.id = add_binary(l.draft(), XnnOperator::kMultiply, mean.id,
                         l.add_floats({1}, {static_cast<float>(count)}, mean.id), l.draft().extents(mean.id));
  }
  if (!keeps) {
    ETB_ASSIGN(mean, without(l, mean, dims));
  }
  l.define(l.result(), mean);
  return {};
}

// That sizes grow by exactly what scale_factors say, so that both ways to compute coordinates agree.
Status check_scales(const Lowering& l, uint32_t input) {
  if (!l.has("scale_factors")) return {};
  return l.extents(input).dynamic_dims == 0
             ? Status{}
             : Status(Lowering::refuse("dynamic", "scale_factors with dynamic sizes"));
}

}  // namespace

Status lower_mean(Lowering& l) { return reduce(l, false); }
Status lower_sum(Lowering& l) { return reduce(l, true); }

Status lower_upsample_bilinear2d(Lowering& l) {
  constexpr uint32_t kFlagAlignCorners = 8;
  ETB_ASSIGN(const uint32_t input, l.value("input"));
  ETB_TRY(check_scales(l, input));
  ETB_ASSIGN(const bool aligns, l.flag("align_corners", false));
  const std::vector<int64_t> in = l.sizes(input), to = l.sizes(l.result());
  if (l.has("scale_factors") && (to[2] % in[2] != 0 || to[3] % in[3] != 0))
    return Lowering::refuse("attribute", "scale_factors, expected whole ones");
  if ((l.extents(l.result()).dynamic_dims & 12) != 0)
    return Lowering::refuse("dynamic", "output_size, expected static");
  ETB_ASSIGN(const uint32_t id, l.arranged(input, kChannelsLast));
  ETB_ASSIGN(const uint32_t out, l.add_result(0, kChannelsLast));
  XnnNode& node = l.draft().add_node(XnnOperator::kResizeBilinear2d, {id}, {out});
  node.first = {static_cast<uint32_t>(to[2]), static_cast<uint32_t>(to[3])};
  node.flags = aligns ? kFlagAlignCorners : 0;
  return {};
}

// Repeats each element: concatenates the tensor with itself along a dimension of 1.
Status lower_upsample_nearest2d(Lowering& l) {
  Draft& draft = l.draft();
  ETB_ASSIGN(const uint32_t input, l.value("input"));
  if (l.extents(input).dynamic_dims != 0)
    return Lowering::refuse("dynamic", "dynamic sizes, expected static ones");
  const std::vector<int64_t> in = l.sizes(input), to = l.sizes(l.result());
  const int64_t vertical = to[2] / in[2], horizontal = to[3] / in[3];
  if (vertical * in[2] != to[2] || horizontal * in[3] != to[3] || std::max(vertical, horizontal) > 5)
    return Lowering::refuse("attribute", "scales, expected whole ones up to 5");
  ETB_ASSIGN(uint32_t id, l.arranged(input, kChannelsLast));
  const auto n = static_cast<uint32_t>(in[0]), c = static_cast<uint32_t>(in[1]),
             h = static_cast<uint32_t>(in[2]), w = static_cast<uint32_t>(in[3]),
             v = static_cast<uint32_t>(vertical), u = static_cast<uint32_t>(horizontal);
  const auto repeat = [&](uint32_t rows, uint32_t elements, uint32_t times) -> Status {
    if (times == 1) return {};
    ETB_ASSIGN(const uint32_t flat, draft.add_reshape(id, {{rows, 1, elements}, 0}));
    id = draft.add_like(flat, {{rows, times, elements}, 0});
    const auto op = static_cast<XnnOperator>(static_cast<uint8_t>(times == 5   ? XnnOperator::kConcatenate5
                                                                  : times == 4 ? XnnOperator::kConcatenate4
                                                                  : times == 3 ? XnnOperator::kConcatenate3
                                                                               : XnnOperator::kConcatenate2));
    draft.add_node(op, std::vector<uint32_t>(times, flat), {id}).axis = 1;
    return {};
  };
  ETB_TRY(repeat(n * h * w, c, u));
  ETB_TRY(repeat(n * h, w * u * c, v));
  ETB_ASSIGN(id, draft.add_reshape(id, {{n, h * v, w * u, c}, 0}));
  l.define(l.result(), {id, kChannelsLast});
  return {};
}

}  // namespace etb::xnnpack
