// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/training_mode.hpp"

#include <map>

namespace etb::pt2 {

namespace {

// The argument's value; nothing if the op has none of this name.
template <class T>
const T* find_literal(const ir::Module& module, const ir::Node& node, std::string_view name) {
  const ops::Schema* schema = module.op(node).schema;
  const int at = schema == nullptr ? -1 : schema->find_argument(name);
  return at < 0 ? nullptr : ir::get_if<T>(node.args[static_cast<size_t>(at)]);
}

bool is_true(const bool* flag) { return flag != nullptr && *flag; }

bool is_of_training(const ir::Module& module, const ir::Node& node) {
  const ops::Schema* schema = module.op(node).schema;
  if (schema == nullptr) return false;
  const std::string_view base = schema->base_name();
  if (base.ends_with("dropout")) {
    const double* p = find_literal<double>(module, node, "p");
    return is_true(find_literal<bool>(module, node, "train")) && (p == nullptr || *p != 0);
  }
  if (base == "scaled_dot_product_attention") {
    const double* p = find_literal<double>(module, node, "dropout_p");
    return p != nullptr && *p != 0;
  }
  if (base == "_batch_norm_with_update_functional") return true;
  if (base == "rrelu" || base.find("batch_norm") != std::string_view::npos)
    return is_true(find_literal<bool>(module, node, "training"));
  return false;
}

}  // namespace

std::string describe_training_mode(const ir::Module& module) {
  if (module.training) return {};
  std::map<std::string, int> counts;
  for (const ir::Graph& graph : module.graphs)
    for (const ir::Node& node : graph.nodes)
      if (is_of_training(module, node)) ++counts[module.op(node).name];
  if (counts.empty()) return {};
  std::string text;
  for (const auto& [op, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " x " + op;
  return "the model was exported in training mode (" + text +
         "): its results are random or depend on the batch; call model.eval() before torch.export for "
         "inference";
}

}  // namespace etb::pt2
