// SPDX-License-Identifier: Apache-2.0
//
// The graph image in C++: ranges, string_view and optional over the functions of etb/graph.h. Header-only,
// nothing to link. Views and the objects they return are valid as long as the image's bytes. A plugin on the
// base (etb/cpp/plugin.hpp) knows Graph, Node and Value as etb::Graph, etb::Node and etb::Value.
//
//   ETB_ASSIGN(const graph::View view, graph::View::open(image));
//   for (const graph::Node node : view.method().nodes())
//     if (node.op_name() == "aten.add.Tensor") claim(node.id());
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "etb/cpp/result.hpp"
#include "etb/graph.h"

namespace etb::graph {

inline constexpr uint32_t kNone = ETB_GRAPH_NONE;

// The values get(i) for i in [0, count): a range without storage.
template <class Getter>
class Range {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = decltype(std::declval<const Getter&>()(uint32_t{}));
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type*;
    using reference = value_type;

    Iterator(const Getter* getter, uint32_t index) : getter_(getter), index_(index) {}
    value_type operator*() const { return (*getter_)(index_); }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.index_ == b.index_; }

   private:
    const Getter* getter_;
    uint32_t index_;
  };

  Range(Getter getter, uint32_t count) : getter_(getter), count_(count) {}
  Iterator begin() const { return {&getter_, 0}; }
  Iterator end() const { return {&getter_, count_}; }
  uint32_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  auto operator[](uint32_t index) const { return getter_(index); }

 private:
  Getter getter_;
  uint32_t count_;
};

namespace detail {

inline int32_t element_at(etb_graph_list list, uint32_t index, int32_t) {
  return etb_graph_i32_at(list, index);
}
inline uint32_t element_at(etb_graph_list list, uint32_t index, uint32_t) {
  return etb_graph_u32_at(list, index);
}
inline int64_t element_at(etb_graph_list list, uint32_t index, int64_t) {
  return etb_graph_i64_at(list, index);
}
inline double element_at(etb_graph_list list, uint32_t index, double) {
  return etb_graph_f64_at(list, index);
}

template <class T>
struct ElementGetter {
  etb_graph_list list;
  T operator()(uint32_t index) const { return element_at(list, index, T{}); }
};

template <class T>
using Elements = Range<ElementGetter<T>>;

}  // namespace detail

inline detail::Elements<int32_t> to_i32s(etb_graph_list list) { return {{list}, list.count}; }
inline detail::Elements<uint32_t> to_u32s(etb_graph_list list) { return {{list}, list.count}; }
inline detail::Elements<int64_t> to_i64s(etb_graph_list list) { return {{list}, list.count}; }
inline detail::Elements<double> to_f64s(etb_graph_list list) { return {{list}, list.count}; }
inline std::span<const uint8_t> to_bytes(etb_graph_list list) { return {list.data, list.count}; }

namespace detail {

struct BoolGetter {
  etb_graph_list list;
  bool operator()(uint32_t index) const { return etb_graph_i64_at(list, index) != 0; }
};

struct StringGetter {
  const etb_graph_view* view;
  etb_graph_list list;
  std::string_view operator()(uint32_t index) const {
    return etb_graph_string(view, static_cast<uint32_t>(etb_graph_i64_at(list, index)));
  }
};

}  // namespace detail

// The contents of an argument, one type for each kind that has no C++ type of its own (Argument::visit).
namespace arg {

struct None {};
struct Value {
  uint32_t index;
};
struct Dtype {
  etb_dtype code;
};
struct Layout {
  int64_t code;
};
struct MemoryFormat {
  int64_t code;
};
struct Device {
  std::string_view name;
};
struct Complex {
  double real;
  double imaginary;
};
struct Graph {
  uint32_t index;
};
using Values = graph::detail::Elements<uint32_t>;  // kNone: an absent tensor
using Ints = graph::detail::Elements<int64_t>;
using Floats = graph::detail::Elements<double>;
using Bools = Range<graph::detail::BoolGetter>;
using Strings = Range<graph::detail::StringGetter>;
// Item i is the value values[i], or the number ints[i] where values[i] is kNone.
struct SymInts {
  Values values;
  Ints ints;
};

}  // namespace arg

// Makes one visitor of several functions: visit(Overloaded{[](int64_t value) {...}, [](const auto&) {...}}).
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

// One argument of a node.
class Argument {
 public:
  Argument(const etb_graph_view* view, const etb_graph_argument& c) : view_(view), c_(c) {}
  const etb_graph_argument& c() const { return c_; }
  uint32_t kind() const { return c_.kind; }
  std::string_view name() const { return c_.name; }
  bool is_none() const { return c_.kind == ETB_GRAPH_ARGUMENT_NONE; }
  std::optional<uint32_t> value() const { return when(ETB_GRAPH_ARGUMENT_VALUE, c_.value); }
  std::optional<int64_t> as_int() const { return when(ETB_GRAPH_ARGUMENT_INT, c_.as_int); }
  std::optional<double> as_float() const { return when(ETB_GRAPH_ARGUMENT_FLOAT, c_.as_float); }
  std::optional<bool> as_bool() const { return when(ETB_GRAPH_ARGUMENT_BOOL, c_.as_int != 0); }
  std::optional<etb_dtype> as_dtype() const {
    return when(ETB_GRAPH_ARGUMENT_DTYPE, static_cast<etb_dtype>(c_.as_int));
  }
  std::optional<uint32_t> as_graph() const {
    return when(ETB_GRAPH_ARGUMENT_GRAPH, static_cast<uint32_t>(c_.as_int));
  }
  // Text of a STRING or DEVICE.
  std::string_view as_string() const { return c_.as_string; }
  // Lists, empty unless the kind has them (etb_graph_argument).
  arg::Values values() const { return to_u32s(c_.values); }
  arg::Ints ints() const { return to_i64s(c_.ints); }
  arg::Floats floats() const { return to_f64s(c_.floats); }
  // Texts of STRINGS; meaningless for other kinds.
  arg::Strings strings() const { return {{view_, c_.ints}, c_.ints.count}; }
  std::string_view string(uint32_t index) const { return strings()[index]; }

  // Calls `visitor` with the contents: arg::None, arg::Value, arg::Values, int64_t, double, bool,
  // std::string_view, arg::Dtype, ..., one type for each kind. Returns the visitor's result. A kind of a
  // later version is arg::None.
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    switch (c_.kind) {
      case ETB_GRAPH_ARGUMENT_VALUE:
        return visitor(arg::Value{c_.value});
      case ETB_GRAPH_ARGUMENT_VALUES:
        return visitor(values());
      case ETB_GRAPH_ARGUMENT_INT:
        return visitor(c_.as_int);
      case ETB_GRAPH_ARGUMENT_FLOAT:
        return visitor(c_.as_float);
      case ETB_GRAPH_ARGUMENT_BOOL:
        return visitor(c_.as_int != 0);
      case ETB_GRAPH_ARGUMENT_STRING:
        return visitor(as_string());
      case ETB_GRAPH_ARGUMENT_DTYPE:
        return visitor(arg::Dtype{static_cast<etb_dtype>(c_.as_int)});
      case ETB_GRAPH_ARGUMENT_LAYOUT:
        return visitor(arg::Layout{c_.as_int});
      case ETB_GRAPH_ARGUMENT_MEMORY_FORMAT:
        return visitor(arg::MemoryFormat{c_.as_int});
      case ETB_GRAPH_ARGUMENT_DEVICE:
        return visitor(arg::Device{as_string()});
      case ETB_GRAPH_ARGUMENT_INTS:
        return visitor(ints());
      case ETB_GRAPH_ARGUMENT_FLOATS:
        return visitor(floats());
      case ETB_GRAPH_ARGUMENT_BOOLS:
        return visitor(arg::Bools({c_.ints}, c_.ints.count));
      case ETB_GRAPH_ARGUMENT_STRINGS:
        return visitor(strings());
      case ETB_GRAPH_ARGUMENT_SYM_INTS:
        return visitor(arg::SymInts{values(), ints()});
      case ETB_GRAPH_ARGUMENT_COMPLEX:
        return visitor(arg::Complex{etb_graph_f64_at(c_.floats, 0), etb_graph_f64_at(c_.floats, 1)});
      case ETB_GRAPH_ARGUMENT_GRAPH:
        return visitor(arg::Graph{static_cast<uint32_t>(c_.as_int)});
      default:
        return visitor(arg::None{});
    }
  }

 private:
  template <class T>
  std::optional<T> when(uint32_t kind, T value) const {
    return c_.kind == kind ? std::optional<T>(value) : std::nullopt;
  }

  const etb_graph_view* view_;
  etb_graph_argument c_;
};

// A value of a graph: an input, or a result of a node.
class Value {
 public:
  Value(const etb_graph_view* view, const etb_graph_body& body, uint32_t graph, uint32_t id)
      : view_(view), graph_(graph), id_(id), c_(etb_graph_get_value(view, &body, id)) {}

  const etb_graph_value& c() const { return c_; }
  uint32_t id() const { return id_; }
  uint32_t kind() const { return c_.kind; }
  std::string_view name() const { return c_.name; }
  bool is_tensor() const { return c_.kind == ETB_GRAPH_VALUE_TENSOR; }
  bool is_quantized() const { return c_.quant != kNone; }
  // Scheme and numbers of a quantised value. Call it only if is_quantized().
  etb_graph_quant quant() const { return etb_graph_get_quant(view_, c_.quant); }
  etb_graph_spec spec() const { return etb_graph_get_spec(view_, c_.spec); }

  // True if the bytes are fixed ahead of time or kept in a buffer, so that no caller passes them at run time.
  bool is_constant_or_state() const {
    const etb_graph_body body = etb_graph_get_body(view_, graph_);
    return id_ < body.inputs.count && etb_graph_get_input(view_, &body, id_).kind != ETB_GRAPH_INPUT_USER;
  }

  // True if both have equal sizes in every run: equal numbers, and for dynamic dimensions the same formula.
  bool has_sizes_of(const Value& other) const {
    const etb_graph_spec mine = spec(), theirs = other.spec();
    if (mine.rank != theirs.rank || mine.dynamic_dims != theirs.dynamic_dims) return false;
    for (uint32_t i = 0; i < mine.rank; ++i) {
      const bool is_dynamic = (mine.dynamic_dims >> i & 1) != 0;
      const bool same_formula = mine.exprs[i] == theirs.exprs[i] && mine.exprs[i] != kNone;
      if (mine.sizes[i] != theirs.sizes[i] || (is_dynamic && !same_formula)) return false;
    }
    return true;
  }

 private:
  const etb_graph_view* view_;
  uint32_t graph_;
  uint32_t id_;
  etb_graph_value c_;
};

class Node {
 public:
  Node(const etb_graph_view* view, const etb_graph_body& body, uint32_t graph, uint32_t index)
      : view_(view),
        values_(body.values),
        graph_(graph),
        id_(body.first_node_id + index),
        c_(etb_graph_get_node(view, &body, index)) {}
  const etb_graph_node& c() const { return c_; }
  uint32_t id() const { return id_; }
  uint32_t op() const { return c_.op; }
  std::string_view op_name() const { return etb_graph_op_name(view_, c_.op); }
  uint32_t first_output() const { return c_.first_output; }
  uint32_t output_count() const { return c_.output_count; }
  auto result_lengths() const { return to_i32s(c_.result_lengths); }
  uint32_t debug_handle() const { return c_.debug_handle; }
  std::optional<etb_graph_source> source() const {
    if (c_.source == kNone) return std::nullopt;
    return etb_graph_get_source(view_, c_.source);
  }
  auto args() const { return Range(ArgumentGetter{view_, c_}, c_.args.count); }
  Argument arg(uint32_t index) const { return {view_, etb_graph_get_argument(view_, &c_, index)}; }
  std::optional<Argument> find_arg(const char* name) const {
    const uint32_t index = etb_graph_find_argument(view_, &c_, name);
    if (index == kNone) return std::nullopt;
    return arg(index);
  }

  // Returns the values among the arguments in their order, values in lists included.
  std::vector<Value> operands() const {
    const etb_graph_body body = body_of_values();
    std::vector<Value> found;
    for (const Argument& argument : args()) {
      if (const auto id = argument.value()) found.emplace_back(view_, body, graph_, *id);
      for (const uint32_t id : argument.values())
        if (id != kNone) found.emplace_back(view_, body, graph_, id);
    }
    return found;
  }
  std::vector<Value> results() const {
    const etb_graph_body body = body_of_values();
    std::vector<Value> found;
    for (uint32_t i = 0; i < output_count(); ++i) found.emplace_back(view_, body, graph_, first_output() + i);
    return found;
  }
  // True if the node only computes numbers. The host adds such nodes to a region where others need a size as
  // an argument. A plugin need not have claimed them, and may skip them when it reads sizes from the tensors.
  bool gives_numbers() const {
    const etb_graph_body body = body_of_values();
    for (uint32_t i = 0; i < output_count(); ++i)
      if (etb_graph_get_value(view_, &body, first_output() + i).kind == ETB_GRAPH_VALUE_TENSOR) return false;
    return output_count() > 0;
  }

 private:
  // Getters hold copies, so that a range outlives the node or graph that made it:
  // for (... : view.method().nodes()).
  struct ArgumentGetter {
    const etb_graph_view* view;
    etb_graph_node node;
    Argument operator()(uint32_t index) const { return {view, etb_graph_get_argument(view, &node, index)}; }
  };

  // The part of the body that etb_graph_get_value reads. Nodes are copied often, so they keep no more.
  etb_graph_body body_of_values() const {
    etb_graph_body body{};
    body.values = values_;
    return body;
  }

  const etb_graph_view* view_;
  etb_graph_list values_;
  uint32_t graph_;
  uint32_t id_;
  etb_graph_node c_;
};

// One graph of an image: the method, or a branch or loop body; in compilation, the region.
class Graph {
 public:
  Graph(const etb_graph_view* view, uint32_t index)
      : view_(view), index_(index), c_(etb_graph_get_body(view, index)) {}
  const etb_graph_body& c() const { return c_; }
  const etb_graph_view& view() const { return *view_; }
  std::string_view name() const { return c_.name; }
  uint32_t input_count() const { return c_.inputs.count; }  // input i is value i
  uint32_t output_count() const { return c_.outputs.count; }
  uint32_t node_count() const { return c_.nodes.count; }
  uint32_t value_count() const { return c_.values.count; }
  etb_graph_input input(uint32_t index) const { return etb_graph_get_input(view_, &c_, index); }
  Value output(uint32_t index) const { return value(etb_graph_get_output(view_, &c_, index).value); }
  Node node(uint32_t index) const { return {view_, c_, index_, index}; }
  Value value(uint32_t id) const { return {view_, c_, index_, id}; }
  auto inputs() const {
    return Range(Getter<etb_graph_input, etb_graph_get_input>{view_, c_}, c_.inputs.count);
  }
  auto outputs() const {
    return Range(Getter<etb_graph_output, etb_graph_get_output>{view_, c_}, c_.outputs.count);
  }
  auto nodes() const { return Range(ItemGetter<Node>{view_, c_, index_}, c_.nodes.count); }
  auto values() const { return Range(ItemGetter<Value>{view_, c_, index_}, c_.values.count); }
  // Returns the spec of a TENSOR value.
  etb_graph_spec spec_of(uint32_t value_id) const { return value(value_id).spec(); }

 private:
  template <class T, T (*Get)(const etb_graph_view*, const etb_graph_body*, uint32_t)>
  struct Getter {
    const etb_graph_view* view;
    etb_graph_body body;
    T operator()(uint32_t index) const { return Get(view, &body, index); }
  };
  template <class T>
  struct ItemGetter {
    const etb_graph_view* view;
    etb_graph_body body;
    uint32_t graph;
    T operator()(uint32_t index) const { return {view, body, graph, index}; }
  };

  const etb_graph_view* view_;
  uint32_t index_;
  etb_graph_body c_;
};

// An opened image. Graphs, nodes and values made from it point to it, so it must not move while they are
// alive.
class View {
 public:
  // Trusts the bytes (ABI-GRAPH-01). For bytes from elsewhere run the verifier first.
  [[nodiscard]] static Result<View> open(const etb_graph_image& image) {
    View view;
    if (const etb_status status = etb_graph_open(&image, &view.c_); status != ETB_OK) {
      return make_error(static_cast<Code>(status), "graph image: this reader cannot open it");
    }
    return view;
  }

  [[nodiscard]] static Result<View> open(std::span<const uint8_t> bytes) {
    return open(etb_graph_image{ETB_INIT_SIZE(etb_graph_image), 0, {bytes.data(), bytes.size()}});
  }

  const etb_graph_view& c() const { return c_; }
  std::string_view name() const { return c_.name; }
  std::string_view producer() const { return c_.producer; }
  Graph method() const { return graph(0); }
  Graph graph(uint32_t index) const { return {&c_, index}; }
  uint32_t graph_count() const { return c_.graphs.count; }
  std::string_view string(uint32_t index) const { return etb_graph_string(&c_, index); }
  std::string_view op_name(uint32_t index) const { return etb_graph_op_name(&c_, index); }
  etb_graph_symbol symbol(uint32_t index) const { return etb_graph_get_symbol(&c_, index); }
  etb_graph_expr expr(uint32_t index) const { return etb_graph_get_expr(&c_, index); }
  etb_graph_spec spec(uint32_t index) const { return etb_graph_get_spec(&c_, index); }
  etb_graph_quant quant(uint32_t index) const { return etb_graph_get_quant(&c_, index); }
  etb_graph_constant constant(uint32_t index) const { return etb_graph_get_constant(&c_, index); }

 private:
  View() = default;
  etb_graph_view c_;
};

}  // namespace etb::graph
