// SPDX-License-Identifier: Apache-2.0
// Softmax over one dimension, which XNNPACK expects last.
#include "ops/softmax.hpp"
#include "ops/_softmax.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// aten._softmax and aten.softmax.
struct SoftmaxArguments {
  template <class View>
  explicit SoftmaxArguments(const View& args) : self(args.self()), dim(args.dim()) {
    if constexpr (requires { args.half_to_float(); }) half_to_float = args.half_to_float();
  }

  NodeArguments::Tensor self;
  NodeArguments::Number dim;
  std::optional<NodeArguments::Flag> half_to_float = {};
};

Status lower_softmax(LoweringContext& context, SoftmaxArguments args) {
  ETB_ASSIGN(const uint32_t self, args.self.id());
  bool half_to_float = false;
  if (args.half_to_float) {
    ETB_ASSIGN(half_to_float, args.half_to_float->value_or(false));
  }
  if (half_to_float || context.graph().spec(self).dtype != context.graph().spec(context.result()).dtype)
    return reject("dtype", "result of another type than the input");
  const size_t rank = context.graph().rank(self);
  ETB_ASSIGN(const uint32_t dim, args.dim.dim_or(-1, rank));
  ETB_ASSIGN(LoweredValue input, context.lowered(self));
  if (input.perm[dim] != rank - 1) {
    Permutation order = identity(rank);
    for (size_t i = dim + 1; i < rank; ++i) --order[i];
    order[dim] = static_cast<uint32_t>(rank - 1);
    ETB_ASSIGN(const uint32_t moved, context.arranged(self, order));
    input = {moved, order};
  }
  ETB_ASSIGN(const uint32_t out, context.add_result(0, input.perm));
  context.builder().add_node(XnnOperator::kSoftmax, {input.id}, {out});
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::_softmax_default, lower_softmax>({.min_rank = 1}),
    op_row<ops::softmax_int, lower_softmax>({.min_rank = 1}),
};

}  // namespace

extern const OpList softmax_ops = kRows;

}  // namespace etb::xnnpack
