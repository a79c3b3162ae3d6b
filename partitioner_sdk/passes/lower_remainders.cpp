// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/passes.hpp"

#include <cstring>

#include "ops/remainder.hpp"
#include "partitioner_sdk/passes/builder.hpp"

namespace etb::passes {

namespace {

using Index = ops::remainder_Tensor<infer::Call>::Index;  // also of remainder.Scalar

bool is_signed_integer(Dtype dtype) {
  return dtype == Dtype::INT8 || dtype == Dtype::INT16 || dtype == Dtype::INT32 || dtype == Dtype::INT64;
}

// In the result's dtype: a number of another dtype would take part in promotion.
ValueId divisor(Builder& b, const Argument& number, Dtype dtype) {
  const Dim dim = *ir::get_if<Dim>(number);
  if (!dim.is_static()) return b.call("aten.scalar_tensor.default", {dim}, {{"dtype", dtype}});
  std::vector<std::byte> bytes(ops::element_nbytes(dtype));
  const int64_t value = dim.value();
  std::memcpy(bytes.data(), &value, bytes.size());  // the low bytes, little-endian
  return b.add_constant(dtype, {}, std::move(bytes));
}

Result<bool> lower(ir::Module& module, ir::Graph& graph) {
  const auto by_tensor = module.find_op("aten.remainder.Tensor"),
             by_number = module.find_op("aten.remainder.Scalar");
  if (!by_tensor && !by_number) return false;
  PlainBuilder b(module, graph);
  bool is_changed = false;
  for (ir::Node& node : b.take_old_nodes()) {
    b.substitute(node);
    b.set_origin(node);
    const bool is_remainder = node.op == by_tensor || node.op == by_number;
    const Dtype dtype = is_remainder ? b.spec(node.outputs[0]).dtype : Dtype::FLOAT32;
    const bool has_divisor =
        is_remainder && (node.op == by_tensor || ir::get_if<Dim>(node.args[Index::other]) != nullptr);
    if (!has_divisor || !is_signed_integer(dtype)) {
      b.keep(std::move(node));
      continue;
    }
    const Argument self = node.args[Index::self], other = node.args[Index::other];
    const Argument by = node.op == by_tensor ? other : Argument(ValueRef{divisor(b, other, dtype)});
    const ValueId quotient =
        b.call("aten.div.Tensor_mode", {self, by}, {{"rounding_mode", std::string("floor")}});
    const ValueId whole = b.call("aten.mul.Tensor", {ValueRef{quotient}, by});
    b.replace(node.outputs[0], b.call("aten.sub.Tensor", {self, ValueRef{whole}}));
    is_changed = true;
  }
  ETB_TRY(b.finish());
  return is_changed;
}

}  // namespace

Result<bool> lower_remainders(ir::Module& module) {
  return run_on_graphs(module, [&](ir::Graph& graph) { return lower(module, graph); });
}

}  // namespace etb::passes
