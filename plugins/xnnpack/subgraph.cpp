// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/subgraph.hpp"

#include <unistd.h>

#include "api/format/digest.hpp"
#include "etb/cpp/bytes.hpp"

namespace etb::xnnpack {

namespace {

xnn_datatype to_xnn(XnnDatatype datatype) {
  switch (datatype) {
    case XnnDatatype::kInvalid:
      return xnn_datatype_invalid;
    case XnnDatatype::kFloat32:
      return xnn_datatype_fp32;
    case XnnDatatype::kFloat16:
      return xnn_datatype_fp16;
    case XnnDatatype::kQint8:
      return xnn_datatype_qint8;
    case XnnDatatype::kQuint8:
      return xnn_datatype_quint8;
    case XnnDatatype::kQint32:
      return xnn_datatype_qint32;
    case XnnDatatype::kQcint8:
      return xnn_datatype_qcint8;
    case XnnDatatype::kQcint32:
      return xnn_datatype_qcint32;
    case XnnDatatype::kQcint4:
      return xnn_datatype_qcint4;
    case XnnDatatype::kQdint8:
      return xnn_datatype_qdint8;
    case XnnDatatype::kQbint4:
      return xnn_datatype_qbint4;
    case XnnDatatype::kQpint8:
      return xnn_datatype_qpint8;
    case XnnDatatype::kInt32:
      return xnn_datatype_int32;
    case XnnDatatype::kPfloat32:
      return xnn_datatype_pfp32;
    case XnnDatatype::kBfloat16:
      return xnn_datatype_bf16;
  }
  return xnn_datatype_invalid;
}

// True if the node copies this input when it packs weights. Then XNNPACK reads no byte after the constant, or
// only those of is_read_past_end.
bool is_packed_by(const XnnNode& node, uint32_t input) {
  switch (node.op) {
    case XnnOperator::kFullyConnected:
    case XnnOperator::kConv2d:
    case XnnOperator::kDepthwiseConv2d:
    case XnnOperator::kConvTranspose2d:
      return input == 1 || input == 2;
    default:
      return false;
  }
}

// By value id: true for an output of a live node without a reader. XNNPACK allocates no memory for such a
// value but writes it, unless the value is persistent.
std::vector<bool> find_unread(const XnnPayload& payload, const std::vector<bool>& is_live) {
  std::vector<bool> is_unread(payload.value_of_id.size(), false);
  for (size_t i = 0; i < payload.nodes.size(); ++i) {
    const XnnNode& node = payload.nodes[i];
    for (uint32_t o = 0; is_live[i] && o < node.output_count; ++o)
      is_unread[node.outputs[o]] = !payload.value(node.outputs[o]).is_output;
  }
  for (size_t i = 0; i < payload.nodes.size(); ++i) {
    const XnnNode& node = payload.nodes[i];
    for (uint32_t n = 0; is_live[i] && n < node.input_count; ++n)
      if (node.inputs[n] != kXnnNoValue) is_unread[node.inputs[n]] = false;
  }
  return is_unread;
}

bool is_quantised(XnnDatatype datatype) {
  return datatype == XnnDatatype::kQint8 || datatype == XnnDatatype::kQuint8 ||
         datatype == XnnDatatype::kQcint8 || datatype == XnnDatatype::kQcint4 ||
         datatype == XnnDatatype::kQbint4;
}

// True if packing the bytes may fault. Some CPUs' kernels read whole vectors of quantised weights, and ignore
// what is after the last row (xnn_qs8_to_qu8_packw_gemm_goi_ukernel_x16c8 reads up to 7 such bytes). This is a
// fault only where the constant ends with its page; the other weights need no copy.
bool is_read_past_end(XnnDatatype datatype, std::span<const std::byte> bytes) {
  static const auto kPage = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  if (!is_quantised(datatype) || bytes.empty()) return false;
  const auto end = reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size();
  return (end - 1) / kPage != (end - 1 + XNN_EXTRA_BYTES) / kPage;
}

}  // namespace

// Remove dead nodes here: XNNPACK's own removal leaves stale consumer counts and aborts.
std::vector<bool> find_live(const XnnPayload& payload) {
  std::vector<uint32_t> producer(payload.value_of_id.size(), kXnnNoValue);
  for (uint32_t i = 0; i < payload.nodes.size(); ++i) {
    const XnnNode& node = payload.nodes[i];
    for (uint32_t o = 0; o < node.output_count; ++o) producer[node.outputs[o]] = i;
  }
  std::vector<bool> is_live(payload.nodes.size(), false);
  std::vector<uint32_t> wanted = payload.output_ids;
  while (!wanted.empty()) {
    const uint32_t made_by = producer[wanted.back()];
    wanted.pop_back();
    if (made_by == kXnnNoValue || is_live[made_by]) continue;
    is_live[made_by] = true;
    const XnnNode& node = payload.nodes[made_by];
    for (uint32_t n = 0; n < node.input_count; ++n)
      if (node.inputs[n] != kXnnNoValue) wanted.push_back(node.inputs[n]);
  }
  return is_live;
}

Result<SubgraphHandle> SubgraphBuilder::build() {
  xnn_subgraph_t raw = nullptr;
  const uint32_t external_count =
      payload_.input_argument_count() + static_cast<uint32_t>(payload_.output_ids.size());
  ETB_TRY(from_xnn(xnn_create_subgraph(external_count, 0, &raw), "subgraph"));
  SubgraphHandle subgraph(raw);
  id_of_.assign(payload_.value_of_id.size(), XNN_INVALID_VALUE_ID);
  ETB_TRY(find_constants());
  is_live_ = find_live(payload_);
  const std::vector<bool> is_unread = find_unread(payload_, is_live_);
  for (const XnnValue& value : payload_.values) {
    const uint32_t flags = (value.is_input ? XNN_VALUE_FLAG_EXTERNAL_INPUT : 0) |
                           (value.is_output ? XNN_VALUE_FLAG_EXTERNAL_OUTPUT : 0) |
                           (is_unread[value.id] ? XNN_VALUE_FLAG_PERSISTENT : 0);
    if (Status status = define_value(raw, value, value.external_id.value_or(XNN_INVALID_VALUE_ID), flags);
        !status) {
      return tl::make_unexpected(
          with_context(std::move(status).error(), "value " + std::to_string(value.id)));
    }
  }
  for (size_t i = 0; i < payload_.nodes.size(); ++i)
    if (is_live_[i]) name_weights(payload_.nodes[i]);
  for (size_t i = 0; i < payload_.nodes.size(); ++i) {
    if (!is_live_[i]) continue;
    if (Status status = define_node(raw, payload_, payload_.nodes[i], id_of_); !status) {
      return tl::make_unexpected(with_context(std::move(status).error(), "node " + std::to_string(i)));
    }
  }
  return subgraph;
}

std::vector<SubgraphBuilder::Packer> SubgraphBuilder::packers() const {
  std::vector<Packer> found;
  for (size_t i = 0; i < payload_.nodes.size(); ++i) {
    const XnnNode& node = payload_.nodes[i];
    // Most releases pack depthwise filters before the lookup. Packing them ahead would pack them twice.
    const bool is_depthwise =
        node.op == XnnOperator::kDepthwiseConv2d || node.window.group_input_channels == 1;
    if (!is_live_[i] || !is_packed_by(node, 1) || is_depthwise) continue;
    const XnnValue& filter = payload_.value(node.inputs[1]);
    const uint32_t bias = node.inputs[2];
    if (data_of_[filter.id] != nullptr && packed_.has_name(data_of_[filter.id]) &&
        (bias == kXnnNoValue || packed_.has_name(data_of_[bias])))
      found.push_back({i, *xnn_nbytes(filter.datatype, filter.sizes)});
  }
  return found;
}

Result<SubgraphHandle> SubgraphBuilder::build_packers(std::span<const Packer> packers) {
  std::vector<bool> is_made(payload_.value_of_id.size(), false), is_used = is_made;
  for (const Packer& packer : packers) {
    const XnnNode& node = payload_.nodes[packer.node];
    is_made[node.outputs[0]] = is_used[node.outputs[0]] = true;
    for (uint32_t n = 0; n < node.input_count; ++n)
      if (node.inputs[n] != kXnnNoValue) is_used[node.inputs[n]] = true;
  }
  xnn_subgraph_t raw = nullptr;
  ETB_TRY(from_xnn(xnn_create_subgraph(static_cast<uint32_t>(payload_.values.size()), 0, &raw), "subgraph"));
  SubgraphHandle subgraph(raw);
  uint32_t external_id = 0;
  for (const XnnValue& value : payload_.values) {
    if (!is_used[value.id]) continue;
    const bool is_constant = data_of_[value.id] != nullptr;
    ETB_TRY(define_value(raw, value, is_constant ? XNN_INVALID_VALUE_ID : external_id++,
                         is_constant         ? 0
                         : is_made[value.id] ? XNN_VALUE_FLAG_EXTERNAL_OUTPUT
                                             : XNN_VALUE_FLAG_EXTERNAL_INPUT));
  }
  for (const Packer& packer : packers)
    ETB_TRY(define_node(raw, payload_, payload_.nodes[packer.node], id_of_));
  return subgraph;
}

void SubgraphBuilder::find_padded() {
  padded_.assign(payload_.value_of_id.size(), false);
  for (const XnnNode& node : payload_.nodes) {
    for (uint32_t i = 0; i < node.input_count; ++i) {
      if (node.inputs[i] != kXnnNoValue && !is_packed_by(node, i)) padded_[node.inputs[i]] = true;
    }
  }
}

Status SubgraphBuilder::find_constants() {
  find_padded();
  data_of_.assign(payload_.value_of_id.size(), nullptr);
  scales_of_.assign(payload_.value_of_id.size(), nullptr);
  std::vector<Constants::Move> moves;
  for (const XnnValue& value : payload_.values) {
    Status status = find_data(value, moves);
    if (status) status = find_scales(value, moves);
    if (!status)
      return tl::make_unexpected(
          with_context(std::move(status).error(), "value " + std::to_string(value.id)));
  }
  constants_.copy(std::move(moves));
  return {};
}

Status SubgraphBuilder::find_data(const XnnValue& value, std::vector<Constants::Move>& moves) {
  if (value.constant_index == 0) return {};
  const uint64_t nbytes = *xnn_nbytes(value.datatype, value.sizes);
  data_of_[value.id] = constants_.find_copy(value.constant_index, nbytes);
  if (data_of_[value.id] != nullptr) return {};
  ETB_ASSIGN(const auto bytes, constants_.find(payload_, value.constant_index, nbytes, named_data_));
  data_of_[value.id] = bytes.data();
  if (padded_[value.id] || is_read_past_end(value.datatype, bytes))
    moves.push_back({bytes, &data_of_[value.id], value.constant_index});
  return {};
}

// Scales live as long as the constants. XNNPACK verifies them when the value is defined, and reads them again
// when it packs weights. It does not read after their end. Scales stored in the graph and misaligned ones are
// copied.
Status SubgraphBuilder::find_scales(const XnnValue& value, std::vector<Constants::Move>& moves) {
  const bool is_bfloat16 = value.quantisation == XnnQuantisation::kPerChannelGroup;
  const void*& place = scales_of_[value.id];
  if (value.scale_constant_index != 0) {
    const size_t each_nbytes = is_bfloat16 ? sizeof(uint16_t) : sizeof(float);
    const uint64_t nbytes = uint64_t{value.scale_count} * each_nbytes;
    place = constants_.find_copy(value.scale_constant_index, nbytes);
    if (place != nullptr) return {};
    ETB_ASSIGN(const auto bytes, constants_.find(payload_, value.scale_constant_index, nbytes, named_data_));
    place = bytes.data();
    if (reinterpret_cast<uintptr_t>(place) % each_nbytes != 0)
      moves.push_back({bytes, &place, value.scale_constant_index});
  } else if (is_bfloat16 && value.scales_bf16.empty()) {
    std::vector<uint16_t> rounded;
    for (const float scale : value.scales) rounded.push_back(to_bfloat16(scale));
    place = constants_.keep(std::as_bytes(std::span(rounded)));
  } else if (is_bfloat16) {
    place = constants_.keep(std::as_bytes(std::span(value.scales_bf16)));
  } else if (value.quantisation == XnnQuantisation::kPerChannel) {
    place = constants_.keep(std::as_bytes(std::span(value.scales)));
  }
  return {};
}

Status SubgraphBuilder::define_value(xnn_subgraph_t subgraph, const XnnValue& value, uint32_t external_id,
                                     uint32_t flags) {
  const void* const data = data_of_[value.id];
  const void* const scales = scales_of_[value.id];
  const std::vector<size_t> sizes(value.sizes.begin(), value.sizes.end());
  const xnn_datatype datatype = to_xnn(value.datatype);
  uint32_t* id = &id_of_[value.id];
  const bool is_4_bit = value.datatype == XnnDatatype::kQcint4 || value.datatype == XnnDatatype::kQbint4;
  const int32_t weight_zero_point = is_4_bit ? 8 : 0;  // 4-bit weights are stored plus 8
  switch (value.quantisation) {
    case XnnQuantisation::kNone:
      return from_xnn(xnn_define_tensor_value(subgraph, datatype, sizes.size(), sizes.data(), data,
                                              external_id, flags, id),
                      "tensor");
    case XnnQuantisation::kPerTensor:
      return from_xnn(
          xnn_define_quantized_tensor_value(subgraph, datatype, value.zero_point, value.scale, sizes.size(),
                                            sizes.data(), data, external_id, flags, id),
          "quantised tensor");
    case XnnQuantisation::kPerChannel:
      return from_xnn(xnn_define_channelwise_quantized_tensor_value_v2(
                          subgraph, datatype, weight_zero_point, static_cast<const float*>(scales),
                          sizes.size(), value.channel_dim, sizes.data(), data, external_id, flags, id),
                      "tensor quantised by channel");
    case XnnQuantisation::kPerToken:
      return from_xnn(xnn_define_dynamically_quantized_tensor_value(subgraph, datatype, sizes.size(),
                                                                    value.nonbatch_dim_count, sizes.data(),
                                                                    external_id, flags, id),
                      "dynamically quantised tensor");
    case XnnQuantisation::kPerChannelGroup:
      return from_xnn(
          xnn_define_blockwise_quantized_tensor_value(
              subgraph, datatype, weight_zero_point, static_cast<const uint16_t*>(scales), sizes.size(),
              value.channel_dim, value.group_size, sizes.data(), data, external_id, flags, id),
          "tensor quantised by group");
  }
  return make_error(Code::INTERNAL, "unknown quantisation");
}

// Names a node's weights by the inputs of packing, except the kernel that XNNPACK chooses: contents, and
// every number of the node and its values. Only named data has named contents: its keys identify the bytes.
void SubgraphBuilder::name_weights(const XnnNode& node) {
  if (!is_packed_by(node, 1)) return;
  ByteWriter numbers;
  numbers.write(static_cast<uint8_t>(node.op)).write(node.flags);
  const auto& w = node.window;
  for (const uint32_t number :
       {w.padding_top, w.padding_right, w.padding_bottom, w.padding_left, w.kernel_height, w.kernel_width,
        w.stride_height, w.stride_width, w.dilation_height, w.dilation_width, w.adjustment_height,
        w.adjustment_width, w.groups, w.group_input_channels, w.group_output_channels})
    numbers.write(number);
  for (const uint32_t id : {node.inputs[0], node.inputs[1], node.inputs[2], node.outputs[0]}) {
    if (id == kXnnNoValue) continue;
    const XnnValue& value = payload_.value(id);
    numbers.write(static_cast<int16_t>(value.datatype)).write(value.scale).write(value.zero_point);
    numbers.write(value.channel_dim).write(value.group_size);
    numbers.write_bytes(std::as_bytes(std::span(value.scales)));
    numbers.write_bytes(std::as_bytes(std::span(value.scales_bf16)));
    if (value.scale_constant_index != 0)
      numbers.write_bytes(std::as_bytes(std::span(payload_.constants[value.scale_constant_index].key)));
    if (value.constant_index != 0)
      for (const uint32_t size : value.sizes) numbers.write(size);
  }
  const std::vector<std::byte> bytes = numbers.take();
  const format::Sha256 digest =
      format::sha256({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  const std::string suffix(reinterpret_cast<const char*>(digest.data()), digest.size());
  for (const uint32_t i : {1u, 2u}) {
    const uint32_t id = node.inputs[i];
    if (id == kXnnNoValue || data_of_[id] == nullptr) continue;
    const std::string& key = payload_.constants[payload_.value(id).constant_index].key;
    packed_.name(data_of_[id], key.empty() ? key : i == 1 ? key + suffix : key);
  }
}

}  // namespace etb::xnnpack
