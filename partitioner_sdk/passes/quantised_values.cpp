// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/quantised_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/quantized_decomposed/dequantize_per_channel.hpp"
#include "ops/quantized_decomposed/dequantize_per_tensor.hpp"
#include "ops/quantized_decomposed/quantize_per_tensor.hpp"

namespace etb::passes {

namespace {

namespace qd = ops::quantized_decomposed;
using infer::Call;
using Quantize = qd::quantize_per_tensor_default<Call>;
using Dequantize = qd::dequantize_per_tensor_default<Call>;
using DequantizeChannels = qd::dequantize_per_channel_default<Call>;

// A call of an op, whose node the caller keeps.
template <class View>
struct Reader {
  infer::CallState state;
  View view{Call(state)};

  Reader(ir::Module& module, const ir::Graph& graph, const ir::Node& node)
      : state(module, graph, node.op, node.args) {}
};

template <class T>
std::vector<double> to_numbers(std::span<const std::byte> bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(T));
  for (size_t i = 0; i < numbers.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    numbers[i] = static_cast<double>(value);
  }
  return numbers;
}

// Scale, zero point and range of a call of either op per tensor.
template <class View>
std::optional<QuantisedTensor> read_scale(const View& view, ValueId codes) {
  QuantisedTensor read = {codes, view.scale().number(), view.zero_point().integer(),
                          view.quant_min().integer(), view.quant_max().integer()};
  const bool is_int8 = view.dtype().value() == Dtype::INT8 && read.low >= -128 && read.high <= 127 &&
                       read.low <= read.high && read.zero_point >= -128 && read.zero_point <= 127;
  if (!is_int8 || !(read.scale > 0) || !std::isfinite(read.scale) || !view.error().empty())
    return std::nullopt;
  return read;
}

}  // namespace

int64_t QuantisedTensor::code_of(double value) const {
  const float inverse = 1.0F / static_cast<float>(scale);
  const float code = std::nearbyint(static_cast<float>(value) * inverse) + static_cast<float>(zero_point);
  if (!(code > static_cast<float>(low))) return low;
  return code >= static_cast<float>(high) ? high : static_cast<int64_t>(code);
}

std::optional<IntegerFactor> find_integer_factor(double factor) {
  if (!(factor > 0) || !std::isfinite(factor)) return std::nullopt;
  int shift = 0;
  auto multiplier = static_cast<int64_t>(std::nearbyint(std::ldexp(std::frexp(factor, &shift), 31)));
  if (multiplier == int64_t{1} << 31) {
    multiplier /= 2;
    ++shift;
  }
  if (shift < -31 || shift > 30) return std::nullopt;
  return IntegerFactor{static_cast<int32_t>(multiplier), shift};
}

QuantisedValues::QuantisedValues(ir::Module& module, ir::Graph& graph, const std::vector<ir::Node>& nodes)
    : module_(module), graph_(graph), uses_(graph.values.size()) {
  for (const ir::Input& input : graph.inputs) {
    const bool is_written =
        std::any_of(graph.outputs.begin(), graph.outputs.end(), [&](const ir::Output& output) {
          return output.kind == ir::OutputKind::kBufferMutation && output.target == input.target;
        });
    if (input.constant != ir::kNone && !is_written) constants_[input.value] = input.constant;
  }
  const auto use = [&](const Argument& argument) {
    ir::for_each_value(argument, [&](ValueId id) { ++uses_[id]; });
  };
  for (const ir::Node& node : nodes) std::for_each(node.args.begin(), node.args.end(), use);
  for (const ir::Output& output : graph.outputs) use(output.value);
}

void QuantisedValues::add(const ir::Node& node) {
  for (const ValueId id : node.outputs) producers_[id] = node;
}

const ir::Node* QuantisedValues::find_producer(const Argument& argument) const {
  const auto* ref = ir::get_if<ValueRef>(argument);
  const auto found = ref == nullptr ? producers_.end() : producers_.find(ref->id);
  return found == producers_.end() ? nullptr : &found->second;
}

const ir::Constant* QuantisedValues::find_constant(const Argument& argument) const {
  const auto* ref = ir::get_if<ValueRef>(argument);
  const auto found = ref == nullptr ? constants_.end() : constants_.find(ref->id);
  return found == constants_.end() ? nullptr : &module_.constants[found->second];
}

std::optional<std::vector<double>> QuantisedValues::find_numbers(const Argument& argument) const {
  const ir::Constant* constant = find_constant(argument);
  if (constant == nullptr) return std::nullopt;
  const std::vector<std::byte> bytes = constant->dense_bytes();
  switch (constant->dtype) {
    case Dtype::FLOAT32:
      return to_numbers<float>(bytes);
    case Dtype::FLOAT64:
      return to_numbers<double>(bytes);
    case Dtype::INT64:
      return to_numbers<int64_t>(bytes);
    case Dtype::INT32:
      return to_numbers<int32_t>(bytes);
    case Dtype::INT8:
      return to_numbers<int8_t>(bytes);
    default:
      return std::nullopt;
  }
}

std::optional<QuantisedTensor> QuantisedValues::find_quantised(const Argument& argument) const {
  const ir::Node* node = find_producer(argument);
  if (op_of(node) != Dequantize::kName || graph_.values[node->outputs[0]].spec.dtype != Dtype::FLOAT32)
    return std::nullopt;
  const Reader<Dequantize> reader(module_, graph_, *node);
  return read_scale(reader.view, reader.view.input().id());
}

std::optional<QuantisedTensor> QuantisedValues::find_result(const ir::Node& node) const {
  if (op_of(&node) != Quantize::kName) return std::nullopt;
  const Reader<Quantize> reader(module_, graph_, node);
  return read_scale(reader.view, node.outputs[0]);
}

std::optional<QuantisedWeights> QuantisedValues::find_weights(const Argument& argument) const {
  const ir::Node* node = find_producer(argument);
  const ir::Constant* constant = nullptr;
  QuantisedWeights weights;
  std::vector<double> zero_points;
  if (op_of(node) == Dequantize::kName) {
    const Reader<Dequantize> reader(module_, graph_, *node);
    constant = find_constant(reader.view.input());
    const size_t count =
        constant == nullptr || constant->sizes.empty() ? 1 : static_cast<size_t>(constant->sizes[0]);
    weights.scales.assign(count, reader.view.scale().number());
    zero_points = {static_cast<double>(reader.view.zero_point().integer())};
  } else if (op_of(node) == DequantizeChannels::kName) {
    const Reader<DequantizeChannels> reader(module_, graph_, *node);
    constant = find_constant(reader.view.input());
    auto scales = find_numbers(reader.view.scales());
    if (!scales || reader.view.axis().integer() != 0) return std::nullopt;
    weights.scales = std::move(*scales);
    if (reader.view.zero_points().has_value()) {
      auto found = find_numbers(reader.view.zero_points());
      if (!found) return std::nullopt;
      zero_points = std::move(*found);
    }
  }
  const bool is_symmetric =
      std::all_of(zero_points.begin(), zero_points.end(), [](double point) { return point == 0.0; });
  if (constant == nullptr || constant->dtype != Dtype::INT8 || constant->sizes.empty() || !is_symmetric ||
      static_cast<int64_t>(weights.scales.size()) != constant->sizes[0])
    return std::nullopt;
  weights.sizes = constant->sizes;
  weights.codes = constant->dense_bytes();
  return weights;
}

std::optional<std::vector<double>> QuantisedValues::find_reals(const Argument& argument) const {
  const ir::Node* node = find_producer(argument);
  if (op_of(node) == Dequantize::kName) {
    const Reader<Dequantize> reader(module_, graph_, *node);
    auto codes = find_numbers(reader.view.input());
    if (!codes) return std::nullopt;
    const double zero = static_cast<double>(reader.view.zero_point().integer());
    for (double& code : *codes) code = (code - zero) * reader.view.scale().number();
    return codes;
  }
  if (op_of(node) == DequantizeChannels::kName) {
    const Reader<DequantizeChannels> reader(module_, graph_, *node);
    auto codes = find_numbers(reader.view.input());
    const auto scales = find_numbers(reader.view.scales());
    const auto zeros = reader.view.zero_points().has_value()
                           ? find_numbers(reader.view.zero_points())
                           : std::vector<double>(scales ? scales->size() : 0);
    if (!codes || !scales || !zeros || codes->size() != scales->size() || zeros->size() != scales->size())
      return std::nullopt;
    for (size_t i = 0; i < codes->size(); ++i) (*codes)[i] = ((*codes)[i] - (*zeros)[i]) * (*scales)[i];
    return codes;
  }
  return find_numbers(argument);
}

}  // namespace etb::passes
