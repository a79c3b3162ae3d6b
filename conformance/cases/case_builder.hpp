// SPDX-License-Identifier: Apache-2.0
// Builds a case: inputs, nodes, outputs, and the values of one run.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "conformance/cases/case.hpp"
#include "conformance/cases/values.hpp"

namespace etb::conformance {

class CaseBuilder {
 public:
  explicit CaseBuilder(std::string_view name)
      : random_(name), builder_("forward", "conformance"), graph_(&builder_.add_graph("forward")) {}

  // Adds a user input with its values. Returns the value number.
  uint32_t input(const Shape& shape, Values values, const Domain& domain = {});
  uint32_t input(TensorData data);
  // Adds a parameter, whose bytes are stored in the image.
  uint32_t constant(const TensorData& data);
  // Adds a node with one result.
  uint32_t node(const std::string& op, std::vector<graph::ArgumentDesc> args, const Shape& result);
  // Adds a node with several results, each one value.
  uint32_t node(const std::string& op, std::vector<graph::ArgumentDesc> args,
                const std::vector<Shape>& results, std::vector<int32_t> result_lengths = {});
  void output(uint32_t value) { graph_->add_output(value); }

  Random& random() { return random_; }
  graph::Builder& image_builder() { return builder_; }
  graph::GraphBuilder& graph() { return *graph_; }
  uint32_t spec(const Shape& shape);
  std::vector<TensorData>& inputs() { return inputs_; }

  [[nodiscard]] Result<BuiltCase> finish(ErrorModel error_model);

 private:
  Random random_;
  graph::Builder builder_;
  graph::GraphBuilder* graph_;
  std::vector<TensorData> inputs_;
  uint32_t input_count_ = 0;
  uint32_t constant_count_ = 0;
  uint32_t node_count_ = 0;
  uint32_t value_count_ = 0;
};

// Returns "2x3x4", or "scalar" for rank 0, with suffix "_cl" for channels last and "_o021" for any other dim
// order.
std::string shape_text(const Shape& shape);

// Returns dim order 0, 2, ..., rank - 1, 1.
std::vector<uint8_t> channels_last(size_t rank);

inline constexpr etb_dtype kFloats[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64, ETB_DTYPE_FLOAT16,
                                        ETB_DTYPE_BFLOAT16};
inline constexpr etb_dtype kIntegers[] = {ETB_DTYPE_INT64, ETB_DTYPE_INT32, ETB_DTYPE_INT16, ETB_DTYPE_INT8,
                                          ETB_DTYPE_UINT8};
inline constexpr etb_dtype kAllDtypes[] = {
    ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64, ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16, ETB_DTYPE_INT64,
    ETB_DTYPE_INT32,   ETB_DTYPE_INT16,   ETB_DTYPE_INT8,    ETB_DTYPE_UINT8,    ETB_DTYPE_BOOL};

// Returns "op.<words of the edge name>": op.add_tensor for aten.add.Tensor, op.relu for aten.relu.default.
std::string op_word(const std::string& edge_name);

}  // namespace etb::conformance
