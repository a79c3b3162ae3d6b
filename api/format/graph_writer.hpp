// SPDX-License-Identifier: Apache-2.0
// Internal to the graph builder: writes the contents of a Builder as a FlatBuffer, numbered by first use.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/format/graph_builder.hpp"
#include "etb_schema/graph_generated.h"

namespace etb::graph {

class ImageWriter {
 public:
  explicit ImageWriter(const Builder& builder);
  ImageBytes write();

 private:
  template <class T>
  using Offset = flatbuffers::Offset<T>;

  // Returns the number of an item shared by index, assigned at its first use.
  uint32_t string(std::string_view text);
  uint32_t op(std::string_view name);
  uint32_t spec(uint32_t desc);
  uint32_t expr(uint32_t desc);
  uint32_t quant(uint32_t desc);
  uint32_t source(const SourceDesc& desc);

  void write_symbols();
  void write_constants();
  void write_graph(const GraphBuilder& graph, uint32_t first_node_id);
  Offset<fb::Node> write_node(const NodeDesc& node, uint32_t first_output);
  Offset<fb::Argument> write_argument(const ArgumentDesc& arg);
  Offset<fb::Value> write_value(const ValueDesc& value);

  const Builder& builder_;
  flatbuffers::FlatBufferBuilder fbb_;
  std::vector<std::string_view> strings_;
  std::unordered_map<std::string_view, uint32_t> string_numbers_;
  std::unordered_map<uint32_t, uint32_t> op_numbers_;  // by string
  std::vector<uint32_t> spec_numbers_;
  std::vector<uint32_t> expr_numbers_;
  std::map<std::string, uint32_t> quant_numbers_;
  std::map<std::array<uint32_t, 4>, uint32_t> source_numbers_;
  std::vector<Offset<fb::Symbol>> symbols_;
  std::vector<Offset<fb::Expr>> exprs_;
  std::vector<Offset<fb::TensorSpec>> specs_;
  std::vector<Offset<fb::Quantization>> quants_;
  std::vector<Offset<fb::Constant>> constants_;
  std::vector<Offset<fb::Op>> ops_;
  std::vector<Offset<fb::Source>> sources_;
  std::vector<Offset<fb::Graph>> graphs_;
};

}  // namespace etb::graph
