// Tensors out of nothing, and triangles.
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

Values filled(Builder& b, Argument sizes, Argument value, std::optional<Dtype> dtype) {
  return {b.call("aten.full.default", {std::move(sizes), std::move(value)},
                 {{"dtype", dtype.value_or(Dtype::FLOAT32)},
                  {"layout", ir::Layout::kStrided},
                  {"device", ir::Device{"cpu"}},
                  {"pin_memory", false}})};
}
Values zeros(Builder& b, const Arguments& a) { return filled(b, a.argument(0), Dim(0), a.dtype(1)); }
Values ones(Builder& b, const Arguments& a) { return filled(b, a.argument(0), Dim(1), a.dtype(1)); }
// self, size, dtype, ...
Values new_zeros(Builder& b, const Arguments& a) {
  return filled(b, a.argument(1), Dim(0), a.dtype(2).value_or(a.tensor(0).dtype));
}
Values new_ones(Builder& b, const Arguments& a) {
  return filled(b, a.argument(1), Dim(1), a.dtype(2).value_or(a.tensor(0).dtype));
}
// self, size, fill_value, dtype, ...
Values new_full(Builder& b, const Arguments& a) {
  return filled(b, a.argument(1), a.argument(2), a.dtype(3).value_or(a.tensor(0).dtype));
}

// self, dtype, ...
Values like(Builder& b, const Arguments& a, Argument value, size_t dtype_index) {
  const auto dtype = a.dtype(dtype_index);
  std::vector<Builder::Named> named = {{"pin_memory", false}, {"memory_format", ir::MemoryFormat::kPreserve}};
  if (dtype) named.push_back({"dtype", *dtype});
  return {b.call("aten.full_like.default", {a.argument(0), std::move(value)}, std::move(named))};
}
Values zeros_like(Builder& b, const Arguments& a) { return like(b, a, Dim(0), 1); }
Values ones_like(Builder& b, const Arguments& a) { return like(b, a, Dim(1), 1); }
Values fill(Builder& b, const Arguments& a) { return like(b, a, a.argument(1), 9); }
Values zero(Builder& b, const Arguments& a) { return like(b, a, Dim(0), 9); }

Values arange_from(Builder& b, const Arguments& a, Argument start, Argument end, size_t dtype_index) {
  std::vector<Builder::Named> named = {
      {"layout", ir::Layout::kStrided}, {"device", ir::Device{"cpu"}}, {"pin_memory", false}};
  if (const auto dtype = a.dtype(dtype_index)) named.push_back({"dtype", *dtype});
  if (ir::get_if<double>(start) != nullptr || ir::get_if<double>(end) != nullptr) {
    a.fail("arange of floats");
    return {};
  }
  return {b.call("aten.arange.start_step", {std::move(start), std::move(end)}, std::move(named))};
}
Values arange(Builder& b, const Arguments& a) { return arange_from(b, a, Dim(0), a.argument(0), 1); }
Values arange_start(Builder& b, const Arguments& a) {
  return arange_from(b, a, a.argument(0), a.argument(1), 2);
}

// column - row, compared with the diagonal; what is outside becomes 0.
Values triangle(Builder& b, const Arguments& a, std::string_view comparison) {
  const TensorSpec in = a.tensor(0);
  if (in.rank() < 2) return {};
  const auto line = [&](Dim size, int64_t axis) {
    const ValueId numbers =
        b.call("aten.arange.start_step", {Dim(0), size},
               {{"layout", ir::Layout::kStrided}, {"device", ir::Device{"cpu"}}, {"pin_memory", false}});
    return b.call("aten.unsqueeze.default", {ValueRef{numbers}, Dim(axis)});
  };
  const ValueId columns = line(in.sizes[in.rank() - 1], -2);
  const ValueId rows = line(in.sizes[in.rank() - 2], -1);
  const ValueId distance = b.call("aten.sub.Tensor", {ValueRef{columns}, ValueRef{rows}});
  const ValueId is_kept = b.call(comparison, {ValueRef{distance}, a.argument(1)});
  const ValueId zero_value =
      b.call("aten.scalar_tensor.default", {Dim(0)},
             {{"dtype", in.dtype}, {"layout", ir::Layout::kStrided}, {"device", ir::Device{"cpu"}}});
  return {b.call("aten.where.self", {ValueRef{is_kept}, a.ref(0), ValueRef{zero_value}})};
}
Values tril(Builder& b, const Arguments& a) { return triangle(b, a, "aten.le.Scalar"); }
Values triu(Builder& b, const Arguments& a) { return triangle(b, a, "aten.ge.Scalar"); }

}  // namespace

std::span<const Decomposition> creation_decompositions() {
  static constexpr Decomposition kRows[] = {
      {"aten.arange.default", arange},
      {"aten.arange.start", arange_start},
      {"aten.fill.Scalar", fill},
      {"aten.new_full.default", new_full},
      {"aten.new_ones.default", new_ones},
      {"aten.new_zeros.default", new_zeros},
      {"aten.ones.default", ones},
      {"aten.ones_like.default", ones_like},
      {"aten.tril.default", tril},
      {"aten.triu.default", triu},
      {"aten.zero.default", zero},
      {"aten.zeros.default", zeros},
      {"aten.zeros_like.default", zeros_like},
  };
  return kRows;
}

}  // namespace etb::passes
