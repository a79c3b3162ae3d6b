// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/passes.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "ops/addmm.hpp"
#include "ops/mm.hpp"
#include "ops/permute_copy.hpp"
#include "partitioner_sdk/passes/builder.hpp"

namespace etb::passes {

namespace {

using Permute = ops::permute_copy_default<infer::Call>;

// Returns the spec of the same elements after the op; nullopt when other bytes are needed.
std::optional<ir::Constant> view_constant(const ir::Constant& from, std::string_view op, const ir::Node& node,
                                          const TensorSpec& result) {
  ir::Constant out = from;
  if (op == "aten.permute_copy.default") {
    const auto* order = ir::get_if<Dims>(node.args[Permute::Index::dims]);
    if (order == nullptr || order->size() != from.sizes.size()) return std::nullopt;
    const auto rank = static_cast<int64_t>(order->size());
    for (size_t i = 0; i < order->size(); ++i) {
      const int64_t axis = (*order)[i].value() + ((*order)[i].value() < 0 ? rank : 0);
      out.sizes[i] = from.sizes[static_cast<size_t>(axis)];
      out.strides[i] = from.strides[static_cast<size_t>(axis)];
    }
    return out;
  }
  constexpr std::string_view kReshapes[] = {"aten.view_copy.default", "aten.unsqueeze_copy.default",
                                            "aten.squeeze_copy.dims", "aten.alias_copy.default"};
  if (std::find(std::begin(kReshapes), std::end(kReshapes), op) == std::end(kReshapes)) return std::nullopt;
  if (!from.is_contiguous()) return std::nullopt;
  out.sizes.clear();
  for (const Dim size : result.sizes) {
    if (!size.is_static()) return std::nullopt;
    out.sizes.push_back(size.value());
  }
  out.strides.assign(out.sizes.size(), 1);
  for (size_t i = out.sizes.size(); i-- > 1;) {
    out.strides[i - 1] = out.strides[i] * std::max<int64_t>(out.sizes[i], 1);
  }
  return out;
}

class Folder {
 public:
  Folder(ir::Module& module) : module_(module), graph_(module.main()), b_(module, module.main()) {}

  Result<bool> run() {
    nodes_ = b_.take_old_nodes();
    find_constants();
    count_uses();
    for (ir::Node& node : nodes_) {
      b_.set_origin(node);
      visit(node);
    }
    ETB_TRY(b_.finish());
    return is_changed_;
  }

 private:
  void find_constants() {
    std::set<std::string_view> written;
    for (const ir::Output& output : graph_.outputs) {
      if (output.kind == ir::OutputKind::kBufferMutation) written.insert(output.target);
    }
    constant_.assign(graph_.values.size(), ir::kNone);
    for (const ir::Input& input : graph_.inputs) {
      if (written.count(input.target) == 0) constant_[input.value] = input.constant;
    }
  }

  // Counts the users that read each constant in its stored order: a permuted copy of such a weight would be
  // stored beside it.
  void count_uses() {
    plain_uses_.assign(module_.constants.size(), 0);
    const auto use = [&](const Argument& argument) {
      ir::for_each_value(argument, [&](ValueId id) {
        if (constant_[id] != ir::kNone) ++plain_uses_[constant_[id]];
      });
    };
    for (const ir::Node& node : nodes_) {
      if (module_.op(node).name == "aten.permute_copy.default") continue;
      for (const Argument& argument : node.args) use(argument);
    }
    for (const ir::Output& output : graph_.outputs) use(output.value);
  }

  void visit(ir::Node& node) {
    b_.substitute(node);
    const std::string& op = module_.op(node).name;
    if (op == "aten.mm.default" || op == "aten.addmm.default") return keep_product(node);
    const auto* ref = node.args.empty() ? nullptr : ir::get_if<ValueRef>(node.args[0]);
    const uint32_t constant = ref != nullptr ? constant_of(ref->id) : ir::kNone;
    if (constant == ir::kNone || node.outputs.size() != 1) return b_.keep(std::move(node));
    const auto view =
        view_constant(module_.constants[constant], op, node, graph_.values[node.outputs[0]].spec);
    if (!view) return b_.keep(std::move(node));
    if (!view->is_contiguous() && constant < plain_uses_.size() && plain_uses_[constant] > 0) {
      if (op == "aten.permute_copy.default") permutes_.emplace(node.outputs[0], node);
      return b_.keep(std::move(node));
    }
    replace_by_constant(node, *view);
  }

  uint32_t constant_of(ValueId id) const { return id < constant_.size() ? constant_[id] : ir::kNone; }

  void replace_by_constant(const ir::Node& node, ir::Constant view) {
    is_changed_ = true;
    const auto number = static_cast<uint32_t>(module_.constants.size());
    view.name += "_view";
    ir::Input input;
    input.kind = ir::InputKind::kConstant;
    input.target = view.name + std::to_string(number);
    input.constant = number;
    ir::Value value = graph_.values[node.outputs[0]];
    value.spec.strides = ir::contiguous_strides(module_.symbols, value.spec.sizes);
    input.value = graph_.add_value(std::move(value));
    module_.constants.push_back(std::move(view));
    graph_.inputs.push_back(std::move(input));
    constant_.resize(graph_.values.size(), ir::kNone);
    constant_.back() = number;
    b_.replace(node.outputs[0], graph_.inputs.back().value);
  }

  // x W^T with a W that cannot be stored transposed: (W x^T)^T transposes the few rows of x instead of the
  // weight.
  void keep_product(ir::Node& node) {
    using Mm = ops::mm_default<infer::Call>::Index;
    using Addmm = ops::addmm_default<infer::Call>::Index;
    const bool has_bias = module_.op(node).name == "aten.addmm.default";
    const auto *x = ir::get_if<ValueRef>(node.args[has_bias ? Addmm::mat1 : Mm::self]),
               *y = ir::get_if<ValueRef>(node.args[has_bias ? Addmm::mat2 : Mm::mat2]);
    const auto permute = y == nullptr ? permutes_.end() : permutes_.find(y->id);
    if (x == nullptr || permute == permutes_.end() || !is_worth_turning(x->id, y->id) ||
        (has_bias &&
         !(node.args[Addmm::beta] == Argument(Dim(1)) && node.args[Addmm::alpha] == Argument(Dim(1))))) {
      return b_.keep(std::move(node));
    }
    is_changed_ = true;
    const Argument order = Dims{1, 0};
    const ValueId turned = b_.call("aten.permute_copy.default", {*x, order});
    const ValueId product =
        b_.call("aten.mm.default", {permute->second.args[Permute::Index::self], ValueRef{turned}});
    ValueId out = b_.call("aten.permute_copy.default", {ValueRef{product}, order});
    if (has_bias) out = b_.call("aten.add.Tensor", {ValueRef{out}, node.args[Addmm::self]});
    b_.replace(node.outputs[0], out);
  }

  // True when twice the product's size is less than the weight's.
  bool is_worth_turning(ValueId x, ValueId y) const {
    const auto rows = module_.symbols.range(graph_.values[x].spec.sizes[0]).max;
    const auto inner = module_.symbols.range(graph_.values[y].spec.sizes[0]).max;
    return rows < inner / 2;
  }

  ir::Module& module_;
  ir::Graph& graph_;
  PlainBuilder b_;
  std::vector<ir::Node> nodes_;
  std::vector<uint32_t> constant_;    // by value
  std::vector<uint32_t> plain_uses_;  // by constant
  std::map<ValueId, ir::Node> permutes_;
  bool is_changed_ = false;
};

}  // namespace

Result<bool> fold_constant_views(ir::Module& module) { return Folder(module).run(); }

}  // namespace etb::passes
