// SPDX-License-Identifier: Apache-2.0
// Builder: builds a graph image. Items may be added in any order; the bytes depend only on the items. Tables
// are numbered by first use, unused specs and texts are dropped, so equal graphs have equal bytes.
//
//   Builder builder("forward");
//   const uint32_t spec = builder.add_spec({ETB_DTYPE_FLOAT32, {2, 3}});
//   GraphBuilder& graph = builder.add_graph("forward");
//   const uint32_t x = graph.add_input(tensor("x", spec));
//   const uint32_t y = graph.add_node({.op = "aten.relu.default", .args = {value_arg(x)}, .outputs = {tensor("y", spec)}});
//   graph.add_output(y);
//   ETB_ASSIGN(ImageBytes image, builder.finish());
//
// The builder checks nothing. finish() runs the verifier.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etb/cpp/result.hpp"
#include "etb/graph.h"

namespace etb::graph {

class Argument;

// Bytes of an image, aligned as ABI-GRAPH-02 requires.
class ImageBytes {
 public:
  ImageBytes() = default;
  explicit ImageBytes(std::span<const uint8_t> copied);
  std::span<const uint8_t> span() const;
  etb_graph_image to_c() const;

 private:
  struct alignas(ETB_GRAPH_ALIGNMENT) Block {
    uint8_t bytes[ETB_GRAPH_ALIGNMENT];
  };
  std::vector<Block> blocks_;
  size_t nbytes_ = 0;
};

using Digest = std::array<uint8_t, ETB_GRAPH_DIGEST_NBYTES>;

struct SymbolDesc {
  std::string name;
  int64_t min = 0;
  int64_t max = ETB_GRAPH_UNBOUNDED;
  std::optional<int64_t> hint;
};

struct SpecDesc {
  // A dynamic dimension. Its upper bound is in `sizes`.
  struct DynamicDim {
    uint32_t dim = 0;
    int64_t min = 0;
    std::optional<uint32_t> expr;  // from add_expr
    auto operator<=>(const DynamicDim&) const = default;
  };
  int32_t dtype = 0;
  std::vector<int64_t> sizes = {};
  std::vector<uint8_t> dim_order = {};  // empty: 0, 1, 2, ...
  std::vector<DynamicDim> dynamic_dims = {};
  auto operator<=>(const SpecDesc&) const = default;
};

// Reads only the fields of the scheme (etb_graph_quant).
struct QuantDesc {
  uint32_t scheme = ETB_GRAPH_QUANT_PER_TENSOR;
  int32_t expressed_dtype = ETB_DTYPE_FLOAT32;
  int64_t quant_min = 0;
  int64_t quant_max = 0;
  double scale = 0;
  int64_t zero_point = 0;
  uint32_t axis = 0;
  std::vector<int64_t> block_sizes;
  std::optional<uint32_t> scales;
  std::optional<uint32_t> zero_points;
  std::string codec;
  std::vector<uint8_t> codec_data;
};

struct ConstantDesc {
  std::string key;
  uint32_t spec = 0;
  std::optional<Digest> digest;              // absent: computed from the data
  std::optional<std::vector<uint8_t>> data;  // inline
  std::optional<uint64_t> nbytes;            // absent: size of the spec
};

struct SourceDesc {
  std::string file;
  uint32_t line = 0;
  std::string function;
  std::string module;
  auto operator<=>(const SourceDesc&) const = default;
};

struct ValueDesc {
  std::string name;
  uint32_t kind = ETB_GRAPH_VALUE_TENSOR;
  uint32_t spec = 0;
  std::optional<uint32_t> quant;
  std::optional<uint32_t> expr;
  int64_t min = INT64_MIN;
  int64_t max = ETB_GRAPH_UNBOUNDED;
  uint32_t alias = ETB_GRAPH_ALIAS_NONE;
  uint32_t alias_of = 0;
};

// Reads only the fields of the kind (etb_graph_argument).
struct ArgumentDesc {
  uint32_t kind = ETB_GRAPH_ARGUMENT_NONE;
  std::string name;
  uint32_t value = 0;
  int64_t as_int = 0;
  double as_float = 0;
  std::string text;
  std::vector<uint32_t> values;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  std::vector<std::string> strings;
};

struct NodeDesc {
  std::string op;
  std::vector<ArgumentDesc> args;
  std::vector<ValueDesc> outputs;
  std::vector<int32_t> result_lengths;
  uint32_t debug_handle = 0;
  std::optional<SourceDesc> source;
};

ValueDesc tensor(std::string name, uint32_t spec);
ValueDesc sym_int(std::string name, std::optional<uint32_t> expr = {});

ArgumentDesc none_arg(std::string name = {});
ArgumentDesc value_arg(uint32_t value, std::string name = {});
ArgumentDesc values_arg(std::vector<uint32_t> values, std::string name = {});
ArgumentDesc int_arg(int64_t value, std::string name = {});
ArgumentDesc float_arg(double value, std::string name = {});
ArgumentDesc bool_arg(bool value, std::string name = {});
ArgumentDesc string_arg(std::string text, std::string name = {});
ArgumentDesc device_arg(std::string text, std::string name = {});
ArgumentDesc code_arg(uint32_t kind, int64_t code, std::string name = {});  // DTYPE, LAYOUT, MEMORY_FORMAT
ArgumentDesc ints_arg(std::vector<int64_t> ints, std::string name = {});
ArgumentDesc floats_arg(std::vector<double> floats, std::string name = {});
ArgumentDesc bools_arg(std::vector<int64_t> bools, std::string name = {});
ArgumentDesc strings_arg(std::vector<std::string> strings, std::string name = {});
// Uses ints[i] where values[i] == ETB_GRAPH_NONE. The kind is INTS when all are.
ArgumentDesc sym_ints_arg(std::vector<uint32_t> values, std::vector<int64_t> ints, std::string name = {});
ArgumentDesc complex_arg(double real, double imaginary, std::string name = {});
ArgumentDesc graph_arg(uint32_t graph, std::string name = {});
// Copies an argument of an image. Values and graphs keep the image's numbers.
ArgumentDesc copy_argument(const Argument& argument);

// Calls visit(uint32_t&) for every value that an argument names.
template <class Visit>
void for_each_value(ArgumentDesc& argument, Visit visit) {
  if (argument.kind == ETB_GRAPH_ARGUMENT_VALUE) visit(argument.value);
  for (uint32_t& value : argument.values)
    if (value != ETB_GRAPH_NONE) visit(value);
}

// One graph under construction.
class GraphBuilder {
 public:
  uint32_t index() const { return index_; }
  // Add all inputs before the first node. `target` is the module's name of a parameter, buffer or constant.
  // Returns the value's index.
  uint32_t add_input(ValueDesc value, uint32_t kind = ETB_GRAPH_INPUT_USER, std::string target = {},
                     std::optional<uint32_t> constant = {});
  // Returns the index of the first value that the node defines.
  uint32_t add_node(NodeDesc node);
  // With `updates`, the value becomes the new contents of that input.
  void add_output(uint32_t value, std::optional<uint32_t> updates = {});

 private:
  friend class Builder;
  friend class ImageWriter;
  struct Input {
    ValueDesc value;
    uint32_t kind;
    std::string target;
    std::optional<uint32_t> constant;
  };
  struct Output {
    uint32_t value;
    std::optional<uint32_t> updates;
  };
  GraphBuilder(uint32_t index, std::string name) : index_(index), name_(std::move(name)) {}

  uint32_t index_;
  std::string name_;
  uint32_t value_count_ = 0;
  std::vector<Input> inputs_;
  std::vector<NodeDesc> nodes_;
  std::vector<Output> outputs_;
};

class Builder {
 public:
  explicit Builder(std::string method_name, std::string producer = {});
  void require_feature(std::string feature) { features_.push_back(std::move(feature)); }

  // Each returns the item's number. Equal specs and terms have equal numbers.
  uint32_t add_symbol(SymbolDesc symbol);
  uint32_t add_spec(SpecDesc spec);
  uint32_t add_quant(QuantDesc quant);
  uint32_t add_int_expr(int64_t value);
  uint32_t add_symbol_expr(uint32_t symbol);
  uint32_t add_expr(uint32_t kind, uint32_t left, uint32_t right);
  uint32_t add_constant(ConstantDesc constant);

  // Graph 0 is the method. Add a graph before the graphs that it refers to. The returned reference stays
  // valid.
  GraphBuilder& add_graph(std::string name);
  GraphBuilder& graph(uint32_t index) { return *graphs_.at(index); }

  // Returns the verified image. The builder is unchanged.
  [[nodiscard]] Result<ImageBytes> finish() const;
  // Returns the image without verification, for tests of the verifier.
  ImageBytes finish_unverified() const;

 private:
  friend class ImageWriter;
  struct Expr {
    uint32_t kind;
    int64_t value;
    uint32_t left;
    uint32_t right;
    auto operator<=>(const Expr&) const = default;
  };
  uint32_t intern(const Expr& expr);

  std::string name_;
  std::string producer_;
  std::vector<std::string> features_;
  std::vector<SymbolDesc> symbols_;
  std::vector<Expr> exprs_;
  std::map<Expr, uint32_t> expr_numbers_;
  std::vector<SpecDesc> specs_;
  std::map<SpecDesc, uint32_t> spec_numbers_;
  std::vector<QuantDesc> quants_;
  std::vector<ConstantDesc> constants_;
  std::vector<std::unique_ptr<GraphBuilder>> graphs_;
};

}  // namespace etb::graph
