// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "plugins/xnnpack/payload/datatypes.hpp"
#include "plugins/xnnpack/payload/reader.hpp"

namespace etb::xnnpack {

namespace fb = xnnpack_schema;

namespace {

class NodeReader {
 public:
  NodeReader(const fb::Graph& graph, XnnPayload& out) : graph_(graph), out_(out) {}

  Status read_nodes() {
    const auto* nodes = graph_.nodes();
    if (nodes == nullptr) return bad("graph without nodes");
    is_made_.assign(out_.value_of_id.size(), false);
    for (const XnnValue& value : out_.values)
      is_made_[value.id] = value.constant_index != 0 || value.is_input;
    out_.nodes.reserve(nodes->size());
    for (uint32_t i = 0; i < nodes->size(); ++i) {
      const auto number = static_cast<uint8_t>(nodes->Get(i)->body_type());
      ETB_TRY(check_xnnpack_operator(i, number));
      const std::string where = xnnpack_node_name(i, static_cast<XnnOperator>(number));
      if (nodes->Get(i)->body() == nullptr) return bad(where, ": no body");
      if (Status status = read_node(*nodes->Get(i)); !status) {
        return tl::make_unexpected(with_context(std::move(status).error(), where));
      }
    }
    for (const uint32_t id : out_.output_ids) {
      if (!is_made_[id]) return bad("output value ", id, " is made by no node");
    }
    return {};
  }

 private:
  bool is_value(uint32_t id) const {
    return id < out_.value_of_id.size() && out_.value_of_id[id] != kXnnNoValue;
  }

  Status read_node(const fb::Node& source) {
    XnnNode node;
    node.op = static_cast<XnnOperator>(source.body_type());
    node.debug_handle = source.debug_handle();
    if (const auto* clamp = source.clamp()) {
      node.is_clamped = true;
      node.clamp_min = clamp->min();
      node.clamp_max = clamp->max();
      if (!(node.clamp_min <= node.clamp_max))
        return bad("clamp from ", node.clamp_min, " to ", node.clamp_max);
    }
    switch (node.op) {
#define ETB_XNN_OPERATOR(name, Table, ...)                                   \
  case XnnOperator::k##name:                                                 \
    ETB_TRY(read_body(*static_cast<const fb::Table*>(source.body()), node)); \
    break;
#include "plugins/xnnpack/payload/operators.def"
#undef ETB_XNN_OPERATOR
      case XnnOperator::kNone:
        return bad("no operator");
    }
    ETB_TRY(check_edges(node));
    ETB_TRY(verify_xnnpack_datatypes(out_, node));
    if (node.op == XnnOperator::kConvert) take_sizes(node);
    out_.nodes.push_back(std::move(node));
    return {};
  }

  Status check_edges(XnnNode& node) {
    for (uint32_t i = 0; i < node.input_count; ++i) {
      const uint32_t id = node.inputs[i];
      if (id == kXnnNoValue && is_optional_input(node, i)) continue;
      if (!is_value(id)) return bad("input ", i, ": no value ", id);
      if (!is_made_[id]) return bad("input ", i, ": value ", id, " is read before it is made");
    }
    for (uint32_t i = 0; i < node.output_count; ++i) {
      const uint32_t id = node.outputs[i];
      if (!is_value(id)) return bad("output ", i, ": no value ", id);
      if (is_made_[id]) return bad("output ", i, ": value ", id, " is made twice");
      is_made_[id] = true;
    }
    return {};
  }

  // The official exporter writes the value quantised at run time before a convolution with sizes [N, C, H,
  // W], although its layout is that of its source.
  void take_sizes(const XnnNode& convert) {
    const XnnValue& from = out_.value(convert.inputs[0]);
    XnnValue& to = out_.values[out_.value_of_id[convert.outputs[0]]];
    if (to.quantisation == XnnQuantisation::kPerToken &&
        std::is_permutation(from.sizes.begin(), from.sizes.end(), to.sizes.begin(), to.sizes.end()))
      to.sizes = from.sizes;
  }

  static bool is_optional_input(const XnnNode& node, uint32_t input) {
    switch (node.op) {
      case XnnOperator::kFullyConnected:
      case XnnOperator::kConv2d:
      case XnnOperator::kDepthwiseConv2d:
      case XnnOperator::kConvTranspose2d:
        return input == 2;
      default:
        return false;
    }
  }

  static void set_edges(XnnNode& node, std::initializer_list<uint32_t> inputs,
                        std::initializer_list<uint32_t> outputs) {
    for (const uint32_t id : inputs) node.inputs[node.input_count++] = id;
    for (const uint32_t id : outputs) node.outputs[node.output_count++] = id;
  }

  Status read_body(const fb::Unary& body, XnnNode& node) {
    set_edges(node, {body.input()}, {body.output()});
    node.flags = body.flags();
    return {};
  }
  Status read_body(const fb::Binary& body, XnnNode& node) {
    set_edges(node, {body.input1(), body.input2()}, {body.output()});
    node.flags = body.flags();
    return {};
  }
  Status read_body(const fb::Linear& body, XnnNode& node) {
    set_edges(node, {body.input(), body.filter(), body.bias()}, {body.output()});
    node.flags = body.flags();
    return {};
  }
  Status read_body(const fb::Slope& body, XnnNode& node) {
    set_edges(node, {body.input()}, {body.output()});
    node.flags = body.flags();
    node.value = body.slope();
    if (!std::isfinite(node.value)) return bad("slope ", node.value, ", expected a number");
    return {};
  }
  Status read_body(const fb::Transpose& body, XnnNode& node) {
    set_edges(node, {body.input()}, {body.output()});
    node.flags = body.flags();
    ETB_TRY(read_dims(body.permutation(), body.rank(), "permutation", node.first));
    uint32_t seen = 0;
    for (const uint32_t dim : node.first) {
      if (dim >= node.first.size() || (seen >> dim & 1) != 0) return bad("permutation names dimension ", dim);
      seen |= 1u << dim;
    }
    return {};
  }
  Status read_body(const fb::Reshape& body, XnnNode& node) {
    set_edges(node, {body.input()}, {body.output()});
    node.flags = body.flags();
    return read_dims(body.sizes(), body.rank(), "sizes", node.first);
  }
  Status read_body(const fb::Resize& body, XnnNode& node) {
    set_edges(node, {body.input()}, {body.output()});
    node.flags = body.flags();
    node.first = {body.height(), body.width()};
    return {};
  }
  Status read_body(const fb::Pad& body, XnnNode& node) {
    set_edges(node, {body.input()}, {body.output()});
    node.flags = body.flags();
    node.value = body.value();
    const uint32_t rank = body.before() ? body.before()->size() : 0;
    ETB_TRY(read_dims(body.before(), rank, "padding before", node.first));
    return read_dims(body.after(), rank, "padding after", node.second);
  }
  Status read_body(const fb::Slice& body, XnnNode& node) {
    set_edges(node, {body.input()}, {body.output()});
    node.flags = body.flags();
    ETB_TRY(read_dims(body.offsets(), body.rank(), "offsets", node.first));
    return read_dims(body.sizes(), body.rank(), "sizes", node.second);
  }
  Status read_body(const fb::Concatenate& body, XnnNode& node) {
    node.flags = body.flags();
    node.axis = static_cast<int32_t>(body.axis());
    const std::array<uint32_t, 5> all = {body.input1(), body.input2(), body.input3(), body.input4(),
                                         body.input5()};
    const uint32_t count = node.op == XnnOperator::kConcatenate2   ? 2
                           : node.op == XnnOperator::kConcatenate3 ? 3
                           : node.op == XnnOperator::kConcatenate4 ? 4
                                                                   : 5;
    for (uint32_t i = 0; i < count; ++i) node.inputs[node.input_count++] = all[i];
    node.outputs[node.output_count++] = body.output();
    return {};
  }
  Status read_body(const fb::Convolution& body, XnnNode& node) {
    set_edges(node, {body.input(), body.filter(), body.bias()}, {body.output()});
    node.flags = body.flags();
    read_window(body, node.window);
    node.window.groups = body.groups();
    node.window.group_input_channels = body.group_input_channels();
    node.window.group_output_channels = body.group_output_channels();
    node.window.adjustment_height = body.adjustment_height();
    node.window.adjustment_width = body.adjustment_width();
    const XnnWindow& window = node.window;
    if (window.groups == 0 || window.group_input_channels == 0 || window.group_output_channels == 0)
      return bad("no channels");
    return check_window(window);
  }
  Status read_body(const fb::Pooling& body, XnnNode& node) {
    set_edges(node, {body.input()}, {body.output()});
    node.flags = body.flags();
    read_window(body, node.window);
    if (node.op == XnnOperator::kAveragePooling2d) {  // it has no dilation, and the exporter writes 0
      node.window.dilation_height = node.window.dilation_width = 1;
    }
    ETB_TRY(check_window(node.window));
    if (node.op == XnnOperator::kMaxPooling2d) replace_window_of_one(node);
    return {};
  }
  Status read_body(const fb::ArgMaxPooling& body, XnnNode& node) {
    set_edges(node, {body.input()}, {body.output_value(), body.output_index()});
    node.flags = body.flags();
    XnnWindow& window = node.window;
    window.padding_top = body.padding_top();
    window.padding_right = body.padding_right();
    window.padding_bottom = body.padding_bottom();
    window.padding_left = body.padding_left();
    window.kernel_height = body.kernel_height();
    window.kernel_width = body.kernel_width();
    return check_window(window);
  }
  Status read_body(const fb::Attention& body, XnnNode& node) {
    set_edges(node, {body.query(), body.key(), body.value(), body.scale(), body.mask()}, {body.output()});
    node.flags = body.flags();
    return {};
  }

  // Replaces a maximum over one pixel, which XNNPACK rejects and the official exporter writes,
  // by a copy of each pixel.
  static void replace_window_of_one(XnnNode& node) {
    constexpr uint32_t kSamePadding = 0x40;  // flag of such a window: no padding
    const XnnWindow& w = node.window;
    const bool is_one = w.kernel_height == 1 && w.kernel_width == 1 && w.stride_height == 1 &&
                        w.stride_width == 1 &&
                        (w.padding_top | w.padding_right | w.padding_bottom | w.padding_left) == 0;
    if (!is_one || (node.flags & ~kSamePadding) != 0) return;
    node.op = node.is_clamped ? XnnOperator::kClamp : XnnOperator::kCopy;
    node.flags = 0;
  }

  template <class Body>
  static void read_window(const Body& body, XnnWindow& window) {
    window.padding_top = body.padding_top();
    window.padding_right = body.padding_right();
    window.padding_bottom = body.padding_bottom();
    window.padding_left = body.padding_left();
    window.kernel_height = body.kernel_height();
    window.kernel_width = body.kernel_width();
    window.stride_height = body.stride_height();
    window.stride_width = body.stride_width();
    window.dilation_height = body.dilation_height();
    window.dilation_width = body.dilation_width();
  }

  static Status check_window(const XnnWindow& window) {
    if (window.kernel_height == 0 || window.kernel_width == 0 || window.stride_height == 0 ||
        window.stride_width == 0 || window.dilation_height == 0 || window.dilation_width == 0) {
      return bad("kernel, stride or dilation of 0");
    }
    return {};
  }

  static Status read_dims(const flatbuffers::Vector<uint32_t>* dims, uint32_t rank, const char* what,
                          std::vector<uint32_t>& out) {
    const uint32_t count = dims ? dims->size() : 0;
    if (count != rank || rank > kXnnMaxRank) return bad(what, " of ", count, " dimensions, rank is ", rank);
    for (uint32_t d = 0; d < count; ++d) out.push_back(dims->Get(d));
    return {};
  }

  const fb::Graph& graph_;
  XnnPayload& out_;
  std::vector<bool> is_made_;  // by id: a constant, an input, or the output of a node read so far
};

}  // namespace

std::string xnnpack_node_name(uint32_t node, XnnOperator op) {
  return "node " + std::to_string(node) + " (" + to_text(op) + ")";
}

Status check_xnnpack_operator(uint32_t node, uint8_t number) {
  if (number != 0 && number <= kXnnOperatorCount) return {};
  return make_error(Code::INCOMPATIBLE, xnnpack_node_name(node, static_cast<XnnOperator>(number)) +
                                            ": operator number " + std::to_string(number) +
                                            ", this reader knows 1 to " + std::to_string(kXnnOperatorCount));
}

Status read_xnnpack_nodes(const fb::Graph& graph, XnnPayload& out) {
  return NodeReader(graph, out).read_nodes();
}

}  // namespace etb::xnnpack
