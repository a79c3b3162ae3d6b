// SPDX-License-Identifier: Apache-2.0
// Reads quantised values of a graph: codes behind dequantize nodes, constants, and factors as integers.
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "partitioner_sdk/passes/builder.hpp"

namespace etb::passes {

// An int8 tensor and what its codes mean: (code - zero_point) * scale.
struct QuantisedTensor {
  ValueId codes = 0;
  double scale = 1.0;
  int64_t zero_point = 0, low = -128, high = 127;

  bool has_scale_of(const QuantisedTensor& other) const {
    return scale == other.scale && zero_point == other.zero_point;
  }
  // The code of a real number, as quantize_per_tensor computes it in float32, limited to the range.
  int64_t code_of(double value) const;
};

// Int8 weights with zero points of 0; one scale for each index of dimension 0.
struct QuantisedWeights {
  std::vector<int64_t> sizes;
  std::vector<std::byte> codes;  // row-major
  std::vector<double> scales;
};

// A factor as multiplier / 2^31 * 2^shift, with 2^30 <= multiplier < 2^31. nullopt for one that kernels cannot have.
struct IntegerFactor {
  int32_t multiplier = 0, shift = 0;
};
std::optional<IntegerFactor> find_integer_factor(double factor);

// The nodes seen so far, by their results. A pass adds each node in order, with replaced arguments.
class QuantisedValues {
 public:
  QuantisedValues(ir::Module& module, ir::Graph& graph, const std::vector<ir::Node>& nodes);

  void add(const ir::Node& node);
  const ir::Node* find_producer(const Argument& argument) const;
  // Empty for no node.
  std::string_view op_of(const ir::Node* node) const {
    return node == nullptr ? std::string_view() : std::string_view(module_.op(*node).name);
  }
  uint32_t uses_of(ValueId id) const { return id < uses_.size() ? uses_[id] : 0; }

  // A float32 value that is a dequantize node of an int8 tensor.
  std::optional<QuantisedTensor> find_quantised(const Argument& argument) const;
  // The result of a quantize node to int8.
  std::optional<QuantisedTensor> find_result(const ir::Node& node) const;
  std::optional<QuantisedWeights> find_weights(const Argument& argument) const;
  // Real numbers of a constant, or of one behind a dequantize node.
  std::optional<std::vector<double>> find_reals(const Argument& argument) const;

 private:
  const ir::Constant* find_constant(const Argument& argument) const;
  std::optional<std::vector<double>> find_numbers(const Argument& argument) const;

  ir::Module& module_;
  ir::Graph& graph_;
  std::unordered_map<ValueId, ir::Node> producers_;
  std::unordered_map<ValueId, uint32_t> constants_;
  std::vector<uint32_t> uses_;
};

}  // namespace etb::passes
