// SPDX-License-Identifier: Apache-2.0
//
// Graphs as a plugin claims and compiles them: nodes with their operands and results. Built on
// etb/cpp/graph_view.hpp, which shows everything that an image has.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "etb/cpp/graph_view.hpp"
#include "etb/cpp/guard.hpp"

namespace etb {

// A value of a graph: an input, or a result of a node.
class Value {
 public:
  Value(const etb_graph_view& view, const etb_graph_body& body, uint32_t id)
      : view_(&view), body_(&body), id_(id), c_(etb_graph_get_value(&view, &body, id)) {}

  const etb_graph_value& c() const { return c_; }
  uint32_t id() const { return id_; }
  std::string_view name() const { return c_.name; }
  bool is_tensor() const { return c_.kind == ETB_GRAPH_VALUE_TENSOR; }
  bool is_quantized() const { return c_.quant != ETB_GRAPH_NONE; }
  etb_graph_spec spec() const { return etb_graph_get_spec(view_, c_.spec); }

  // True if the bytes are fixed ahead of time or kept in a buffer, so that no caller passes them at run time.
  bool is_constant_or_state() const {
    return id_ < body_->inputs.count && etb_graph_get_input(view_, body_, id_).kind != ETB_GRAPH_INPUT_USER;
  }

  // True if both have equal sizes in every run: equal numbers, and for dynamic dimensions the same formula.
  bool has_sizes_of(const Value& other) const {
    const etb_graph_spec mine = spec(), theirs = other.spec();
    if (mine.rank != theirs.rank || mine.dynamic_dims != theirs.dynamic_dims) return false;
    for (uint32_t i = 0; i < mine.rank; ++i) {
      const bool is_dynamic = (mine.dynamic_dims >> i & 1) != 0;
      const bool same_formula = mine.exprs[i] == theirs.exprs[i] && mine.exprs[i] != ETB_GRAPH_NONE;
      if (mine.sizes[i] != theirs.sizes[i] || (is_dynamic && !same_formula)) return false;
    }
    return true;
  }

 private:
  const etb_graph_view* view_;
  const etb_graph_body* body_;
  uint32_t id_;
  etb_graph_value c_;
};

// A node that knows its graph.
class Node : public graph::Node {
 public:
  Node(const etb_graph_view& view, const etb_graph_body& body, uint32_t index)
      : graph::Node(&view, body, index), view_(&view), body_(&body) {}

  // Returns the values among the arguments in their order, values in lists included.
  std::vector<Value> operands() const {
    std::vector<Value> found;
    for (const graph::Argument& arg : args()) {
      if (const auto id = arg.value()) found.emplace_back(*view_, *body_, *id);
      for (const uint32_t id : arg.values())
        if (id != graph::kNone) found.emplace_back(*view_, *body_, id);
    }
    return found;
  }
  // True if the node only computes numbers. The host adds such nodes to a region where others need a size as
  // an argument. A plugin need not have claimed them, and may skip them when it reads sizes from the tensors.
  bool gives_numbers() const {
    for (uint32_t i = 0; i < output_count(); ++i)
      if (Value(*view_, *body_, first_output() + i).is_tensor()) return false;
    return output_count() > 0;
  }
  std::vector<Value> results() const {
    std::vector<Value> found;
    for (uint32_t i = 0; i < output_count(); ++i) found.emplace_back(*view_, *body_, first_output() + i);
    return found;
  }

 private:
  const etb_graph_view* view_;
  const etb_graph_body* body_;
};

// One graph of an image: the method, a branch or a loop body; in compilation, the region. Its nodes and
// values point to it, so it must not move.
class Graph {
 public:
  Graph(const etb_graph_view& view, uint32_t index) : view_(view), c_(etb_graph_get_body(&view, index)) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const etb_graph_body& c() const { return c_; }
  const etb_graph_view& view() const { return view_; }
  uint32_t input_count() const { return c_.inputs.count; }  // input i is value i
  uint32_t output_count() const { return c_.outputs.count; }
  uint32_t node_count() const { return c_.nodes.count; }
  uint32_t value_count() const { return c_.values.count; }
  Node node(uint32_t index) const { return Node(view_, c_, index); }
  Value value(uint32_t id) const { return Value(view_, c_, id); }
  Value output(uint32_t index) const { return value(etb_graph_get_output(&view_, &c_, index).value); }

 private:
  etb_graph_view view_;
  etb_graph_body c_;
};

// Opens an image that the host passed.
inline Result<etb_graph_view> open_graph(const etb_graph_image* image) {
  ETB_TRY(ETB_ACCEPT(etb_graph_image, image, image));
  ETB_ASSIGN(const graph::View view, graph::View::open(*image));
  return view.c();
}

}  // namespace etb
