// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/fold_batch_norm.hpp"

#include <algorithm>

#include "partitioner_sdk/passes/builder.hpp"

namespace etb::passes {

namespace {

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

  // input, weight, bias, running_mean, running_var, momentum, eps; of a convolution that nothing else reads. Its own node stays
  // behind without a reader.
  bool fold(const ir::Node& norm) {
    const auto* x = ir::get_if<ValueRef>(norm.args[0]);
    const auto found = x == nullptr ? convolutions_.end() : convolutions_.find(x->id);
    if (found == convolutions_.end() || uses_of(x->id) != 1) return false;
    const ir::Node& conv = found->second;
    const bool is_transposed = conv.args[6] == Argument(true);
    const auto* weight = ir::get_if<ValueRef>(conv.args[1]);
    const double* eps = ir::get_if<double>(norm.args[6]);
    if (eps == nullptr || weight == nullptr || uses_of(weight->id) != 1 || !is_constant(conv.args[1]) ||
        !is_constant(conv.args[2]) || uses_of(norm.outputs[1]) + uses_of(norm.outputs[2]) != 0 ||
        (is_transposed && !(conv.args[8] == Argument(Dim(1)))) ||
        !ops::is_floating(b_.spec(weight->id).dtype)) {
      return false;
    }
    for (size_t i = 1; i <= 4; ++i) {
      if (!is_constant(norm.args[i])) return false;
    }
    if (ir::get_if<Nothing>(norm.args[3]) || ir::get_if<Nothing>(norm.args[4])) return false;
    rewrite(norm, conv, *weight, *eps, is_transposed);
    return true;
  }

  // w' = w s, b' = (b - mean) s + shift, with s = gamma / sqrt(var + eps) for each channel.
  void rewrite(const ir::Node& norm, const ir::Node& conv, ValueRef weight, double eps, bool is_transposed) {
    const auto binary = [&](const char* op, Argument left, Argument right) {
      return ValueRef{b_.call(op, {std::move(left), std::move(right)})};
    };
    const ValueRef shifted = binary("aten.add.Scalar", norm.args[4], eps);
    ValueRef scale{b_.call("aten.rsqrt.default", {shifted})};
    if (!ir::get_if<Nothing>(norm.args[1])) scale = binary("aten.mul.Tensor", scale, norm.args[1]);
    const TensorSpec spec = b_.spec(weight.id);
    Dims sizes(spec.rank(), Dim(1));
    sizes[is_transposed ? 1 : 0] = b_.spec(scale.id).sizes[0];
    const ValueRef wide{b_.call("aten.view_copy.default", {scale, std::move(sizes)})};
    const ValueRef new_weight = binary("aten.mul.Tensor", weight, wide);
    ValueRef bias = ir::get_if<Nothing>(conv.args[2]) ? ValueRef{b_.call("aten.neg.default", {norm.args[3]})}
                                                      : binary("aten.sub.Tensor", conv.args[2], norm.args[3]);
    bias = binary("aten.mul.Tensor", bias, scale);
    if (!ir::get_if<Nothing>(norm.args[2])) bias = binary("aten.add.Tensor", bias, norm.args[2]);
    std::vector<Argument> args = conv.args;
    args[1] = new_weight;
    args[2] = bias;
    b_.replace(norm.outputs[0], b_.call("aten.convolution.default", std::move(args)));
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
