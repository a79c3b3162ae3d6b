// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/plan/fold_batch_norm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace etb::gpu {

namespace {

class Folder {
 public:
  explicit Folder(GpuGraph& graph) : graph_(graph), uses_(graph.values.size(), 0) {
    for (const GpuNode& node : graph.nodes)
      for (const uint32_t input : node.inputs) ++uses_[input];
    for (const uint32_t output : graph.outputs) ++uses_[output];
  }

  std::vector<BatchNormFold> run() {
    producers_.assign(graph_.values.size(), SIZE_MAX);
    std::vector<GpuNode> kept;
    for (GpuNode& node : graph_.nodes) {
      GpuNode* convolution = convolution_before(node, kept);
      if (convolution != nullptr && node.op == Operator::kBatchNorm && are_constants(node)) {
        fold(node, *convolution);
      } else if (convolution != nullptr && is_limit(node, *convolution)) {
        convolution->floats[field::kLow] = node.floats[0];
        convolution->floats[field::kHigh] = node.floats[1];
      } else {
        producers_[node.output] = kept.size();
        kept.push_back(std::move(node));
        continue;
      }
      producers_[node.output] = producers_[node.inputs[0]];
      convolution->output = node.output;
    }
    graph_.nodes = std::move(kept);
    return std::move(folds_);
  }

 private:
  // Returns the convolution without limits whose result only this node reads; NULL for other nodes.
  GpuNode* convolution_before(const GpuNode& node, std::vector<GpuNode>& kept) const {
    if ((node.op != Operator::kBatchNorm && node.op != Operator::kUnary) || uses_[node.inputs[0]] != 1)
      return nullptr;
    const size_t producer = producers_[node.inputs[0]];
    if (producer == SIZE_MAX || kept[producer].op != Operator::kConvolution) return nullptr;
    GpuNode& found = kept[producer];
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const bool is_unlimited =
        found.floats[field::kLow] == -kInfinity && found.floats[field::kHigh] == kInfinity;
    return is_unlimited && is_constant(found.inputs[1]) && graph_.value(found.inputs[1]).codes.bits == 0 &&
                   (found.inputs.size() < 3 || is_constant(found.inputs[2]))
               ? &found
               : nullptr;
  }
  // A clamp after a batch norm: compilation adds the other ones to the convolution.
  bool is_limit(const GpuNode& node, const GpuNode& convolution) const {
    const bool is_folded =
        !folds_.empty() && std::any_of(folds_.begin(), folds_.end(), [&](const BatchNormFold& fold) {
          return fold.filters == convolution.inputs[1];
        });
    return is_folded && node.op == Operator::kUnary &&
           node.ints[field::kFunction] == static_cast<int32_t>(UnaryFunction::kClamp) &&
           node.floats[0] <= node.floats[1];
  }
  bool is_constant(uint32_t id) const {
    const ValueRole role = graph_.value(id).role;
    return role == ValueRole::kConstant || role == ValueRole::kInline;
  }
  bool are_constants(const GpuNode& norm) const {
    return std::all_of(norm.inputs.begin() + 1, norm.inputs.end(),
                       [&](uint32_t id) { return is_constant(id); });
  }
  uint32_t add_value(const Shape& shape) {
    GpuValue value;
    value.role = ValueRole::kConstant;
    value.shape = shape;
    graph_.values.push_back(std::move(value));
    return static_cast<uint32_t>(graph_.values.size() - 1);
  }
  void fold(const GpuNode& norm, GpuNode& convolution) {
    BatchNormFold& made = folds_.emplace_back();
    made.weight = norm.inputs[1];
    made.bias = norm.inputs[2];
    made.mean = norm.inputs[3];
    made.variance = norm.inputs[4];
    made.eps = norm.floats[0];
    if (convolution.inputs.size() > 2) made.convolution_bias = convolution.inputs[2];
    made.filters = add_value(Shape(graph_.value(convolution.inputs[1]).shape));
    Shape channels;  // not that of the weight, which may be a scalar for one channel
    channels.rank = 1;
    channels.sizes[0] = graph_.value(made.filters).shape.sizes[0];
    made.new_bias = add_value(channels);
    graph_.values[made.filters].key = graph_.value(convolution.inputs[1]).key;
    graph_.values[made.filters].floats = graph_.value(convolution.inputs[1]).floats;
    graph_.values[made.filters].role = graph_.value(convolution.inputs[1]).role;
    graph_.values[made.filters].host = graph_.value(convolution.inputs[1]).host;
    convolution.inputs.resize(2);
    convolution.inputs[1] = made.filters;
    convolution.inputs.push_back(made.new_bias);
  }

  GpuGraph& graph_;
  std::vector<uint32_t> uses_;     // by value
  std::vector<size_t> producers_;  // by value: index of the kept node
  std::vector<BatchNormFold> folds_;
};

// In double: an error of a factor would be one of all results of the channel, in the same direction.
double factor_of(const BatchNormNumbers& numbers, size_t channel) {
  return double{numbers.weight[channel]} / std::sqrt(double{numbers.variance[channel]} + double{numbers.eps});
}

}  // namespace

std::vector<BatchNormFold> fold_batch_norms(GpuGraph& graph) { return Folder(graph).run(); }

void fold_filters(const BatchNormNumbers& numbers, std::span<float> filters) {
  const size_t channels = numbers.weight.size(), length = channels == 0 ? 0 : filters.size() / channels;
  for (size_t c = 0; c < channels; ++c) {
    const double factor = factor_of(numbers, c);
    for (float& each : filters.subspan(c * length, length)) each = static_cast<float>(each * factor);
  }
}

void fold_bias(const BatchNormNumbers& numbers, std::span<float> bias) {
  for (size_t c = 0; c < bias.size(); ++c)
    bias[c] = static_cast<float>((double{bias[c]} - double{numbers.mean[c]}) * factor_of(numbers, c) +
                                 double{numbers.bias[c]});
}

}  // namespace etb::gpu
