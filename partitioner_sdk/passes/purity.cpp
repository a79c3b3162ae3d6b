// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/purity.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace etb::passes {

bool is_pure(const ir::Module& module, const ir::Graph& graph, const ir::Node& node) {
  const ops::Schema* schema = module.op(node).schema;
  // Custom ops are not assumed to be deterministic.
  if (schema == nullptr || schema->is_own() || schema->is_in_place() || node.outputs.empty()) return false;
  constexpr std::string_view kImpure[] = {
      "bernoulli", "empty", "_empty_dim_order", "empty_strided", "multinomial", "native_dropout", "nonzero",
      "normal",    "rand",  "randint",          "randn",         "randperm",    "masked_select"};
  if (std::find(std::begin(kImpure), std::end(kImpure), schema->base_name()) != std::end(kImpure))
    return false;
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](ir::ValueId id) { return graph.values[id].kind == ir::ValueKind::kTensor; });
}

}  // namespace etb::passes
