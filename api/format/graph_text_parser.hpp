// SPDX-License-Identifier: Apache-2.0
// The grammar of graph texts (docs/graph_image.md), once: a recursive descent parser that passes what it
// reads to a sink. Sinks are the graph image (graph_parser.cpp) and the compiler's module.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/format/graph_argument_parser.hpp"

namespace etb::graph {

// Kinds of inputs that only modules have.
inline constexpr uint32_t kTokenInput = 0x100;

struct ConstantText {
  std::string key;
  TypeText type;
  std::optional<Digest> digest;
  std::optional<std::vector<uint8_t>> data;  // in row-major order; absent: outside, or left out
};

// A value as defined.
struct ValueText {
  std::string name;
  uint32_t kind = ETB_GRAPH_VALUE_TENSOR;
  TypeText type;                     // TENSOR
  std::optional<QuantDesc> quant;    // TENSOR
  std::optional<uint32_t> formula;   // SYM_INT: a term
  std::optional<NumberRange> range;  // SYM_INT
  uint32_t alias = ETB_GRAPH_ALIAS_NONE;
  uint32_t alias_of = 0;
};

struct OutputText {
  enum class Kind { kUser, kUpdate, kBufferUpdate, kInputUpdate, kToken };
  ArgumentDesc value;
  Kind kind = Kind::kUser;
  uint32_t updates = 0;  // kUpdate: value of the input
  std::string target;    // kBufferUpdate, kInputUpdate, kToken: its name
};

// Receives the parts of a text in their order. An error without position gets that of the part.
class TextSink : public TextNames {
 public:
  virtual Status begin(std::string name, std::string producer) = 0;
  virtual Status add_symbol(SymbolDesc symbol) = 0;
  virtual Status declare_op(const std::string& declaration) = 0;  // modules only
  virtual Status add_constant(ConstantText constant) = 0;
  virtual std::optional<uint32_t> find_constant(std::string_view key) = 0;
  virtual void begin_graph(std::string name) = 0;
  // Defines the next value of the graph: of the input or node that follows.
  virtual Status define(ValueText value) = 0;
  virtual Status add_input(uint32_t kind, std::optional<uint32_t> constant, std::string target) = 0;
  virtual Status add_node(NodeDesc node) = 0;  // without outputs
  virtual Status add_output(OutputText output) = 0;
};

class TextParser : ArgumentParser {
 public:
  TextParser(std::string_view text, Dialect dialect, TextSink& sink)
      : ArgumentParser(text, dialect, sink), text_(text), sink_(sink) {}
  Status parse();

 private:
  Status find_graphs();
  Status parse_header();
  Status parse_symbol();
  Status parse_op();
  Status parse_constant();
  Result<std::vector<uint8_t>> parse_elements(int32_t dtype);
  Status parse_element(int32_t dtype, std::vector<uint8_t>& out);
  Status parse_graph(uint32_t index);
  Result<bool> parse_input();
  Status parse_node();
  Status parse_results(NodeDesc& node);
  Status parse_source(NodeDesc& node);
  Status parse_return();
  Result<OutputText> parse_output();
  Status parse_update(OutputText& output);
  Status parse_definition();
  Status parse_value_type(ValueText& value);
  Status parse_sym_int(ValueText& value);
  Result<QuantDesc> parse_quant(uint32_t scheme);
  Status parse_quant_field(QuantDesc& quant, const std::string& field);
  Result<uint32_t> take_constant();

  std::string_view text_;
  TextSink& sink_;
};

}  // namespace etb::graph
