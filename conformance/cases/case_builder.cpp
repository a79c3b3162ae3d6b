// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/case_builder.hpp"

#include <cctype>

namespace etb::conformance {

uint32_t CaseBuilder::spec(const Shape& shape) {
  graph::SpecDesc desc;
  desc.dtype = shape.dtype;
  desc.sizes = shape.sizes;
  desc.dim_order = shape.dim_order;
  return builder_.add_spec(desc);
}

uint32_t CaseBuilder::input(TensorData data) {
  graph::ValueDesc value = graph::tensor("x" + std::to_string(input_count_++), spec(data.shape));
  inputs_.push_back(std::move(data));
  ++value_count_;
  return graph_->add_input(std::move(value));
}

uint32_t CaseBuilder::input(const Shape& shape, Values values, const Domain& domain) {
  return input(make_values(shape, values, domain, input_count_ + constant_count_, random_));
}

uint32_t CaseBuilder::constant(const TensorData& data) {
  const std::string key = "w" + std::to_string(constant_count_++);
  graph::ConstantDesc constant;
  constant.key = key;
  constant.spec = spec(data.shape);
  const auto* bytes = reinterpret_cast<const uint8_t*>(data.bytes.data());
  constant.data = std::vector<uint8_t>(bytes, bytes + data.bytes.size());
  return graph_->add_input(graph::tensor(key, constant.spec), ETB_GRAPH_INPUT_PARAMETER, key,
                           builder_.add_constant(constant));
}

uint32_t CaseBuilder::node(const std::string& op, std::vector<graph::ArgumentDesc> args,
                           const Shape& result) {
  return node(op, std::move(args), std::vector<Shape>{result});
}

uint32_t CaseBuilder::node(const std::string& op, std::vector<graph::ArgumentDesc> args,
                           const std::vector<Shape>& results, std::vector<int32_t> result_lengths) {
  graph::NodeDesc desc;
  desc.op = op;
  desc.args = std::move(args);
  desc.result_lengths = std::move(result_lengths);
  desc.debug_handle = ++node_count_;
  for (const Shape& result : results)
    desc.outputs.push_back(graph::tensor("y" + std::to_string(value_count_++), spec(result)));
  return graph_->add_node(desc);
}

Result<BuiltCase> CaseBuilder::finish(ErrorModel error_model) {
  BuiltCase built;
  ETB_ASSIGN(built.image, builder_.finish());
  built.runs.push_back(std::move(inputs_));
  built.error_model = std::move(error_model);
  return built;
}

std::vector<uint8_t> channels_last(size_t rank) {
  std::vector<uint8_t> order = {0};
  for (size_t i = 2; i < rank; ++i) order.push_back(static_cast<uint8_t>(i));
  order.push_back(1);
  return order;
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const int64_t size : shape.sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
  if (text.empty()) text = "scalar";
  if (shape.dim_order.empty()) return text;
  if (shape.dim_order == channels_last(shape.sizes.size())) return text + "_cl";
  text += "_o";
  for (const uint8_t dim : shape.dim_order) text += std::to_string(dim);
  return text;
}

std::string op_word(const std::string& edge_name) {
  const size_t first = edge_name.find('.'), second = edge_name.rfind('.');
  std::string word = edge_name.substr(first + 1, second - first - 1);
  if (const std::string overload = edge_name.substr(second + 1); overload != "default")
    word += "_" + overload;
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return "op." + word;
}

}  // namespace etb::conformance
