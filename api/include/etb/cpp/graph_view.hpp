// SPDX-License-Identifier: Apache-2.0
//
// The graph image in C++: ranges, string_view and optional over the functions of etb/graph.h. Header-only,
// nothing to link. Views and the objects they return are valid as long as the image's bytes.
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

template <class T, T (*At)(etb_graph_list, uint32_t)>
struct ElementGetter {
  etb_graph_list list;
  T operator()(uint32_t index) const { return At(list, index); }
};

template <class T, T (*At)(etb_graph_list, uint32_t)>
auto elements(etb_graph_list list) {
  return Range(ElementGetter<T, At>{list}, list.count);
}

}  // namespace detail

inline auto to_i32s(etb_graph_list list) { return detail::elements<int32_t, etb_graph_i32_at>(list); }
inline auto to_u32s(etb_graph_list list) { return detail::elements<uint32_t, etb_graph_u32_at>(list); }
inline auto to_i64s(etb_graph_list list) { return detail::elements<int64_t, etb_graph_i64_at>(list); }
inline auto to_f64s(etb_graph_list list) { return detail::elements<double, etb_graph_f64_at>(list); }
inline std::span<const uint8_t> to_bytes(etb_graph_list list) { return {list.data, list.count}; }

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
  auto values() const { return to_u32s(c_.values); }
  auto ints() const { return to_i64s(c_.ints); }
  auto floats() const { return to_f64s(c_.floats); }
  // Returns text `index` of STRINGS.
  std::string_view string(uint32_t index) const {
    return etb_graph_string(view_, static_cast<uint32_t>(etb_graph_i64_at(c_.ints, index)));
  }

 private:
  template <class T>
  std::optional<T> when(uint32_t kind, T value) const {
    return c_.kind == kind ? std::optional<T>(value) : std::nullopt;
  }

  const etb_graph_view* view_;
  etb_graph_argument c_;
};

class Node {
 public:
  Node(const etb_graph_view* view, const etb_graph_body& body, uint32_t index)
      : view_(view), id_(body.first_node_id + index), c_(etb_graph_get_node(view, &body, index)) {}
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

 private:
  // Getters hold copies, so that a range outlives the node or graph that made it: for (... : view.method().nodes()).
  struct ArgumentGetter {
    const etb_graph_view* view;
    etb_graph_node node;
    Argument operator()(uint32_t index) const { return {view, etb_graph_get_argument(view, &node, index)}; }
  };

  const etb_graph_view* view_;
  uint32_t id_;
  etb_graph_node c_;
};

// The method, or a branch or loop body.
class Graph {
 public:
  Graph(const etb_graph_view* view, uint32_t index) : view_(view), c_(etb_graph_get_body(view, index)) {}
  const etb_graph_body& c() const { return c_; }
  std::string_view name() const { return c_.name; }
  auto inputs() const {
    return Range(Getter<etb_graph_input, etb_graph_get_input>{view_, c_}, c_.inputs.count);
  }
  auto outputs() const {
    return Range(Getter<etb_graph_output, etb_graph_get_output>{view_, c_}, c_.outputs.count);
  }
  auto values() const {
    return Range(Getter<etb_graph_value, etb_graph_get_value>{view_, c_}, c_.values.count);
  }
  auto nodes() const { return Range(NodeGetter{view_, c_}, c_.nodes.count); }
  etb_graph_input input(uint32_t index) const { return etb_graph_get_input(view_, &c_, index); }
  etb_graph_output output(uint32_t index) const { return etb_graph_get_output(view_, &c_, index); }
  etb_graph_value value(uint32_t index) const { return etb_graph_get_value(view_, &c_, index); }
  Node node(uint32_t index) const { return {view_, c_, index}; }
  // Returns the spec of a TENSOR value.
  etb_graph_spec spec_of(uint32_t value_index) const {
    return etb_graph_get_spec(view_, value(value_index).spec);
  }

 private:
  template <class T, T (*Get)(const etb_graph_view*, const etb_graph_body*, uint32_t)>
  struct Getter {
    const etb_graph_view* view;
    etb_graph_body body;
    T operator()(uint32_t index) const { return Get(view, &body, index); }
  };
  struct NodeGetter {
    const etb_graph_view* view;
    etb_graph_body body;
    Node operator()(uint32_t index) const { return {view, body, index}; }
  };

  const etb_graph_view* view_;
  etb_graph_body c_;
};

// An opened image. Graphs and nodes made from it point to it, so it must not move while they are alive.
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
