// Losses that pick classes; the others are formulas. As PyTorch's, term by term.
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

ValueId reduced(Builder& b, ValueId loss, int64_t reduction) {
  const size_t rank = b.spec(loss).rank();
  if (reduction == 0 || rank == 0) return loss;
  Dims all;
  for (size_t i = 0; i < rank; ++i) all.emplace_back(static_cast<int64_t>(i));
  return b.call(reduction == 1 ? "aten.mean.dim" : "aten.sum.dim_IntList", {ValueRef{loss}, std::move(all)});
}

namespace {

ValueId zero_where_not(Builder& b, ValueId condition, ValueId value) {
  return b.call("aten.where.ScalarOther", {ValueRef{condition}, ValueRef{value}, Dim(0)});
}
ValueId total(Builder& b, ValueId value) { return b.call("aten.sum.default", {ValueRef{value}}); }

// self (log-probabilities, [C] or [N, C, ...]), target, weight, reduction, ignore_index
Values nll_loss(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  const Dim channels = in.rank() < 2 ? 0 : 1;
  const int64_t reduction = a.integer(3);
  const Argument ignored = a.argument(4);
  ValueId scores = a.value(0);
  if (a.has(2)) {
    Dims sizes(in.rank(), Dim(1));
    sizes[in.rank() < 2 ? 0 : 1] = a.tensor(2).sizes.at(0);
    const ValueId weight = b.call("aten.view.default", {a.ref(2), std::move(sizes)});
    scores = b.call("aten.mul.Tensor", {ValueRef{scores}, ValueRef{weight}});
  }
  const ValueId counts = b.call("aten.ne.Scalar", {a.ref(1), ignored});
  const ValueId safe = zero_where_not(b, counts, a.value(1));
  const ValueId index = b.call("aten.unsqueeze.default", {ValueRef{safe}, channels});
  const ValueId picked = b.call("aten.gather.default", {ValueRef{scores}, channels, ValueRef{index}});
  const ValueId line = b.call("aten.squeeze.dim", {ValueRef{picked}, channels});
  const ValueId loss = zero_where_not(b, counts, b.call("aten.neg.default", {ValueRef{line}}));
  if (reduction != 1) return {reduced(b, loss, reduction)};
  ValueId divisor = 0;
  if (a.has(2)) {
    const ValueId flat = reshape(b, safe, {Dim(-1)});
    const ValueId weights = b.call("aten.index_select.default", {a.ref(2), Dim(0), ValueRef{flat}});
    divisor = total(b, zero_where_not(b, reshape(b, counts, {Dim(-1)}), weights));
  } else {
    divisor = to_dtype(b, total(b, counts), in.dtype);
  }
  return {b.call("aten.div.Tensor", {ValueRef{total(b, loss)}, ValueRef{divisor}})};
}

// self, target, weight, reduction, ignore_index, label_smoothing
Values cross_entropy_loss(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  const Dim channels = in.rank() < 2 ? 0 : 1;
  const bool has_probabilities = ops::is_floating(a.tensor(1).dtype);
  if (a.number(5) != 0 || (has_probabilities && a.has(2))) {
    a.fail("smoothed labels, or weights of classes beside probabilities");
    return {};
  }
  const ValueId scores = b.call("aten.log_softmax.int", {a.ref(0), channels, Nothing{}});
  if (!has_probabilities) {
    return {b.call("aten.nll_loss_nd.default",
                   {ValueRef{scores}, a.argument(1), a.argument(2), a.argument(3), a.argument(4)})};
  }
  const ValueId products = b.call("aten.mul.Tensor", {ValueRef{scores}, a.ref(1)});
  const ValueId negative = b.call("aten.neg.default", {ValueRef{products}});
  if (a.integer(3) != 1) {
    if (a.integer(3) == 2) return {total(b, negative)};
    return {b.call("aten.sum.dim_IntList", {ValueRef{negative}, Dims{channels}})};
  }
  // The mean is over all but the classes.
  const Dim rows = b.symbols().floor_div(ir::numel(b.symbols(), in.sizes), in.sizes[channels.is(0) ? 0 : 1]);
  return {b.call("aten.div.Tensor", {ValueRef{total(b, negative)}, rows})};
}

}  // namespace

std::span<const Decomposition> loss_decompositions() {
  static constexpr Decomposition kRows[] = {
      {"aten.cross_entropy_loss.default", cross_entropy_loss},
      {"aten.nll_loss.default", nll_loss},
      {"aten.nll_loss2d.default", nll_loss},
      {"aten.nll_loss_nd.default", nll_loss},
  };
  return kRows;
}

}  // namespace etb::passes
