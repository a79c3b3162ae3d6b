// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/plan/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "plugins/gpu/graph/shapes.hpp"
#include "plugins/gpu/plan/dispatch.hpp"

namespace etb::gpu {

namespace {

constexpr uint32_t kNoNode = UINT32_MAX;
constexpr uint32_t kMostDepth = 128;  // and columns: kernels have room for so many

class Matcher {
 public:
  Matcher(const GpuGraph& graph, std::span<const Shape> bounds, bool has_key_rows)
      : graph_(graph),
        bounds_(bounds),
        has_key_rows_(has_key_rows),
        producers_(graph.values.size(), kNoNode),
        readers_(graph.values.size()),
        is_output_(graph.values.size(), false) {
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
      producers_[graph.nodes[i].output] = i;
      for (const uint32_t input : graph.nodes[i].inputs) readers_[input].push_back(i);
    }
    for (const uint32_t output : graph.outputs) is_output_[output] = true;
  }

  // Returns the attention whose last node this is.
  std::optional<Attention> match(uint32_t last) {
    found_ = {};
    if (!is_product(last)) return std::nullopt;
    found_.nodes = {last};
    const GpuNode& node = graph_.nodes[last];
    if (!match_weights(node.inputs[0]) || !is_closed()) return std::nullopt;
    const GpuNode& product = graph_.nodes[found_.product];
    found_.q = skip_operand(product.inputs[0], &found_.q_scale, nullptr);
    found_.v = skip_operand(node.inputs[1], nullptr, &found_.repeated_v);
    found_.k = product.inputs[1];
    const Attention without_turn = found_;
    const bool has_rows = skip_transposition();
    if (has_key_rows_ && !has_rows) return std::nullopt;
    if (!has_key_rows_ && has_rows && has(producers_[found_.key_columns]))
      found_.turns_k = true;
    else if (!has_key_rows_)
      found_ = without_turn;
    std::sort(found_.nodes.begin(), found_.nodes.end());
    const AttentionSizes sizes = sizes_of(graph_, found_, bounds_);
    const bool fits = std::max(sizes.depth, sizes.columns) <= kMostDepth &&
                      attention_turns(sizes) <= kMaxTurns && check_sizes(graph_, found_, bounds_);
    return fits && has_outer_operands() ? std::optional(std::move(found_)) : std::nullopt;
  }

 private:
  const GpuNode* producer(uint32_t value) const {
    return producers_[value] == kNoNode ? nullptr : &graph_.nodes[producers_[value]];
  }
  const GpuNode* producer(uint32_t value, Operator op) const {
    const GpuNode* const node = producer(value);
    return node != nullptr && node->op == op ? node : nullptr;
  }
  void take(uint32_t value) { found_.nodes.push_back(producers_[value]); }
  bool has(uint32_t node) const {
    return std::find(found_.nodes.begin(), found_.nodes.end(), node) != found_.nodes.end();
  }

  // A product of two batches without bias, limits or factor.
  bool is_product(uint32_t index) const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const GpuNode& node = graph_.nodes[index];
    return node.op == Operator::kMatmul && node.inputs.size() == 2 && bounds_[node.inputs[1]].rank == 3 &&
           graph_.value(node.inputs[1]).factors == kNoValue && !graph_.value(node.inputs[1]).has_halves &&
           node.ints[field::kTransposedB] == 0 && node.floats[field::kAlpha] == 1 &&
           node.floats[field::kMatmulLow] == -kInfinity && node.floats[field::kMatmulHigh] == kInfinity;
  }
  // True if a node repeats each matrix of its operand, the last two dimensions.
  bool is_repetition(const GpuNode& node) const {
    const Shape &from = bounds_[node.inputs[0]], &to = bounds_[node.output];
    if (node.op != Operator::kExpand || graph_.value(node.inputs[0]).type != DataType::kFloat32 ||
        to.rank < 3)
      return false;
    const uint32_t missing = to.rank - from.rank, repeated = to.rank - 3;
    for (uint32_t d = 0; d < to.rank; ++d) {
      const uint32_t own = d < missing ? 1 : from.sizes[d - missing];
      if (own != (d == repeated ? 1 : to.sizes[d])) return false;
    }
    return true;
  }
  // True if a node keeps all elements in their order.
  bool is_view(const GpuNode& node) const {
    return (node.op == Operator::kReshape || node.op == Operator::kExpand) &&
           graph_.value(node.inputs[0]).type == DataType::kFloat32 &&
           bounds_[node.inputs[0]].numel() == bounds_[node.output].numel();
  }
  std::optional<float> number(uint32_t value) const {
    const GpuValue& found = graph_.value(value);
    if (found.role != ValueRole::kInline || found.floats.size() != 1) return std::nullopt;
    return found.floats[0];
  }
  const GpuNode* binary(uint32_t value, BinaryFunction function) const {
    const GpuNode* const node = producer(value, Operator::kBinary);
    return node != nullptr && node->ints[field::kBinaryFunction] == static_cast<int32_t>(function) ? node
                                                                                                   : nullptr;
  }
  // Returns the operand that a node compares with a number.
  std::optional<uint32_t> compared(uint32_t value, float with) const {
    const GpuNode* const node = binary(value, BinaryFunction::kEqual);
    if (node == nullptr || number(node->inputs[1]) != with) return std::nullopt;
    return node->inputs[0];
  }

  // Goes back to the value that views show.
  uint32_t skip_views(uint32_t value) {
    for (const GpuNode* node = producer(value); node != nullptr && is_view(*node); node = producer(value)) {
      take(value);
      value = node->inputs[0];
    }
    return value;
  }

  bool match_weights(uint32_t value) {
    value = skip_views(value);
    if (const GpuNode* const choice = producer(value, Operator::kWhere); choice != nullptr) {
      if (!match_guard(value, *choice)) return false;
      value = skip_views(choice->inputs[2]);
    }
    const GpuNode* const softmax = producer(value, Operator::kSoftmax);
    const uint32_t rank = bounds_[value].rank;
    if (softmax == nullptr || softmax->ints[field::kIsLogarithm] != 0 || rank < 2 ||
        positive_dim(softmax->ints[field::kSoftmaxDim], rank) != rank - 1)
      return false;
    if (found_.zeroes_masked && softmax->inputs[0] != guarded_) return false;
    take(value);
    found_.weights = value;
    return match_scores(softmax->inputs[0]);
  }

  // where(not any(not(scores == -infinity)), 0, weights)
  bool match_guard(uint32_t value, const GpuNode& choice) {
    take(value);
    const GpuNode* const zeros = producer(choice.inputs[1], Operator::kExpand);
    if (zeros == nullptr || number(zeros->inputs[0]) != 0.0f || std::signbit(*number(zeros->inputs[0])))
      return false;
    take(choice.inputs[1]);
    uint32_t condition = choice.inputs[0];
    if (const GpuNode* const expansion = producer(condition, Operator::kExpand); expansion != nullptr) {
      take(condition);
      condition = expansion->inputs[0];
    }
    const auto any = compared(condition, 0);
    const GpuNode* const reduction = any ? producer(*any, Operator::kReduce) : nullptr;
    if (reduction == nullptr) return false;
    const uint32_t rank = bounds_[reduction->inputs[0]].rank;
    if (reduction->ints[field::kReduction] != static_cast<int32_t>(Reduction::kMaximum) || rank < 2 ||
        reduction->ints[field::kDims] != 1 << (rank - 1) || reduction->ints[field::kKeepsDims] == 0)
      return false;
    const auto is_masked = compared(reduction->inputs[0], 0);
    const auto scores =
        is_masked ? compared(*is_masked, -std::numeric_limits<float>::infinity()) : std::nullopt;
    if (!scores) return false;
    for (const uint32_t each : {condition, *any, reduction->inputs[0], *is_masked}) take(each);
    found_.zeroes_masked = true;
    guarded_ = *scores;
    return true;
  }

  // A product, a scale, and a mask, with views between them.
  bool match_scores(uint32_t value) {
    value = skip_views(value);
    auto scores = match_sum(value);
    if (!scores) scores = match_choice(value);
    if (scores) {
      if (bounds_[value].rank < 2 || bounds_[value].rank > 4) return false;
      take(value);
      found_.masked = value;
      value = skip_views(*scores);
    }
    if (const auto scaled = scaling(value)) {
      take(value);
      found_.scale = scaled->factor;
      value = skip_views(scaled->value);
    }
    if (producers_[value] == kNoNode || !is_product(producers_[value])) return false;
    found_.product = producers_[value];
    take(value);
    return true;
  }
  // scores + mask, or mask + scores. Returns the scores.
  std::optional<uint32_t> match_sum(uint32_t value) {
    const GpuNode* const sum = binary(value, BinaryFunction::kAdd);
    if (sum == nullptr || sum->floats[0] != 1) return std::nullopt;
    const bool is_first =
        bounds_[sum->inputs[0]].numel() == bounds_[value].numel() && leads_to_product(sum->inputs[0]);
    found_.mask_kind = MaskKind::kAdded;
    found_.mask = sum->inputs[is_first ? 1 : 0];
    return sum->inputs[is_first ? 0 : 1];
  }
  // where(mask, number, scores), or where(mask, scores, number). Returns the scores.
  std::optional<uint32_t> match_choice(uint32_t value) {
    const GpuNode* const choice = producer(value, Operator::kWhere);
    if (choice == nullptr) return std::nullopt;
    for (const uint32_t at : {1u, 2u}) {
      const GpuNode* const numbers = producer(choice->inputs[at], Operator::kExpand);
      const auto fill = numbers != nullptr ? number(numbers->inputs[0]) : std::nullopt;
      if (!fill) continue;
      take(choice->inputs[at]);
      found_.mask_kind = at == 1 ? MaskKind::kHidesSet : MaskKind::kHidesUnset;
      found_.fill = *fill;
      found_.mask = choice->inputs[0];
      // An expansion that others read has a dispatch anyway.
      const GpuNode* const expansion = producer(found_.mask, Operator::kExpand);
      if (expansion != nullptr && readers_[found_.mask].size() == 1 && !is_output_[found_.mask]) {
        take(found_.mask);
        found_.mask = expansion->inputs[0];
      }
      return choice->inputs[3 - at];
    }
    return std::nullopt;
  }
  bool leads_to_product(uint32_t value) const {
    for (const GpuNode* node = producer(value); node != nullptr; node = producer(value)) {
      if (node->op == Operator::kMatmul) return is_product(producers_[value]);
      const auto scaled = scaling(value);
      if (!scaled && !is_view(*node)) return false;
      value = scaled ? scaled->value : node->inputs[0];
    }
    return false;
  }

  struct Scaling {
    uint32_t value;
    float factor;
  };
  // A multiplication by a number, or a division.
  std::optional<Scaling> scaling(uint32_t value) const {
    if (const GpuNode* const node = binary(value, BinaryFunction::kMul); node != nullptr)
      for (const uint32_t i : {0u, 1u})
        if (const auto factor = number(node->inputs[i])) return Scaling{node->inputs[1 - i], *factor};
    if (const GpuNode* const node = binary(value, BinaryFunction::kDiv); node != nullptr)
      if (const auto divisor = number(node->inputs[1])) return Scaling{node->inputs[0], 1 / *divisor};
    return std::nullopt;
  }

  // Goes back to the value of an operand before views and, for `scale`, multiplications by numbers. For `repeated`, also before one
  // repetition, of which it writes the result. Nodes whose results nothing else reads are parts of the attention.
  uint32_t skip_operand(uint32_t value, float* scale, uint32_t* repeated) {
    for (const GpuNode* node = producer(value); node != nullptr; node = producer(value)) {
      const auto scaled = scale != nullptr ? scaling(value) : std::nullopt;
      if (!scaled && !is_view(*node)) {
        if (repeated == nullptr || *repeated != kNoValue || !is_repetition(*node)) break;
        *repeated = value;
      }
      take_if_alone(value);
      if (scaled) *scale *= scaled->factor;
      value = scaled ? scaled->value : node->inputs[0];
    }
    return value;
  }
  void take_if_alone(uint32_t value) {
    const auto is_inside = [&](uint32_t reader) { return has(reader); };
    if (!is_output_[value] && std::all_of(readers_[value].begin(), readers_[value].end(), is_inside))
      take(value);
  }

  // Goes back to the [batch, keys, depth] that k is a transposition of.
  bool skip_transposition() {
    const uint32_t value = skip_operand(found_.k, &found_.q_scale, &found_.repeated_k);
    const GpuNode* const node = producer(value, Operator::kPermute);
    if (node == nullptr || node->ints.size() < 2) return false;
    const auto rank = static_cast<uint32_t>(node->ints.size());
    for (uint32_t d = 0; d < rank; ++d) {
      const uint32_t source = d + 2 < rank ? d : (d + 1 < rank ? rank - 1 : rank - 2);
      if (positive_dim(node->ints[d], rank) != source) return false;
    }
    take_if_alone(value);
    found_.key_columns = value;
    found_.k = skip_operand(node->inputs[0], &found_.q_scale, &found_.repeated_k);
    return true;
  }

  // True if nothing outside reads an inner value.
  bool is_closed() const {
    return std::all_of(found_.nodes.begin() + 1, found_.nodes.end(), [&](uint32_t node) {
      const uint32_t result = graph_.nodes[node].output;
      return !is_output_[result] && std::all_of(readers_[result].begin(), readers_[result].end(),
                                                [&](uint32_t reader) { return has(reader); });
    });
  }

  // True if nothing inside computes an operand: scores may be added to themselves.
  bool has_outer_operands() const {
    const std::array<uint32_t, 4> operands = found_.operands();
    return std::none_of(operands.begin(), operands.end(), [&](uint32_t operand) {
      return producers_[operand] != kNoNode && has(producers_[operand]);
    });
  }

  const GpuGraph& graph_;
  std::span<const Shape> bounds_;
  const bool has_key_rows_;
  std::vector<uint32_t> producers_;             // by value: a node
  std::vector<std::vector<uint32_t>> readers_;  // by value: nodes
  std::vector<bool> is_output_;                 // by value
  Attention found_;
  uint32_t guarded_ = kNoValue;  // value that the guard compares with -infinity
};

}  // namespace

Attentions find_attentions(const GpuGraph& graph, std::span<const Shape> bounds, KernelFamily family) {
  Attentions found;
  found.of_node.assign(graph.nodes.size(), kNoAttention);
  if (family == KernelFamily::kRegisters) return found;
  Matcher matcher(graph, bounds, family != KernelFamily::kVectors);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    auto attention = matcher.match(i);
    const auto is_taken = [&](uint32_t node) { return found.of_node[node] != kNoAttention; };
    if (!attention || std::any_of(attention->nodes.begin(), attention->nodes.end(), is_taken)) continue;
    for (const uint32_t node : attention->nodes)
      found.of_node[node] = static_cast<uint32_t>(found.all.size());
    found.all.push_back(*std::move(attention));
  }
  return found;
}

AttentionSizes sizes_of(const GpuGraph& graph, const Attention& attention, std::span<const Shape> shapes) {
  const GpuNode &product = graph.nodes[attention.product], &last = graph.nodes[attention.nodes.back()];
  const Shape& scores = shapes[product.output];
  // At least 1: a kernel divides by it.
  const auto group = [&](uint32_t repeated) {
    return repeated == kNoValue ? 1 : std::max(shapes[repeated].sizes[shapes[repeated].rank - 3], 1u);
  };
  return {scores.sizes[0],
          scores.sizes[1],
          scores.sizes[2],
          shapes[product.inputs[1]].sizes[1],
          shapes[last.inputs[1]].sizes[2],
          group(attention.repeated_k),
          group(attention.repeated_v)};
}

Status check_sizes(const GpuGraph& graph, const Attention& attention, std::span<const Shape> shapes) {
  const AttentionSizes sizes = sizes_of(graph, attention, shapes);
  // No rows: any.
  const auto ends_with = [&](uint32_t value, std::optional<uint32_t> rows, uint32_t columns) {
    const Shape& shape = shapes[value];
    return shape.rank > (rows ? 1u : 0u) && shape.sizes[shape.rank - 1] == columns &&
           (!rows || shape.sizes[shape.rank - 2] == *rows);
  };
  const auto has = [&](uint32_t value, uint32_t rows, uint32_t columns, uint32_t group = 1) {
    return shapes[value].numel() * group == uint64_t{sizes.batch} * rows * columns;
  };
  const auto repeats = [&](uint32_t repeated, uint32_t rows, uint32_t columns) {
    if (repeated == kNoValue) return true;
    const Shape& shape = shapes[repeated];
    return shape.product(shape.rank - 2, shape.rank) == rows * columns;
  };
  const uint32_t last_product = attention.nodes.back();
  // Where no element is added or left out, reshapes and expansions are views of all elements in their order.
  const bool fits =
      shapes[graph.nodes[last_product].inputs[0]] == shapes[graph.nodes[attention.product].output] &&
      ends_with(attention.weights, std::nullopt, sizes.keys) &&
      has(attention.weights, sizes.rows, sizes.keys) &&
      (attention.mask == kNoValue || (ends_with(attention.masked, sizes.rows, sizes.keys) &&
                                      has(attention.masked, sizes.rows, sizes.keys))) &&
      (attention.key_columns == kNoValue || ends_with(attention.key_columns, sizes.depth, sizes.keys)) &&
      has(attention.q, sizes.rows, sizes.depth) && has(attention.k, sizes.keys, sizes.depth, sizes.k_group) &&
      has(attention.v, sizes.keys, sizes.columns, sizes.v_group) &&
      repeats(attention.repeated_k, sizes.keys, sizes.depth) &&
      repeats(attention.repeated_v, sizes.keys, sizes.columns);
  if (fits) return {};
  return make_error(Code::NOT_SUPPORTED,
                    "value " + std::to_string(graph.nodes[last_product].output) +
                        ": attention whose views have other rows for these sizes than for the largest ones"
                        "\nhint: set the option fusion to off");
}

}  // namespace etb::gpu
