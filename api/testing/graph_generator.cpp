// SPDX-License-Identifier: Apache-2.0
#include "api/testing/graph_generator.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace etb::graph {
namespace {

// splitmix64: small, and equal on every machine, unlike the distributions of <random>.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint32_t below(uint64_t count) { return static_cast<uint32_t>(next() % count); }
  bool chance(uint32_t percent) { return below(100) < percent; }
  int64_t between(int64_t low, int64_t high) { return low + below(static_cast<uint64_t>(high - low) + 1); }
  template <class T>
  const T& pick(const std::vector<T>& items) {
    return items[below(items.size())];
  }

 private:
  uint64_t state_;
};

class Generator {
 public:
  Generator(uint64_t seed, uint32_t node_count)
      : random_(seed),
        node_count_(node_count),
        builder_(text("method"), random_.chance(50) ? "generator" : "") {}

  Builder generate() {
    add_symbols();
    add_constants();
    const uint32_t graph_count = 1 + random_.below(4);
    for (uint32_t i = 0; i < graph_count; ++i)
      builder_.add_graph(i == 0 ? "main" : text("body") + std::to_string(i));
    for (uint32_t i = 0; i < graph_count; ++i) fill_graph(i, graph_count);
    return std::move(builder_);
  }

 private:
  struct Known {
    uint32_t index;
    uint32_t kind;
    uint32_t spec;
  };

  // Mostly plain text, sometimes text that needs quotes and escapes.
  std::string text(const std::string& plain) {
    static const std::vector<std::string> kOdd = {
        "with space",       "quo\"te", "back\\slash", "new\nline", "\x01\x7f", "gr\xc3\xbc\xc3\x9f",
        "\xf0\x9f\x98\x80", "1starts", ".dot",        "a-b",       "#"};
    return random_.chance(90) ? plain : plain + random_.pick(kOdd);
  }

  void add_symbols() {
    const uint32_t symbol_count = random_.below(4);
    for (uint32_t i = 0; i < symbol_count; ++i) {
      SymbolDesc symbol;
      symbol.name = "s" + std::to_string(i);
      symbol.min = random_.chance(20) ? INT64_MIN : random_.between(0, 4);
      symbol.max = random_.chance(30) ? ETB_GRAPH_UNBOUNDED : random_.between(4, 100);
      if (random_.chance(50)) symbol.hint = 4;
      symbols_.push_back(symbol);
      builder_.add_symbol(symbol);
    }
  }

  uint32_t expr(uint32_t depth) {
    const uint32_t kind = depth == 0 ? random_.below(2) : random_.below(8);
    if (kind == ETB_GRAPH_EXPR_SYMBOL && !symbols_.empty())
      return builder_.add_symbol_expr(random_.below(symbols_.size()));
    if (kind < 2) return builder_.add_int_expr(random_.between(-3, 9));
    const uint32_t left = expr(depth - 1);
    const bool divides = kind == ETB_GRAPH_EXPR_FLOOR_DIV || kind == ETB_GRAPH_EXPR_MOD;
    const uint32_t right = divides ? builder_.add_int_expr(random_.between(1, 5)) : expr(depth - 1);
    return builder_.add_expr(kind, left, right);
  }

  int32_t dtype() {
    static const std::vector<int32_t> kDtypes = {
#define ETB_DTYPE(name, value, bits, text) value,
#include "etb/dtype.def"
#undef ETB_DTYPE
    };
    return random_.pick(kDtypes);
  }

  std::vector<uint8_t> dim_order(size_t rank) {
    std::vector<uint8_t> order;
    if (!random_.chance(30)) return order;
    for (size_t i = 0; i < rank; ++i) order.push_back(static_cast<uint8_t>(i));
    for (size_t i = rank; i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    return order;
  }

  uint32_t static_spec(int32_t type, std::vector<int64_t> sizes) {
    const size_t rank = sizes.size();
    return builder_.add_spec({type, std::move(sizes), dim_order(rank), {}});
  }

  uint32_t any_spec() {
    SpecDesc spec;
    spec.dtype = dtype();
    const uint32_t rank = random_.below(random_.chance(5) ? ETB_MAX_RANK + 1 : 5);
    for (uint32_t dim = 0; dim < rank; ++dim) {
      spec.sizes.push_back(random_.between(random_.chance(5) ? 0 : 1, 7));
      if (!random_.chance(20)) continue;
      SpecDesc::DynamicDim dynamic;
      dynamic.dim = dim;
      if (random_.chance(20)) {
        spec.sizes[dim] = -1;
        dynamic.min = random_.between(0, 3);
      } else {
        dynamic.min = random_.between(0, spec.sizes[dim]);
      }
      // Adds an operator, because a plain symbol would have to keep the symbol's range.
      if (random_.chance(70)) {
        dynamic.expr = builder_.add_expr(ETB_GRAPH_EXPR_ADD, expr(random_.below(4)), expr(random_.below(3)));
      }
      spec.dynamic_dims.push_back(dynamic);
    }
    spec.dim_order = dim_order(rank);
    return builder_.add_spec(std::move(spec));
  }

  uint32_t add_constant(std::vector<int64_t> sizes, int32_t type, uint32_t element_nbytes) {
    ConstantDesc constant;
    constant.key = text("weight" + std::to_string(constants_.size()));
    size_t nbytes = element_nbytes;
    for (const int64_t size : sizes) nbytes *= static_cast<size_t>(size);
    constant.spec = static_spec(type, std::move(sizes));
    if (random_.chance(50)) {
      constant.data.emplace(nbytes);
      for (uint8_t& byte : *constant.data) byte = static_cast<uint8_t>(random_.next());
    } else {
      constant.digest.emplace();
      for (uint8_t& byte : *constant.digest) byte = static_cast<uint8_t>(random_.next());
    }
    constants_.push_back(constant.spec);
    return builder_.add_constant(std::move(constant));
  }

  void add_constants() {
    const uint32_t constant_count = random_.below(4);
    for (uint32_t i = 0; i < constant_count; ++i) {
      add_constant({random_.between(0, 4), random_.between(1, 4)}, ETB_DTYPE_FLOAT32, 4);
    }
    const int64_t channels = random_.between(1, 4);
    quantised_spec_ = static_spec(ETB_DTYPE_INT8, {channels, 6});
    QuantDesc per_tensor;
    per_tensor.quant_min = -128;
    per_tensor.quant_max = 127;
    per_tensor.scale = 0.1 * static_cast<double>(random_.between(1, 9));
    per_tensor.zero_point = random_.between(-5, 5);
    quants_.push_back(builder_.add_quant(per_tensor));
    QuantDesc dynamic = per_tensor;
    dynamic.scheme =
        random_.chance(50) ? ETB_GRAPH_QUANT_PER_TENSOR_DYNAMIC : ETB_GRAPH_QUANT_PER_TOKEN_DYNAMIC;
    dynamic.scale = 0;
    dynamic.zero_point = 0;
    dynamic.expressed_dtype = ETB_DTYPE_FLOAT16;
    quants_.push_back(builder_.add_quant(dynamic));
    QuantDesc per_channel = dynamic;
    per_channel.scheme = ETB_GRAPH_QUANT_PER_CHANNEL;
    per_channel.scales = add_constant({channels}, ETB_DTYPE_FLOAT32, 4);
    if (random_.chance(50)) per_channel.zero_points = add_constant({channels}, ETB_DTYPE_INT32, 4);
    quants_.push_back(builder_.add_quant(per_channel));
    QuantDesc per_group = dynamic;
    per_group.scheme = ETB_GRAPH_QUANT_PER_GROUP;
    per_group.block_sizes = {1, 3};
    per_group.scales = add_constant({channels, 2}, ETB_DTYPE_FLOAT16, 2);
    quants_.push_back(builder_.add_quant(per_group));
    QuantDesc opaque;
    opaque.scheme = ETB_GRAPH_QUANT_OPAQUE;
    opaque.codec = "org.example.codec/1";
    opaque.codec_data = {1, 2, 0xff};
    if (random_.chance(50)) opaque.codec_data.clear();
    quants_.push_back(builder_.add_quant(opaque));
  }

  ValueDesc value(const std::string& name) {
    ValueDesc value;
    value.name = text(name);
    const uint32_t roll = random_.below(100);
    if (roll < 75) {
      value.spec = any_spec();
      if (random_.chance(20)) {
        value.spec = quantised_spec_;
        value.quant = random_.pick(quants_);
      }
    } else if (roll < 90) {
      value.kind = ETB_GRAPH_VALUE_SYM_INT;
      if (random_.chance(50)) value.expr = expr(3);
      if (random_.chance(50)) value.min = random_.between(-4, 4);
      if (random_.chance(50)) value.max = random_.between(4, 40);
    } else {
      value.kind = roll < 95 ? ETB_GRAPH_VALUE_SYM_FLOAT : ETB_GRAPH_VALUE_SYM_BOOL;
    }
    return value;
  }

  void know(uint32_t index, const ValueDesc& value) {
    if (value.kind != ETB_GRAPH_VALUE_NONE) known_.push_back({index, value.kind, value.spec});
  }

  // Returns a usable value of the kind, or nullopt.
  std::optional<Known> find_value(uint32_t kind) {
    if (known_.empty()) return std::nullopt;
    const uint32_t start = random_.below(known_.size());
    for (size_t i = 0; i < known_.size() && i < 20; ++i) {
      const Known& known = known_[(start + i) % known_.size()];
      if (known.kind == kind) return known;
    }
    return std::nullopt;
  }

  void fill_graph(uint32_t index, uint32_t graph_count) {
    GraphBuilder& graph = builder_.graph(index);
    known_.clear();
    value_count_ = 0;
    add_inputs(graph);
    for (uint32_t i = 0; i < node_count_; ++i) add_node(graph, index, graph_count, i);
    add_outputs(graph);
  }

  void add_inputs(GraphBuilder& graph) {
    const uint32_t input_count = 1 + random_.below(5);
    for (uint32_t i = 0; i < input_count; ++i) {
      ValueDesc defined = value("x" + std::to_string(i));
      uint32_t kind = ETB_GRAPH_INPUT_USER;
      std::string target;
      std::optional<uint32_t> constant;
      if (graph.index() == 0 && defined.kind == ETB_GRAPH_VALUE_TENSOR && random_.chance(60)) {
        kind = ETB_GRAPH_INPUT_PARAMETER + random_.below(3);
        target = text("module.weight");
        if (kind != ETB_GRAPH_INPUT_BUFFER || random_.chance(50)) {
          constant = random_.below(constants_.size());
          defined.spec = constants_[*constant];
          defined.quant.reset();
        }
      }
      const bool is_updatable = graph.index() == 0 && kind != ETB_GRAPH_INPUT_CONSTANT;
      if (is_updatable) updatable_inputs_.push_back({value_count_, defined.kind, defined.spec});
      know(graph.add_input(defined, kind, std::move(target), constant), defined);
      ++value_count_;
    }
  }

  void add_node(GraphBuilder& graph, uint32_t index, uint32_t graph_count, uint32_t number) {
    static const std::vector<std::string> kOps = {"aten.add.Tensor",
                                                  "aten.relu.default",
                                                  "aten.split_copy.Tensor",
                                                  "quantized_decomposed.quantize_per_tensor.default",
                                                  "executorch_prim.mul.Scalar",
                                                  "my_ns._op.out"};
    NodeDesc node;
    node.op = random_.pick(kOps);
    if (number + 1 == node_count_ && index + 1 < graph_count) {
      node.op = "higher_order.cond.default";
      node.args.push_back(graph_arg(index + 1, "true_fn"));
      if (random_.chance(50)) node.args.push_back(graph_arg(random_.between(index + 1, graph_count - 1)));
    }
    const uint32_t arg_count = random_.below(7);
    for (uint32_t i = 0; i < arg_count; ++i) {
      ArgumentDesc arg = argument();
      if (random_.chance(60)) arg.name = text("arg" + std::to_string(i));
      node.args.push_back(std::move(arg));
    }
    add_results(node, number);
    if (random_.chance(50)) node.debug_handle = static_cast<uint32_t>(random_.next());
    if (random_.chance(70)) {
      node.source =
          SourceDesc{random_.chance(70) ? text("model.py") : "", random_.below(3),
                     random_.chance(50) ? text("forward") : "", random_.chance(50) ? text("layer1.0") : ""};
    }
    const std::vector<ValueDesc> outputs = node.outputs;
    uint32_t value_index = graph.add_node(std::move(node));
    for (const ValueDesc& output : outputs) know(value_index++, output);
    value_count_ = value_index;
    // An overwritten value must not be used again.
    for (const ValueDesc& output : outputs) {
      if (output.alias != ETB_GRAPH_ALIAS_UPDATE) continue;
      known_.erase(std::remove_if(known_.begin(), known_.end(),
                                  [&](const Known& known) { return known.index == output.alias_of; }),
                   known_.end());
    }
  }

  void add_results(NodeDesc& node, uint32_t number) {
    const uint32_t result_count = random_.chance(80) ? 1 : random_.below(4);
    bool has_update = false;
    for (uint32_t result = 0; result < result_count; ++result) {
      const int32_t length = random_.chance(85) ? -1 : static_cast<int32_t>(random_.below(4));
      node.result_lengths.push_back(length);
      for (int32_t i = 0; i < std::abs(length); ++i) {
        ValueDesc output = value("v" + std::to_string(number) + "_" + std::to_string(node.outputs.size()));
        if (random_.chance(5)) {
          output = {};
          output.name = "unused" + std::to_string(number) + "_" + std::to_string(node.outputs.size());
          output.kind = ETB_GRAPH_VALUE_NONE;
        }
        const auto aliased = find_value(ETB_GRAPH_VALUE_TENSOR);
        if (output.kind == ETB_GRAPH_VALUE_TENSOR && aliased && random_.chance(10) && !has_update) {
          output.alias = random_.chance(70) ? ETB_GRAPH_ALIAS_VIEW : ETB_GRAPH_ALIAS_UPDATE;
          output.alias_of = aliased->index;
          has_update = output.alias == ETB_GRAPH_ALIAS_UPDATE;
        }
        node.outputs.push_back(std::move(output));
      }
    }
  }

  double any_float() {
    static const std::vector<double> kFloats = {0.0,
                                                -0.0,
                                                1.0,
                                                0.1,
                                                1e-5,
                                                1e300,
                                                -2.5,
                                                5e-324,
                                                std::numeric_limits<double>::infinity(),
                                                -std::numeric_limits<double>::infinity(),
                                                std::numeric_limits<double>::quiet_NaN(),
                                                123456789.0};
    if (random_.chance(70)) return random_.pick(kFloats);
    const uint64_t bits = random_.next();
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }

  int64_t any_int() {
    return random_.chance(80) ? random_.between(-9, 9) : static_cast<int64_t>(random_.next());
  }

  ArgumentDesc argument() {
    const uint32_t kind = random_.below(ETB_GRAPH_ARGUMENT_GRAPH);
    const auto repeat = [&](auto make) {
      std::vector<decltype(make())> items(random_.below(4));
      for (auto& item : items) item = make();
      return items;
    };
    switch (kind) {
      case ETB_GRAPH_ARGUMENT_VALUE:
        return known_.empty() ? none_arg() : value_arg(random_.pick(known_).index);
      case ETB_GRAPH_ARGUMENT_VALUES:
        return values_arg(repeat([&] {
          const auto found = find_value(ETB_GRAPH_VALUE_TENSOR);
          return found && random_.chance(80) ? found->index : ETB_GRAPH_NONE;
        }));
      case ETB_GRAPH_ARGUMENT_INT:
        return int_arg(any_int());
      case ETB_GRAPH_ARGUMENT_FLOAT:
        return float_arg(any_float());
      case ETB_GRAPH_ARGUMENT_BOOL:
        return bool_arg(random_.chance(50));
      case ETB_GRAPH_ARGUMENT_STRING:
        return string_arg(text("mode"));
      case ETB_GRAPH_ARGUMENT_DTYPE:
        return code_arg(kind, dtype());
      case ETB_GRAPH_ARGUMENT_LAYOUT:
        return code_arg(kind, random_.below(8));
      case ETB_GRAPH_ARGUMENT_MEMORY_FORMAT:
        return code_arg(kind, random_.below(4));
      case ETB_GRAPH_ARGUMENT_DEVICE:
        return device_arg(random_.chance(50) ? "cpu" : "cuda:0");
      case ETB_GRAPH_ARGUMENT_INTS:
        return ints_arg(repeat([&] { return any_int(); }));
      case ETB_GRAPH_ARGUMENT_FLOATS:
        return floats_arg(repeat([&] { return any_float(); }));
      case ETB_GRAPH_ARGUMENT_BOOLS:
        return bools_arg(repeat([&] { return int64_t{random_.below(2)}; }));
      case ETB_GRAPH_ARGUMENT_STRINGS:
        return strings_arg(repeat([&] { return text("s"); }));
      case ETB_GRAPH_ARGUMENT_SYM_INTS: {
        const auto values = repeat([&] {
          const auto found = find_value(ETB_GRAPH_VALUE_SYM_INT);
          return found && random_.chance(60) ? found->index : ETB_GRAPH_NONE;
        });
        std::vector<int64_t> ints;
        for (const uint32_t used : values) ints.push_back(used == ETB_GRAPH_NONE ? any_int() : 0);
        return sym_ints_arg(values, ints);
      }
      case ETB_GRAPH_ARGUMENT_COMPLEX:
        return complex_arg(any_float(), any_float());
      default:
        return none_arg();
    }
  }

  void add_outputs(GraphBuilder& graph) {
    const uint32_t output_count = random_.below(4);
    for (uint32_t i = 0; i < output_count && !known_.empty(); ++i)
      graph.add_output(random_.pick(known_).index);
    if (graph.index() != 0) return;
    for (const Known& input : updatable_inputs_) {
      for (const Known& known : known_) {
        if (input.kind != ETB_GRAPH_VALUE_TENSOR || known.kind != input.kind || known.spec != input.spec)
          continue;
        graph.add_output(known.index, input.index);
        break;
      }
    }
  }

  Random random_;
  uint32_t node_count_;
  Builder builder_;
  std::vector<SymbolDesc> symbols_;
  std::vector<uint32_t> constants_;  // their specs
  std::vector<uint32_t> quants_;
  uint32_t quantised_spec_ = 0;
  std::vector<Known> known_;  // usable values of the current graph
  std::vector<Known> updatable_inputs_;
  uint32_t value_count_ = 0;
};

}  // namespace

Builder random_graph(uint64_t seed, uint32_t node_count) { return Generator(seed, node_count).generate(); }

Builder chain_graph(uint32_t node_count) {
  Builder builder("forward", "generator");
  const uint32_t activation = builder.add_spec({ETB_DTYPE_FLOAT32, {1, 64, 56, 56}, {}, {}});
  const uint32_t weight = builder.add_spec({ETB_DTYPE_FLOAT32, {64, 64, 3, 3}, {}, {}});
  const uint32_t weight_count = (node_count + 2) / 3;
  GraphBuilder& graph = builder.add_graph("forward");
  uint32_t last = graph.add_input(tensor("x", activation));
  std::vector<uint32_t> weights;
  for (uint32_t i = 0; i < weight_count; ++i) {
    const std::string name = "layers." + std::to_string(i) + ".weight";
    ConstantDesc constant;
    constant.key = name;
    constant.spec = weight;
    const uint32_t stored = builder.add_constant(std::move(constant));
    weights.push_back(
        graph.add_input(tensor("p_" + std::to_string(i), weight), ETB_GRAPH_INPUT_PARAMETER, name, stored));
  }
  uint32_t before = last;
  for (uint32_t i = 0; i < node_count; ++i) {
    NodeDesc node;
    node.outputs = {tensor("v" + std::to_string(i), activation)};
    node.debug_handle = i + 1;
    node.source = SourceDesc{"model.py", 1 + i % 3, "forward", "layers." + std::to_string(i / 3)};
    if (i % 3 == 0) {
      node.op = "aten.convolution.default";
      node.args = {
          value_arg(last, "input"),      value_arg(weights[i / 3], "weight"), none_arg("bias"),
          ints_arg({1, 1}, "stride"),    ints_arg({1, 1}, "padding"),         ints_arg({1, 1}, "dilation"),
          bool_arg(false, "transposed"), ints_arg({0, 0}, "output_padding"),  int_arg(1, "groups")};
    } else if (i % 3 == 1) {
      node.op = "aten.relu.default";
      node.args = {value_arg(last, "self")};
    } else {
      node.op = "aten.add.Tensor";
      node.args = {value_arg(last, "self"), value_arg(before, "other")};
    }
    const uint32_t defined = graph.add_node(std::move(node));
    if (i % 3 == 2) before = defined;
    last = defined;
  }
  graph.add_output(last);
  return builder;
}

}  // namespace etb::graph
