// SPDX-License-Identifier: Apache-2.0
// Elementwise ops.
#include "ops/where.hpp"
#include "partitioner_sdk/infer/infer.hpp"

namespace etb::infer {

namespace {

using ir::TensorSpec;

Specs elementwise(const Call& call) {
  TensorSpec out;
  const ops::ArgumentSet operands = call.op().schema->result_rule()->broadcast;
  for (size_t i = 0; i < call.arguments().size() && i < ops::ArgumentSet::kCount; ++i) {
    if (!operands.has(i)) continue;
    if (const TensorSpec* tensor = call.argument(i).find_tensor())
      out.sizes = broadcast(call, out.sizes, tensor->sizes);
  }
  return {out};
}

Specs where(const ops::where_self<Call>& call) {
  TensorSpec out;
  for (const AnyArgument operand : {AnyArgument(call.self()), AnyArgument(call.other())}) {
    if (const TensorSpec* tensor = operand.find_tensor())
      out.sizes = broadcast(call, out.sizes, tensor->sizes);
  }
  out.sizes = broadcast(call, out.sizes, call.condition().spec().sizes);
  return {out};
}

constexpr Rule kRows[] = {
    row<ops::where_self, where>(ResultLayout::kPointwise),
};

}  // namespace

const Rule kElementwiseRule = {"", elementwise, ResultLayout::kPointwise};

std::span<const Rule> pointwise_rules() { return kRows; }

}  // namespace etb::infer
