// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/passes.hpp"

#include <algorithm>

#include "ops/_native_batch_norm_legit_no_training.hpp"
#include "ops/convolution.hpp"
#include "partitioner_sdk/passes/builder.hpp"

namespace etb::passes {

namespace {

using infer::Call;
using Convolution = ops::convolution_default<Call>;
using Norm = ops::_native_batch_norm_legit_no_training_default<Call>;

class Folder {
 public:
  Folder(ir::Module& module, ir::Graph& graph) : module_(module), graph_(graph), b_(module, graph) {}

  Result<bool> run() {
    nodes_ = b_.take_old_nodes();
    find_constants();
    count_uses();
    for (ir::Node& node : nodes_) {
      b_.set_origin(node);
      b_.substitute(node);
      const std::string& op = module_.op(node).name;
      if (op == "aten._native_batch_norm_legit_no_training.default" && fold(node)) {
        is_changed_ = true;
        continue;
      }
      if (op == "aten.convolution.default") convolutions_.emplace(node.outputs[0], node);
      b_.keep(std::move(node));
    }
    ETB_TRY(b_.finish());
    return is_changed_;
  }

 private:
  void find_constants() {
    is_constant_.assign(graph_.values.size(), false);
    for (const ir::Input& input : graph_.inputs) {
      const bool is_written =
          std::any_of(graph_.outputs.begin(), graph_.outputs.end(), [&](const ir::Output& output) {
            return output.kind == ir::OutputKind::kBufferMutation && output.target == input.target;
          });
      is_constant_[input.value] = input.constant != ir::kNone && !is_written;
    }
  }
  void count_uses() {
    uses_.assign(graph_.values.size(), 0);
    const auto use = [&](const Argument& argument) {
      ir::for_each_value(argument, [&](ValueId id) { ++uses_[id]; });
    };
    for (const ir::Node& node : nodes_) {
      for (const Argument& argument : node.args) use(argument);
    }
    for (const ir::Output& output : graph_.outputs) use(output.value);
  }

  bool is_constant(const Argument& argument) const {
    const auto* ref = ir::get_if<ValueRef>(argument);
    return ir::get_if<Nothing>(argument) != nullptr ||
           (ref != nullptr && ref->id < is_constant_.size() && is_constant_[ref->id]);
  }
  uint32_t uses_of(ValueId id) const { return id < uses_.size() ? uses_[id] : 0; }

  // Folds the norm into a convolution that no other node reads. The convolution stays without readers.
  bool fold(const ir::Node& node) {
    infer::CallState state(module_, graph_, node.op, node.args);
    const Norm norm{Call(state)};
    const auto* x = ir::get_if<ValueRef>(norm.input());
    const auto found = x == nullptr ? convolutions_.end() : convolutions_.find(x->id);
    if (found == convolutions_.end() || uses_of(x->id) != 1) return false;
    infer::CallState own_state(module_, graph_, found->second.op, found->second.args);
    const Convolution conv{Call(own_state)};
    const auto* weight = ir::get_if<ValueRef>(conv.weight());
    const bool is_fit = ir::get_if<double>(norm.eps()) != nullptr && weight != nullptr &&
                        uses_of(weight->id) == 1 && is_constant(conv.weight()) && is_constant(conv.bias()) &&
                        uses_of(node.outputs[1]) + uses_of(node.outputs[2]) == 0 &&
                        (!conv.transposed() || conv.groups().get() == Argument(Dim(1))) &&
                        ops::is_floating(b_.spec(weight->id).dtype) && is_constant(norm.weight()) &&
                        is_constant(norm.bias()) && is_constant(norm.running_mean()) &&
                        is_constant(norm.running_var()) && norm.running_mean().has_value() &&
                        norm.running_var().has_value();
    if (!is_fit) return false;
    // Its time is that of the convolution, so profiles show the convolution's source.
    b_.set_origin(found->second);
    b_.replace(node.outputs[0], rewrite(norm, conv, *weight));
    return true;
  }

  // w' = w s, b' = (b - mean) s + shift, with s = gamma / sqrt(var + eps) for each channel.
  ValueId rewrite(const Norm& norm, const Convolution& conv, ValueRef weight) {
    const auto binary = [&](const char* op, Argument left, Argument right) {
      return ValueRef{b_.call(op, {std::move(left), std::move(right)})};
    };
    const ValueRef shifted = binary("aten.add.Scalar", norm.running_var(), norm.eps());
    ValueRef scale{b_.call("aten.rsqrt.default", {shifted})};
    if (norm.weight().has_value()) scale = binary("aten.mul.Tensor", scale, norm.weight());
    const TensorSpec spec = b_.spec(weight.id);
    Dims sizes(spec.rank(), Dim(1));
    sizes[conv.transposed() ? 1 : 0] = b_.spec(scale.id).sizes[0];
    const ValueRef wide{b_.call("aten.view_copy.default", {scale, std::move(sizes)})};
    const ValueRef new_weight = binary("aten.mul.Tensor", weight, wide);
    ValueRef bias = conv.bias().has_value() ? binary("aten.sub.Tensor", conv.bias(), norm.running_mean())
                                            : ValueRef{b_.call("aten.neg.default", {norm.running_mean()})};
    bias = binary("aten.mul.Tensor", bias, scale);
    if (norm.bias().has_value()) bias = binary("aten.add.Tensor", bias, norm.bias());
    std::vector<Argument> args(conv.arguments().begin(), conv.arguments().end());
    args[Convolution::Index::weight] = new_weight;
    args[Convolution::Index::bias] = bias;
    return b_.call("aten.convolution.default", std::move(args));
  }

  ir::Module& module_;
  ir::Graph& graph_;
  PlainBuilder b_;
  std::vector<ir::Node> nodes_;
  std::vector<bool> is_constant_;
  std::vector<uint32_t> uses_;
  std::map<ValueId, ir::Node> convolutions_;
  bool is_changed_ = false;
};

}  // namespace

Result<bool> fold_batch_norm(ir::Module& module) { return Folder(module, module.main()).run(); }

}  // namespace etb::passes
