// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/op_target.hpp"

#include <algorithm>
#include <utility>

namespace etb::pt2 {

namespace {

// Maps functions of Python and sympy on symbolic numbers to ops of the program.
std::string_view prim_op(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kRows[] = {
      {"_operator.add", "executorch_prim.add.Scalar"},
      {"_operator.sub", "executorch_prim.sub.Scalar"},
      {"_operator.mul", "executorch_prim.mul.Scalar"},
      {"_operator.floordiv", "executorch_prim.floordiv.Scalar"},
      {"_operator.truediv", "executorch_prim.truediv.Scalar"},
      {"_operator.mod", "executorch_prim.mod.Scalar"},
      {"_operator.eq", "executorch_prim.eq.Scalar"},
      {"_operator.gt", "executorch_prim.gt.Scalar"},
      {"_operator.lt", "executorch_prim.lt.Scalar"},
      {"_operator.ge", "executorch_prim.ge.Scalar"},
      {"_operator.le", "executorch_prim.le.Scalar"},
      {"_operator.neg", "executorch_prim.neg.Scalar"},
      {"math.ceil", "executorch_prim.ceil.Scalar"},
      {"math.trunc", "executorch_prim.trunc.Scalar"},
      {"round", "executorch_prim.round.Scalar"},
      {"builtins.round", "executorch_prim.round.Scalar"},
      {"torch.sym_max", "executorch_prim.sym_max.Scalar"},
      {"torch.sym_min", "executorch_prim.sym_min.Scalar"},
      {"torch.sym_float", "executorch_prim.sym_float.Scalar"},
      {"torch.sym_int", "executorch_prim.sym_int.Scalar"},
      {"torch.sym_not", "executorch_prim.sym_not.Scalar"},
      {"torch.sym_ite", "executorch_prim.sym_ite.Scalar"},
  };
  for (const auto& [python, name] : kRows) {
    if (text == python) return name;
  }
  return {};
}

}  // namespace

OpTarget read_target(const ir::Module& module, std::string_view text) {
  constexpr std::string_view kSkipped[] = {"torch.ops.aten._assert_async.default",
                                           "torch.ops.aten._assert_async.msg",
                                           "torch.ops.aten.promote_types.default",
                                           "torch._functorch.predispatch.lazy_load_decompositions",
                                           "torch._functorch.predispatch._vmap_increment_nesting",
                                           "torch._functorch.predispatch._vmap_decrement_nesting"};
  if (std::find(std::begin(kSkipped), std::end(kSkipped), text) != std::end(kSkipped))
    return {.name = {}, .is_skipped = true};
  if (text == "torch._functorch.predispatch._add_batch_dim") return {"higher_order.add_batch_dim.default"};
  if (text == "torch._functorch.predispatch._remove_batch_dim")
    return {"higher_order.remove_batch_dim.default"};
  if (const std::string_view prim = prim_op(text); !prim.empty()) return {std::string(prim)};
  constexpr std::string_view kOps = "torch.ops.", kHigherOrder = "higher_order.";
  if (text.substr(0, kOps.size()) != kOps) return {};
  text.remove_prefix(kOps.size());
  if (text.substr(0, kHigherOrder.size()) == kHigherOrder) {
    const std::string_view name = text.substr(kHigherOrder.size());
    if (name == "with_effects") return {std::string(name), true};
    if (name == "wrap_with_set_grad_enabled" || name == "wrap_with_autocast")
      return {std::string(name), true};
    for (const std::string_view known : {"cond", "map_impl", "while_loop", "scan"}) {
      if (name == known) return {"higher_order." + std::string(name) + ".default"};
    }
    return {};
  }
  return {module.find_schema(text) == nullptr ? std::string() : std::string(text)};
}

int argument_position(const ops::Schema& schema, std::string_view name) {
  const int position = schema.find_argument(name);
  const bool is_operand = name == "x" || name == "number";
  return position < 0 && is_operand && schema.op_namespace() == "executorch_prim" ? 0 : position;
}

const char* advice_for(std::string_view target) {
  if (target == "torch.ops.export.access_subclass_inner_tensor.default") {
    return ": a weight is a Python object, which only Python can read; call "
           "torchao.utils.unwrap_tensor_subclass on the "
           "module before exporting it";
  }
  return target.substr(0, 10) == "torch.ops." ? "; declare it if it is a custom op" : "";
}

}  // namespace etb::pt2
