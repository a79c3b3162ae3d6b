// The graph image as the C++ plugin base shows it: nodes with their operands and attributes. Thin: every class is a view of the
// image with the C functions of etb/graph.h behind it, which stay available through raw().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etb/cpp/guard.hpp"
#include "etb/graph.h"

namespace etb {

// A value of a graph: an input or the output of a node.
class Value {
 public:
  Value(const etb_graph_view& view, const etb_graph_body& body, uint32_t id)
      : view_(&view), body_(&body), id_(id), raw_(etb_graph_get_value(&view, &body, id)) {}

  uint32_t id() const { return id_; }
  std::string_view name() const { return raw_.name; }
  bool is_tensor() const { return raw_.kind == ETB_GRAPH_VALUE_TENSOR; }
  bool is_quantized() const { return raw_.quant != ETB_GRAPH_NONE; }
  etb_graph_spec spec() const { return etb_graph_get_spec(view_, raw_.spec); }

  // Whether the bytes are fixed ahead of time or kept in a buffer, so that no caller hands them in at run time.
  bool is_constant_or_state() const {
    return id_ < body_->inputs.count && etb_graph_get_input(view_, body_, id_).kind != ETB_GRAPH_INPUT_USER;
  }
  // Whether both have equal sizes in every run: equal numbers, and for dynamic dimensions the same formula.
  bool has_sizes_of(const Value& other) const {
    const etb_graph_spec mine = spec(), theirs = other.spec();
    if (mine.rank != theirs.rank) return false;
    for (uint32_t i = 0; i < mine.rank; ++i) {
      const bool is_static = mine.sizes[i] == mine.min_sizes[i] && theirs.sizes[i] == theirs.min_sizes[i];
      const bool same_formula = mine.exprs[i] == theirs.exprs[i] && mine.exprs[i] != ETB_GRAPH_NONE;
      if (mine.sizes[i] != theirs.sizes[i] || (!is_static && !same_formula)) return false;
    }
    return true;
  }
  const etb_graph_value& raw() const { return raw_; }

 private:
  const etb_graph_view* view_;
  const etb_graph_body* body_;
  uint32_t id_;
  etb_graph_value raw_;
};

class Node {
 public:
  Node(const etb_graph_view& view, const etb_graph_body& body, uint32_t index)
      : view_(&view), body_(&body), index_(index), raw_(etb_graph_get_node(&view, &body, index)) {}

  uint32_t id() const { return body_->first_node_id + index_; }
  std::string_view op() const { return etb_graph_op_name(view_, raw_.op); }
  uint32_t debug_handle() const { return raw_.debug_handle; }

  uint32_t argument_count() const { return raw_.args.count; }
  etb_graph_argument argument(uint32_t index) const { return etb_graph_get_argument(view_, &raw_, index); }
  // By the schema's name; nothing when the exporter left the default out.
  std::optional<etb_graph_argument> find_argument(const char* name) const {
    const uint32_t index = etb_graph_find_argument(view_, &raw_, name);
    if (index == ETB_GRAPH_NONE) return std::nullopt;
    return argument(index);
  }

  // The values among the arguments in their order, those in lists included.
  std::vector<Value> operands() const {
    std::vector<Value> values;
    for (uint32_t i = 0; i < argument_count(); ++i) {
      const etb_graph_argument arg = argument(i);
      if (arg.kind == ETB_GRAPH_ARGUMENT_VALUE) values.emplace_back(*view_, *body_, arg.value);
      for (uint32_t k = 0; k < arg.values.count; ++k)
        if (const uint32_t id = etb_graph_u32_at(arg.values, k); id != ETB_GRAPH_NONE)
          values.emplace_back(*view_, *body_, id);
    }
    return values;
  }
  std::vector<Value> results() const {
    std::vector<Value> values;
    for (uint32_t i = 0; i < raw_.output_count; ++i)
      values.emplace_back(*view_, *body_, raw_.first_output + i);
    return values;
  }
  const etb_graph_node& raw() const { return raw_; }
  const etb_graph_view& view() const { return *view_; }

 private:
  const etb_graph_view* view_;
  const etb_graph_body* body_;
  uint32_t index_;
  etb_graph_node raw_;
};

// One graph of an image: the method, a branch or a loop body; for compilation the region. Views of it (Node, Value) point at it:
// it stays where it is.
class Graph {
 public:
  Graph(const etb_graph_view& view, uint32_t index) : view_(view), body_(etb_graph_get_body(&view, index)) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  uint32_t node_count() const { return body_.nodes.count; }
  Node node(uint32_t index) const { return Node(view_, body_, index); }
  uint32_t input_count() const { return body_.inputs.count; }  // input i is value i
  uint32_t value_count() const { return body_.values.count; }
  Value value(uint32_t id) const { return Value(view_, body_, id); }
  uint32_t output_count() const { return body_.outputs.count; }
  Value output(uint32_t index) const {
    return Value(view_, body_, etb_graph_get_output(&view_, &body_, index).value);
  }
  const etb_graph_view& view() const { return view_; }
  const etb_graph_body& body() const { return body_; }

 private:
  etb_graph_view view_;
  etb_graph_body body_;
};

// Opens an image that the host passed.
inline Result<etb_graph_view> open_graph(const etb_graph_image* image) {
  ETB_TRY(ETB_ACCEPT(etb_graph_image, image, image));
  etb_graph_view view;
  if (const etb_status status = etb_graph_open(image, &view); status != ETB_OK)
    return make_error(static_cast<Code>(status),
                      std::string("graph image: ") + to_text(static_cast<Code>(status)));
  return view;
}

}  // namespace etb
