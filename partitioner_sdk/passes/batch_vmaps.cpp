// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "partitioner_sdk/passes/builder.hpp"
#include "partitioner_sdk/passes/passes.hpp"

namespace etb::passes {

namespace {

constexpr std::string_view kEnter = "higher_order.add_batch_dim.default",
                           kLeave = "higher_order.remove_batch_dim.default";
constexpr const char* kHint = "\nhint: save exported_program.run_decompositions({})";

// Moves a dimension to another place.
ValueId move_dim(Builder& b, ValueId value, size_t from, size_t to) {
  if (from == to) return value;
  Dims order;
  for (size_t i = 0; i < b.spec(value).rank(); ++i) order.emplace_back(static_cast<int64_t>(i));
  const Dim moved = order[from];
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(from));
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), moved);
  return b.call("aten.permute.default", {ValueRef{value}, std::move(order)});
}

// The graph of one function. Inside of a vmap, values lack the batch's dimension; here each gets it in front.
class VmapBatcher {
 public:
  VmapBatcher(ir::Module& module, ir::Graph& graph) : module_(module), graph_(graph), b_(module, graph) {}

  Result<bool> run() {
    for (ir::Node& node : b_.take_old_nodes()) {
      b_.set_origin(node);
      visit(node);
    }
    ETB_TRY(b_.finish());
    return true;
  }

 private:
  void visit(ir::Node& node) {
    const std::string& name = module_.op(node).name;
    const bool is_batched = std::ranges::any_of(node.args, [&](const Argument& argument) {
      bool found = false;
      ir::for_each_value(argument, [&](ValueId id) { found |= batched_.count(id) != 0; });
      return found;
    });
    if (name == kEnter || name == kLeave) return cross_border(node, name == kEnter, is_batched);
    b_.substitute(node);
    if (!is_batched) return b_.keep(std::move(node));
    const ops::Schema* schema = module_.op(node).schema;
    const ops::ResultRule* rule = schema == nullptr ? nullptr : schema->result_rule();
    if (rule == nullptr || rule->broadcast.is_empty() || node.outputs.size() != 1)
      return fail(name + " inside of vmap, expected an elementwise op");
    size_t rank = 0;
    for (const Argument& argument : node.args) rank = std::max(rank, inner_rank(argument));
    std::vector<Argument> args;
    for (const Argument& argument : node.args) args.push_back(aligned(argument, rank));
    batched_[node.outputs[0]] = b_.call(name, std::move(args));
  }

  // add_batch_dim(value, dimension, level) and remove_batch_dim(value, level, size, dimension).
  void cross_border(const ir::Node& node, bool is_entry, bool is_batched) {
    const auto* value = node.args.empty() ? nullptr : ir::get_if<ValueRef>(node.args[0]);
    const size_t place = is_entry ? 1 : 3;
    const Dim* dim = node.args.size() > place ? ir::get_if<Dim>(node.args[place]) : nullptr;
    if (value == nullptr || dim == nullptr || !dim->is_static() || node.outputs.size() != 1)
      return fail("a border of vmap with unknown arguments");
    if (is_entry == is_batched)
      return fail(is_entry ? "a vmap inside of a vmap" : "a result of vmap without its dimension");
    const ValueId from = is_entry ? b_.current(value->id) : batched_.at(value->id);
    const auto rank = static_cast<int64_t>(b_.spec(from).rank());
    const int64_t axis = dim->value() < 0 ? dim->value() + rank : dim->value();
    if (axis < 0 || axis >= rank) return fail("a vmap over a dimension that its operand lacks");
    const ValueId moved = is_entry ? move_dim(b_, from, static_cast<size_t>(axis), 0)
                                   : move_dim(b_, from, 0, static_cast<size_t>(axis));
    if (is_entry) {
      batched_[node.outputs[0]] = moved;
    } else {
      b_.replace(node.outputs[0], moved);
    }
  }

  // Rank of an operand without the batch's dimension; 0 for numbers.
  size_t inner_rank(const Argument& argument) const {
    const auto* ref = ir::get_if<ValueRef>(argument);
    return ref == nullptr ? 0 : graph_.values[ref->id].spec.rank();
  }

  // Inserts dimensions behind the batch's, so that broadcasting aligns the other ones.
  Argument aligned(const Argument& argument, size_t rank) {
    const auto* ref = ir::get_if<ValueRef>(argument);
    const auto found = ref == nullptr ? batched_.end() : batched_.find(ref->id);
    if (found == batched_.end()) return argument;
    ValueId value = found->second;
    for (size_t i = inner_rank(argument); i < rank; ++i)
      value = b_.call("aten.unsqueeze.default", {ValueRef{value}, Dim(1)});
    return ValueRef{value};
  }

  void fail(const std::string& why) { b_.fail(Code::NOT_SUPPORTED, why + kHint); }

  ir::Module& module_;
  ir::Graph& graph_;
  PlainBuilder b_;
  std::map<ValueId, ValueId> batched_;  // values of the old graph inside of a vmap, with the batch in front
};

}  // namespace

Result<bool> batch_vmaps(ir::Module& module) {
  const auto enter = module.find_op(kEnter);
  if (!enter) return false;
  return run_on_graphs(module, [&](ir::Graph& graph) -> Result<bool> {
    const bool has_vmap =
        std::ranges::any_of(graph.nodes, [&](const ir::Node& node) { return node.op == *enter; });
    if (!has_vmap) return false;
    return VmapBatcher(module, graph).run();
  });
}

}  // namespace etb::passes
