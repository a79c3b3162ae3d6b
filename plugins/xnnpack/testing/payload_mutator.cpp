// SPDX-License-Identifier: Apache-2.0
// Mutates payloads as graphs, for libFuzzer: random bytes rarely form a valid graph, and only valid ones
// reach XNNPACK.
#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "plugins/xnnpack/payload/writer.hpp"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace etb::xnnpack {
namespace {

// Maximum number of inputs by node body; concatenations have more.
enum : uint32_t {
  kUnary = 1,
  kSlope = 1,
  kTranspose = 1,
  kReshape = 1,
  kResize = 1,
  kPad = 1,
  kSlice = 1,
  kPooling = 1,
  kArgMaxPooling = 1,
  kBinary = 2,
  kConcatenate = 2,
  kLinear = 3,
  kConvolution = 3,
  kAttention = 5
};

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  template <class All>
  auto& pick(All& all) {
    return *(std::begin(all) + below(std::size(all)));
  }

  void mutate(XnnPayload& payload) {
    using Edit = void (Mutator::*)(XnnPayload&);
    constexpr Edit kEdits[] = {
        &Mutator::change_datatypes,    &Mutator::change_datatype, &Mutator::change_sizes,
        &Mutator::change_size,         &Mutator::change_rank,     &Mutator::change_operator,
        &Mutator::change_window,       &Mutator::change_numbers,  &Mutator::change_edge,
        &Mutator::change_quantisation, &Mutator::append_node};
    (this->*pick(kEdits))(payload);
  }

  uint32_t below(size_t count) { return static_cast<uint32_t>(random_() % std::max<size_t>(count, 1)); }

 private:
  uint32_t size() {
    constexpr uint32_t kSizes[] = {0,  1,  1,  2,  2,  3,  4,  5,  7,  8,   9,
                                   15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 200};
    return pick(kSizes);
  }

  void set_datatype(XnnValue& value, XnnDatatype datatype) {
    value.datatype = datatype;
    value.scale = 0.5f;
    value.zero_point = 0;
    value.scales.clear();
    value.scales_bf16.clear();
    value.scale_constant_index = 0;
    switch (datatype) {
      case XnnDatatype::kQint8:
      case XnnDatatype::kQuint8:
      case XnnDatatype::kQint32:
        value.quantisation = XnnQuantisation::kPerTensor;
        break;
      case XnnDatatype::kQcint8:
      case XnnDatatype::kQcint32:
      case XnnDatatype::kQcint4:
        value.quantisation = XnnQuantisation::kPerChannel;
        value.channel_dim = value.sizes.empty() ? 0
                            : below(8) == 0     ? below(value.sizes.size())
                                                : value.channel_dim;
        break;
      case XnnDatatype::kQdint8:
        value.quantisation = XnnQuantisation::kPerToken;
        value.nonbatch_dim_count = value.sizes.size() == 4 ? 3 : 1;
        break;
      case XnnDatatype::kQbint4:
        value.quantisation = XnnQuantisation::kPerChannelGroup;
        value.channel_dim = 0;
        value.group_size = 32;
        break;
      default:
        value.quantisation = XnnQuantisation::kNone;
    }
    fit_scales(value);
  }

  // Resizes the scales to the number of channels.
  static void fit_scales(XnnValue& value) {
    if (value.scale_constant_index != 0 || value.channel_dim >= value.sizes.size()) return;
    const uint32_t channels = std::min(value.sizes[value.channel_dim], 4096u);
    if (value.quantisation == XnnQuantisation::kPerChannel) value.scales.assign(channels, 0.25f);
    if (value.quantisation == XnnQuantisation::kPerChannelGroup && value.sizes.size() == 2 &&
        value.group_size > 0)
      value.scales_bf16.assign(std::min<size_t>(channels * (value.sizes[1] / value.group_size), 4096),
                               0x3e80);
  }

  XnnDatatype datatype() { return static_cast<XnnDatatype>(1 + below(14)); }

  void change_datatypes(XnnPayload& payload) {
    if (payload.values.empty()) return;
    const XnnDatatype from = pick(payload.values).datatype, to = datatype();
    for (XnnValue& value : payload.values)
      if (value.datatype == from) set_datatype(value, to);
  }

  void change_datatype(XnnPayload& payload) {
    if (!payload.values.empty()) set_datatype(pick(payload.values), datatype());
  }

  // Replaces one size everywhere, so that sizes that matched still match.
  void change_sizes(XnnPayload& payload) {
    if (payload.values.empty()) return;
    const XnnValue& like = pick(payload.values);
    if (like.sizes.empty()) return;
    const uint32_t from = pick(like.sizes), to = size();
    const auto change = [&](uint32_t& number) {
      if (number == from) number = to;
    };
    for (XnnValue& value : payload.values) {
      for (uint32_t& each : value.sizes) change(each);
      fit_scales(value);
    }
    for (XnnNode& node : payload.nodes) {
      for (uint32_t& each : node.first) change(each);
      for (uint32_t& each : node.second) change(each);
      for (uint32_t* each :
           {&node.window.groups, &node.window.group_input_channels, &node.window.group_output_channels,
            &node.window.kernel_height, &node.window.kernel_width})
        change(*each);
    }
  }

  void change_size(XnnPayload& payload) {
    if (payload.values.empty()) return;
    XnnValue& value = pick(payload.values);
    if (value.sizes.empty()) return;
    pick(value.sizes) = size();
    fit_scales(value);
  }

  void change_rank(XnnPayload& payload) {
    if (payload.values.empty()) return;
    XnnValue& value = pick(payload.values);
    if (below(2) == 0 && !value.sizes.empty()) {
      value.sizes.erase(value.sizes.begin() + below(value.sizes.size()));
    } else if (value.sizes.size() < 6) {
      value.sizes.insert(value.sizes.begin() + below(value.sizes.size() + 1), size());
    }
    fit_scales(value);
  }

  static uint32_t input_count(XnnOperator op) {
    switch (op) {
#define ETB_XNN_OPERATOR(name, body, ...) \
  case XnnOperator::k##name:              \
    return k##body;
#include "plugins/xnnpack/payload/operators.def"
#undef ETB_XNN_OPERATOR
      case XnnOperator::kNone:
        break;
    }
    return 1;
  }

  void set_operator(XnnPayload& payload, XnnNode& node, XnnOperator op) {
    uint32_t inputs = input_count(op);
    if (op == XnnOperator::kConcatenate3) inputs = 3;
    if (op == XnnOperator::kConcatenate4) inputs = 4;
    if (op == XnnOperator::kConcatenate5) inputs = 5;
    for (uint32_t i = node.input_count; i < inputs; ++i)
      node.inputs[i] = below(2) == 0 ? node.inputs[0] : pick(payload.values).id;
    node.op = op;
    node.input_count = inputs;
    node.flags = 0;
    const size_t rank =
        node.inputs[0] < payload.value_of_id.size() && payload.value_of_id[node.inputs[0]] != kXnnNoValue
            ? payload.value(node.inputs[0]).sizes.size()
            : 4;
    const size_t wanted = op == XnnOperator::kResizeBilinear2d ? 2 : rank;
    if (op == XnnOperator::kStaticTranspose) {
      node.first.clear();
      for (uint32_t d = 0; d < rank; ++d) node.first.insert(node.first.begin() + below(d + 1), d);
    } else {
      node.first.assign(wanted, op == XnnOperator::kResizeBilinear2d ? 3 : 0);
      node.second.assign(wanted, 0);
    }
    if (node.window.kernel_height == 0) node.window.kernel_height = node.window.kernel_width = 1 + below(3);
    if (node.window.group_input_channels == 0)
      node.window.group_input_channels = node.window.group_output_channels = 1;
  }

  void change_operator(XnnPayload& payload) {
    if (payload.nodes.empty() || payload.values.empty()) return;
    set_operator(payload, pick(payload.nodes), static_cast<XnnOperator>(1 + below(kXnnOperatorCount)));
  }

  void change_window(XnnPayload& payload) {
    if (payload.nodes.empty()) return;
    XnnWindow& w = pick(payload.nodes).window;
    uint32_t* const all[] = {&w.padding_top,    &w.padding_right,        &w.padding_bottom,
                             &w.padding_left,   &w.kernel_height,        &w.kernel_width,
                             &w.stride_height,  &w.stride_width,         &w.dilation_height,
                             &w.dilation_width, &w.adjustment_height,    &w.adjustment_width,
                             &w.groups,         &w.group_input_channels, &w.group_output_channels};
    *pick(all) = size();
  }

  void change_numbers(XnnPayload& payload) {
    if (payload.nodes.empty()) return;
    XnnNode& node = pick(payload.nodes);
    switch (below(6)) {
      case 0:
        node.flags ^= 1u << below(10);
        break;
      case 1:
        if (!node.first.empty()) pick(node.first) = size();
        break;
      case 2:
        if (!node.second.empty()) pick(node.second) = size();
        break;
      case 3:
        node.axis = static_cast<int32_t>(below(8)) - 3;
        break;
      case 4:
        node.is_clamped = !node.is_clamped;
        node.clamp_min = below(2) == 0 ? 0.0f : -std::numeric_limits<float>::infinity();
        node.clamp_max = below(2) == 0 ? 6.0f : std::numeric_limits<float>::infinity();
        break;
      default:
        node.value = below(2) == 0 ? 0.0f : 1e30f;
    }
  }

  void change_edge(XnnPayload& payload) {
    if (payload.nodes.empty() || payload.values.empty()) return;
    XnnNode& node = pick(payload.nodes);
    XnnValue& value = pick(payload.values);
    if (below(3) == 0 && !value.is_input && !value.is_output) {
      value.constant_index = value.constant_index == 0 && payload.constants.size() > 1 ? 1 : 0;
    } else if (node.input_count == 3 && below(2) == 0) {
      node.inputs[2] = kXnnNoValue;
    } else {
      node.inputs[below(node.input_count)] = value.id;
    }
  }

  void change_quantisation(XnnPayload& payload) {
    if (payload.values.empty()) return;
    XnnValue& value = pick(payload.values);
    constexpr float kScales[] = {1e-30f, 1e-10f, 0.001f, 0.1f, 1.0f, 256.0f, 1e10f, 1e30f};
    switch (below(5)) {
      case 0:
        value.scale = pick(kScales);
        break;
      case 1:
        value.zero_point = static_cast<int32_t>(below(400)) - 140;
        break;
      case 2:
        if (!value.scales.empty()) pick(value.scales) = pick(kScales);
        break;
      case 3:
        value.nonbatch_dim_count = 1 + below(4);
        break;
      default:
        value.group_size = 32 * (1 + below(4));
        fit_scales(value);
    }
  }

  // Appends a node that reads the last output and becomes a new output.
  void append_node(XnnPayload& payload) {
    if (payload.output_ids.empty() || payload.nodes.size() > 8) return;
    const uint32_t old_id = payload.output_ids[below(payload.output_ids.size())];
    XnnValue& old = payload.values[payload.value_of_id[old_id]];
    XnnValue made = old;
    made.id = static_cast<uint32_t>(payload.value_of_id.size());
    old.is_output = false;
    old.external_id.reset();
    payload.value_of_id.push_back(static_cast<uint32_t>(payload.values.size()));
    std::replace(payload.output_ids.begin(), payload.output_ids.end(), old_id, made.id);
    payload.values.push_back(made);
    XnnNode node;
    node.inputs[node.input_count++] = old_id;
    node.outputs[node.output_count++] = made.id;
    set_operator(payload, node, static_cast<XnnOperator>(1 + below(kXnnOperatorCount)));
    payload.nodes.push_back(node);
  }

  std::minstd_rand random_;
};

}  // namespace

// Mutates bytes one time in eight, and whenever the input is no payload. Else applies changes until one
// yields a valid graph; after the last try, returns that one.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  constexpr int kTries = 24;
  Mutator mutator(seed);
  const std::vector<std::byte> bytes(reinterpret_cast<std::byte*>(data),
                                     reinterpret_cast<std::byte*>(data) + size);
  const auto payload = read_xnnpack_payload(bytes);
  if (!payload || mutator.below(8) == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::vector<std::byte> written;
  for (int i = 0; i < kTries; ++i) {
    XnnPayload changed = *payload;
    for (uint32_t edits = 1 + mutator.below(3); edits > 0; --edits) mutator.mutate(changed);
    written = write_xnnpack_payload(changed);
    if (written.size() <= max_size && read_xnnpack_payload(written)) break;
  }
  if (written.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, written.data(), written.size());
  return written.size();
}

}  // namespace etb::xnnpack
