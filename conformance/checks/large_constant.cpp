// SPDX-License-Identifier: Apache-2.0
#include "conformance/checks/large_constant.hpp"

#include "conformance/checks/plain_convolution.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

struct Shapes {
  std::vector<int64_t> input, constant;
};

Shapes shapes_of(ConstantUse use, int64_t rows) {
  switch (use) {
    case ConstantUse::kBatchProduct:
      return {{1, 1, rows}, {1, rows, rows}};
    case ConstantUse::kFilter:
      return {{1, rows, 1, 1}, {rows, rows, 1, 1}};
    case ConstantUse::kSum:
      return {{rows, rows}, {rows, rows}};
    default:
      return {{1, rows}, {rows, rows}};
  }
}

uint32_t add_node(CaseBuilder& builder, ConstantUse use, uint32_t x, uint32_t w, const Shape& result) {
  switch (use) {
    case ConstantUse::kLinear:
      return builder.node("aten.linear.default", {value_arg(x, "input"), value_arg(w, "weight")}, result);
    case ConstantUse::kProduct:
      return builder.node("aten.mm.default", {value_arg(x, "self"), value_arg(w, "mat2")}, result);
    case ConstantUse::kBatchProduct:
      return builder.node("aten.bmm.default", {value_arg(x, "self"), value_arg(w, "mat2")}, result);
    case ConstantUse::kFilter:
      return add_plain_convolution(builder, x, w, 0, result);
    default:
      return builder.node("aten.add.Tensor", {value_arg(x, "self"), value_arg(w, "other")}, result);
  }
}

Result<BuiltCase> make(ConstantUse op, const Shapes& sizes, std::string_view name) {
  CaseBuilder builder(name);
  const Shape input{ETB_DTYPE_FLOAT32, sizes.input, {}}, constant{ETB_DTYPE_FLOAT32, sizes.constant, {}};
  const TensorData weight = make_values(constant, Values::kExact, {}, 1, builder.random());
  const uint32_t x = builder.input(input, Values::kExact);
  builder.output(add_node(builder, op, x, builder.constant(weight), input));
  return builder.finish({});
}

}  // namespace

Result<BuiltCase> with_constant(ConstantUse use, int64_t rows, std::string_view name) {
  return make(use, shapes_of(use, rows), name);
}

Result<BuiltCase> with_same_constant_added(ConstantUse use, int64_t rows, std::string_view name) {
  const std::vector<int64_t> sizes = shapes_of(use, rows).constant;
  return make(ConstantUse::kSum, {sizes, sizes}, name);
}

}  // namespace etb::conformance
