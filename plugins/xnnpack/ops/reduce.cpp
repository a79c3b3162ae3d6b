// SPDX-License-Identifier: Apache-2.0
// Means, sums and maxima over dimensions.
#include <algorithm>
#include <bit>

#include "ops/amax.hpp"
#include "ops/max.hpp"
#include "ops/mean.hpp"
#include "ops/sum.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// The payload dimensions [first, first + count) of a set of dimensions, if these are contiguous.
struct Block {
  uint32_t first = 0, count = 0;
};
std::optional<Block> block_of(const std::vector<uint32_t>& dims, const Permutation& perm) {
  std::vector<uint32_t> axes;
  for (const uint32_t dim : dims) axes.push_back(perm[dim]);
  std::sort(axes.begin(), axes.end());
  if (axes.empty() || axes.back() - axes.front() + 1 != axes.size()) return std::nullopt;
  return Block{axes.front(), static_cast<uint32_t>(axes.size())};
}

// Arguments of reductions over a dimension or a list of them.
struct ReductionArguments {
  template <class View>
  explicit ReductionArguments(const View& args)
      : self(args.self()), dim(args.dim()), keepdim(args.keepdim()) {}

  NodeArguments::Tensor self;
  NodeArguments::NumberList dim;
  NodeArguments::Flag keepdim;
};

Result<std::vector<uint32_t>> reduced_dims(const NodeArguments::NumberList& argument, size_t rank) {
  ETB_ASSIGN(const std::vector<int64_t> found, argument.integers());
  std::vector<uint32_t> dims;
  for (int64_t dim : found) {
    if (dim < 0) dim += static_cast<int64_t>(rank);
    if (dim < 0 || static_cast<size_t>(dim) >= rank) return reject("attribute", "dim");
    dims.push_back(static_cast<uint32_t>(dim));
  }
  if (dims.empty()) dims = identity(rank);
  std::sort(dims.begin(), dims.end());
  return dims;
}

enum class Reduction { kMean, kSum, kMaximum };

// Adds the maximum over dimensions 1 and 2 of a value of rank 4: one window.
Result<uint32_t> add_maximum(XnnGraphBuilder& builder, uint32_t input) {
  Extents extents = builder.extents(input);
  if ((extents.dynamic_dims & 6) != 0) return reject("dynamic", "dim: a dynamic dimension");
  // XNNPACK's windows keep the distance of pixels that they had with the first number of channels.
  if (extents.is_dynamic(3)) return reject("dynamic", "dim: dimensions after it are dynamic");
  const uint32_t height = extents.sizes[1], width = extents.sizes[2];
  if (height == 1 && width == 1) return input;  // XNNPACK rejects such a window
  extents.sizes[1] = extents.sizes[2] = 1;
  const uint32_t out = builder.add_like(input, std::move(extents));
  XnnWindow& w = builder.add_node(XnnOperator::kMaxPooling2d, {input}, {out}).window;
  w.kernel_height = w.stride_height = height;
  w.kernel_width = w.stride_width = width;
  w.dilation_height = w.dilation_width = 1;
  return out;
}

// Adds the mean or maximum over `dims`. The payload's value keeps them as 1.
Result<LoweredValue> reduced(LoweringContext& context, uint32_t self, const std::vector<uint32_t>& dims,
                             Reduction reduction) {
  XnnGraphBuilder& builder = context.builder();
  ETB_ASSIGN(LoweredValue in, context.lowered(self));
  if (builder.constant(in.id)) return reject("constant", "a constant, expected a tensor known at run time");
  auto block = block_of(dims, in.perm);
  if (!block) {
    ETB_ASSIGN(const uint32_t id, context.natural(self));
    in = {id, identity(in.perm.size())};
    block = block_of(dims, in.perm);
  }
  if (!block) return reject("attribute", "dim: dimensions apart, expected neighbours");
  const Extents whole = builder.extents(in.id);
  Extents flat{{1, 1, 1, 1}, 0}, kept = whole;
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
    ETB_ASSIGN(id, builder.add_reshape(id, std::move(flat)));
  }
  if (reduction == Reduction::kMaximum) {
    ETB_ASSIGN(id, add_maximum(builder, id));
  } else {
    id = add_mean(builder, id);
    context.adopt_result_params(id);
  }
  ETB_ASSIGN(id, builder.add_reshape(id, std::move(kept)));
  return LoweredValue{id, in.perm};
}

// Removes dimensions of size 1.
Result<LoweredValue> without(LoweringContext& context, const LoweredValue& form,
                             const std::vector<uint32_t>& dims) {
  const Extents wide = context.builder().extents(form.id);
  std::vector<bool> is_gone(wide.sizes.size(), false);  // by payload dimension
  for (const uint32_t dim : dims) is_gone[form.perm[dim]] = true;
  Extents narrow;
  std::vector<uint32_t> new_axis(wide.sizes.size(), 0);
  for (size_t d = 0; d < wide.sizes.size(); ++d) {
    if (is_gone[d]) continue;
    new_axis[d] = static_cast<uint32_t>(narrow.sizes.size());
    narrow.dynamic_dims |= (wide.dynamic_dims >> d & 1) << new_axis[d];
    narrow.sizes.push_back(wide.sizes[d]);
  }
  LoweredValue out;
  for (const uint32_t d : form.perm) {
    if (!is_gone[d]) out.perm.push_back(new_axis[d]);
  }
  ETB_ASSIGN(out.id, context.builder().add_reshape(form.id, std::move(narrow)));
  return out;
}

// Multiplies the mean by the count, as payloads have no sum.
Result<uint32_t> add_count(LoweringContext& context, uint32_t self, const std::vector<uint32_t>& dims,
                           uint32_t mean) {
  uint64_t count = 1;
  for (const uint32_t dim : dims) {
    if (context.graph().extents(self).is_dynamic(dim)) return reject("dynamic", "dim: a dynamic dimension");
    count *= static_cast<uint64_t>(context.graph().sizes(self)[dim]);
  }
  if (!std::has_single_bit(count))
    return reject("attribute", "dim: sums of ", count,
                  " numbers would be rounded twice, expected a power of two");
  return add_multiple(context.builder(), mean, static_cast<double>(count));
}

Status lower_reduction(LoweringContext& context, Reduction reduction, const ReductionArguments& args) {
  ETB_TRY(check_only_first_result_is_read(context, "indices"));
  ETB_ASSIGN(const uint32_t self, args.self.id());
  if (context.graph().spec(self).dtype != context.graph().spec(context.result()).dtype)
    return reject("dtype", "result of another type");
  ETB_ASSIGN(const bool keeps, args.keepdim.value_or(false));
  ETB_ASSIGN(const std::vector<uint32_t> dims, reduced_dims(args.dim, context.graph().rank(self)));
  const etb_graph_spec spec = context.graph().spec(self);
  for (const uint32_t dim : dims)
    if ((spec.dynamic_dims >> dim & 1) != 0 && spec.min_sizes[dim] == 0)
      return reject("dynamic", "dim ", dim, ": may be empty, expected at least 1");
  ETB_ASSIGN(LoweredValue made, reduced(context, self, dims, reduction));
  if (reduction == Reduction::kSum) {
    ETB_ASSIGN(made.id, add_count(context, self, dims, made.id));
  }
  if (!keeps) {
    ETB_ASSIGN(made, without(context, made, dims));
  }
  context.define(context.result(), made);
  return {};
}

template <Reduction reduction>
Status lower(LoweringContext& context, ReductionArguments args) {
  return lower_reduction(context, reduction, args);
}

constexpr Op kRows[] = {
    op_row<ops::mean_dim, lower<Reduction::kMean>>(
        {.quantised = QuantKind::kComputes,
         .min_rank = 1,
         .constraint = "The dimensions are adjacent; none may be empty."}),
    op_row<ops::sum_dim_IntList, lower<Reduction::kSum>>(
        {.min_rank = 1,
         .constraint = "The dimensions are adjacent and are static; a power of two of numbers each."}),
    op_row<ops::amax_default, lower<Reduction::kMaximum>>(
        {.quantised = QuantKind::kMoves,
         .min_rank = 1,
         .constraint = "The dimensions are adjacent; they and those after them are static."}),
    op_row<ops::max_dim, lower<Reduction::kMaximum>>(
        {.quantised = QuantKind::kMoves,
         .min_rank = 1,
         .constraint = "The dimension and those after it are static; the indices are not read."}),
};

}  // namespace

extern const OpList reduce_ops = kRows;

}  // namespace etb::xnnpack
