// SPDX-License-Identifier: Apache-2.0
// The plugin's claims.
#include "tests/conformance/fault_plugin/claims.hpp"

#include <cmath>
#include <cstdlib>

#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

constexpr NamedOp kNamedOps[] = {{"aten.add.Tensor", Op::kAdd},
                                 {"aten.mul.Tensor", Op::kMul},
                                 {"aten.relu.default", Op::kRelu},
                                 {"aten.ceil.default", Op::kCeil},
                                 {"aten.neg.default", Op::kNeg},
                                 {"aten.maximum.default", Op::kMaximum},
                                 {"aten.clamp.default", Op::kClamp},
                                 {"aten.mm.default", Op::kMatrix},
                                 {"aten.convolution.default", Op::kConvolution},
                                 {"quantized_decomposed.quantize_per_tensor.default", Op::kQuantize},
                                 {"aten.sum.dim_IntList", Op::kSum}};

bool has_same_order(const etb_graph_spec& a, const etb_graph_spec& b) {
  return a.rank == b.rank && std::memcmp(a.dim_order, b.dim_order, a.rank) == 0;
}

etb::Claim claim_binary(const etb::Node& node, const std::vector<etb::Value>& operands,
                        const etb_graph_spec& result) {
  if (has_fault(492) && operands.size() == 1) return etb::Claim::yes();
  if (operands.size() != 2 || operands[0].spec().dtype != operands[1].spec().dtype ||
      result.dtype != operands[0].spec().dtype)
    return etb::Claim::no("dtype", "operands of two types");
  const double alpha = number_of(node, "alpha", 1);
  if ((has_fault(457) ? std::trunc(alpha) : alpha) != 1)
    return etb::Claim::no(has_fault(588) ? "dtype" : "attribute", "alpha, expected 1");
  return etb::Claim::yes();
}

etb::Claim claim_sum(const etb::Node& node, const etb_graph_spec& spec) {
  const auto dims = node.find_arg("dim");
  const bool is_last = dims && dims->ints().size() == 1 && spec.rank > 0 &&
                       (dims->ints()[0] == -1 || dims->ints()[0] == static_cast<int64_t>(spec.rank) - 1);
  return is_last ? etb::Claim::yes() : etb::Claim::no("attribute", "dim, expected the last one");
}

}  // namespace

const NamedOp* find_op(std::string_view name) {
  for (const NamedOp& named : kNamedOps)
    if (name == named.name) return &named;
  return nullptr;
}

double number_of(const etb::Node& node, const char* name, double otherwise) {
  const auto arg = node.find_arg(name);
  if (!arg) return otherwise;
  if (const auto real = arg->as_float()) return *real;
  if (const auto whole = arg->as_int()) return static_cast<double>(*whole);
  return otherwise;
}

etb::Claim Plugin::claim(const etb::Node& node) const {
  if (has_fault(80) && instance % 2 != 0 && node.op_name() == "aten.add.Tensor")
    return etb::Claim::no("op", "this instance does not add");
  if (has_fault(202) && run_total > 200 && node.op_name() == "aten.relu.default")
    return etb::Claim::no("op", "tired of relu");
  if (has_fault(203) && std::getenv("LANG") != nullptr && std::strncmp(std::getenv("LANG"), "tr", 2) == 0 &&
      node.op_name() == "aten.relu.default")
    return etb::Claim::no("op", "not in this language");
  if (has_fault(292) && node.op_name() == "aten.maximum.default") return etb::Claim::no("op", "not today");
  if (has_fault(52)) return etb::Claim::no("op", "nothing is taken");
  if (has_fault(35) && node.op_name() == "aten.mul.Tensor" && ++partition_count % 2 == 0)
    return etb::Claim::no("op", "not this time");
  if (has_fault(46) && node.op_name() == "aten.mul.Tensor" && !is_compiling)
    return etb::Claim::no("op", "products");
  if (has_fault(597) && node.op_name() == "aten.add.Tensor" &&
      node.operands()[0].spec().dtype == ETB_DTYPE_INT8)
    return etb::Claim::no("dtype", "int8, expected float32");
  if (has_fault(587) && node.op_name() == "aten.add.Tensor" && node.operands()[0].spec().rank > 4)
    return etb::Claim::no("rank", "more than 4 dimensions");
  if (has_fault(561) && node.op_name() == "aten.neg.default" && node.operands()[0].spec().rank > 7)
    return etb::Claim::no("rank", "more than 7 dimensions");
  for (const etb::Value& value : node.operands())
    if (value.is_constant_or_state() && value.spec().dynamic_dims != 0)
      return etb::Claim::no("dynamic", "a constant of dynamic sizes");
  const NamedOp* const named = find_op(node.op_name());
  const auto operands = node.operands();
  const etb_graph_spec result = node.results()[0].spec(), first = operands[0].spec();
  switch (named->op) {
    case Op::kAdd:
    case Op::kMul:
    case Op::kMaximum:
      return claim_binary(node, operands, result);
    case Op::kMatrix:
      return operands[1].spec().dtype == first.dtype ? etb::Claim::yes()
                                                     : etb::Claim::no("dtype", "operands of two types");
    case Op::kConvolution: {
      const auto transposed = node.find_arg("transposed");
      if (first.rank != 4 || (transposed && transposed->as_bool() == true))
        return etb::Claim::no("attribute", "only two dimensions, not transposed");
      if (has_fault(583) && !operands[1].is_constant_or_state())
        return etb::Claim::no("attribute", "a weight that is computed, expected a constant");
      for (const etb::Value& operand : operands)
        if (operand.spec().dtype != ETB_DTYPE_FLOAT32) return etb::Claim::no("dtype", "expected float32");
      return etb::Claim::yes();
    }
    case Op::kQuantize:
      return result.dtype == ETB_DTYPE_INT8 || result.dtype == ETB_DTYPE_UINT8
                 ? etb::Claim::yes()
                 : etb::Claim::no("dtype", "codes of 8 bits only");
    case Op::kSum:
      if (has_fault(621) && first.dtype == ETB_DTYPE_INT8) return etb::Claim::no("dtype", "int8");
      return claim_sum(node, first);
    default:
      return has_same_order(first, result) ? etb::Claim::yes()
                                           : etb::Claim::no("layout", "another dim order comes out");
  }
}

}  // namespace faulty
