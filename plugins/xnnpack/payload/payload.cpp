// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/payload/payload.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "api/format/delegate_sections.hpp"
#include "etb_schema/xnnpack_graph_generated.h"
#include "plugins/xnnpack/payload/datatypes.hpp"
#include "plugins/xnnpack/payload/reader.hpp"
#include "plugins/xnnpack/payload/shapes.hpp"
#include "plugins/xnnpack/payload/weights.hpp"

namespace etb::xnnpack {

namespace fb = xnnpack_schema;

namespace {

constexpr uint32_t kMaxExternals = 4096;  // same as the official runtime
constexpr uint32_t kFlagInput = 1, kFlagOutput = 2;

constexpr std::string_view kMagic = "XH00";

// Without the header the whole payload is a graph.
Result<format::DelegateSections> split(std::span<const std::byte> payload) {
  if (!format::has_delegate_header(payload, kMagic)) return format::DelegateSections{payload, {}};
  return format::read_delegate_sections(payload);
}

// Reads one payload. read() calls the steps in this order.
class Reader {
 public:
  explicit Reader(const format::DelegateSections& sections)
      : graph_nbytes_(sections.graph.size()), constant_bytes_(sections.constants) {}

  Result<XnnPayload> read(const fb::Graph& graph) {
    graph_ = &graph;
    ETB_TRY(read_constants());
    ETB_TRY(read_values());
    ETB_TRY(read_externals());
    ETB_TRY(read_xnnpack_nodes(graph, out_));
    ETB_TRY(replace_sizes());
    ETB_TRY(verify_weights());
    return std::move(out_);
  }

 private:
  // ---- Constants

  Status read_constants() {
    out_.constants.emplace_back();
    if (const auto* ranges = graph_->constants()) {
      for (uint32_t i = 1; i < ranges->size(); ++i) ETB_TRY(read_constant_range(i, *ranges->Get(i)));
      return {};
    }
    const auto* buffers = graph_->inline_buffers();
    for (uint32_t i = 1; buffers && i < buffers->size(); ++i) {
      XnnConstant constant;
      if (const auto* storage = buffers->Get(i)->storage()) {
        constant.bytes = std::as_bytes(std::span(storage->data(), storage->size()));
      }
      out_.constants.push_back(constant);
    }
    return {};
  }

  Status read_constant_range(uint32_t index, const fb::ConstantRange& range) {
    XnnConstant constant;
    if (range.named_key() != nullptr) {
      ETB_TRY(count_copied(range.named_key()->size()));
      constant.key = range.named_key()->str();
      if (constant.key.empty()) return bad("constant ", index, ": empty key");
    } else {
      if (range.offset() > constant_bytes_.size() || range.size() > constant_bytes_.size() - range.offset()) {
        return bad("constant ", index, ": ", range.size(), " bytes at ", range.offset(), ", constants have ",
                   constant_bytes_.size());
      }
      constant.bytes = constant_bytes_.subspan(range.offset(), range.size());
    }
    out_.constants.push_back(std::move(constant));
    return {};
  }

  // ---- Values

  Status read_values() {
    const auto* holders = graph_->values();
    if (holders == nullptr) return bad("graph without values");
    out_.value_of_id.assign(holders->size(), kXnnNoValue);
    for (uint32_t i = 0; i < holders->size(); ++i) {
      if (Status status = read_value(*holders->Get(i)); !status) {
        return tl::make_unexpected(with_context(std::move(status).error(), "value " + std::to_string(i)));
      }
    }
    return {};
  }

  Status read_value(const fb::ValueHolder& holder) {
    const fb::DenseValue* dense = holder.value_as_DenseValue();
    const fb::QuantisedValue* quantised = holder.value_as_QuantisedValue();
    if (quantised != nullptr) dense = quantised->dense();
    if (dense == nullptr) return bad("kind ", static_cast<int>(holder.value_type()), ", expected a tensor");
    XnnValue value;
    ETB_TRY(read_dense(*dense, value));
    if (quantised != nullptr) ETB_TRY(read_quantisation(*quantised, value));
    ETB_TRY(verify_xnnpack_quantisation(value));
    ETB_TRY(check_constant_nbytes(value));
    if (value.constant_index == 0 && (value.quantisation == XnnQuantisation::kPerChannel ||
                                      value.quantisation == XnnQuantisation::kPerChannelGroup))
      return bad("quantised by channel, expected a constant");
    out_.value_of_id[value.id] = static_cast<uint32_t>(out_.values.size());
    out_.values.push_back(std::move(value));
    return {};
  }

  Status read_dense(const fb::DenseValue& dense, XnnValue& value) {
    value.id = dense.id();
    if (value.id >= out_.value_of_id.size())
      return bad("id ", value.id, ", expected less than ", out_.value_of_id.size());
    if (out_.value_of_id[value.id] != kXnnNoValue) return bad("id ", value.id, " stands twice");
    if (dense.datatype() < 1 || dense.datatype() > 14)
      return bad("datatype ", dense.datatype(), ", expected 1 to 14");
    value.datatype = static_cast<XnnDatatype>(dense.datatype());
    const uint32_t rank = dense.sizes() ? dense.sizes()->size() : 0;
    if (rank > kXnnMaxRank || rank != dense.rank())
      return bad("rank ", dense.rank(), " with ", rank, " sizes, expected at most ", kXnnMaxRank);
    for (uint32_t d = 0; d < rank; ++d) value.sizes.push_back(dense.sizes()->Get(d));
    if (!xnn_nbytes(value.datatype, value.sizes)) return bad("sizes overflow");
    value.constant_index = dense.constant_index();
    if (value.constant_index >= out_.constants.size()) {
      return bad("constant ", value.constant_index, ", expected less than ", out_.constants.size());
    }
    if ((dense.flags() & ~(kFlagInput | kFlagOutput)) != 0)
      return bad("flags ", dense.flags(), ", expected only bits 1 and 2");
    value.is_input = (dense.flags() & kFlagInput) != 0;
    value.is_output = (dense.flags() & kFlagOutput) != 0;
    if (dense.external_id() != kXnnNoValue && (value.is_input || value.is_output))
      value.external_id = dense.external_id();
    if (value.constant_index != 0 && (value.is_input || value.is_output))
      return bad("constant and external at once");
    return {};
  }

  Status check_constant_nbytes(const XnnValue& value) {
    if (value.constant_index == 0) return {};
    const uint64_t want = *xnn_nbytes(value.datatype, value.sizes);
    if (want == 0) return bad("constant without elements");  // XNNPACK divides by their count
    if (!out_.constants[value.constant_index].key.empty()) return {};
    const size_t have = out_.constants[value.constant_index].bytes.size();
    if (have < want) return bad("constant of ", have, " bytes, expected ", want);
    return {};
  }

  Status read_quantisation(const fb::QuantisedValue& quantised, XnnValue& value) {
    if (quantised.quantisation() == nullptr) return bad("quantisation without parameters");
    switch (quantised.quantisation_type()) {
      case fb::Quantisation::PerTensor:
        return read_per_tensor(*quantised.quantisation_as_PerTensor(), value);
      case fb::Quantisation::PerChannel: {
        const auto& params = *quantised.quantisation_as_PerChannel();
        value.quantisation = XnnQuantisation::kPerChannel;
        ETB_TRY(copy(params.scale(), value.scales));
        ETB_TRY(read_channel(params.channel_dim(), value));
        return read_scales(params.scale_buffer_index(), params.scale_count(), value.scales.size(),
                           value.sizes[value.channel_dim], value);
      }
      case fb::Quantisation::PerToken: {
        const int32_t count = quantised.quantisation_as_PerToken()->nonbatch_dim_count();
        if (count < 1 || static_cast<size_t>(count) > value.sizes.size())
          return bad(count, " dimensions a token, rank ", value.sizes.size());
        value.quantisation = XnnQuantisation::kPerToken;
        value.nonbatch_dim_count = static_cast<uint32_t>(count);
        return {};
      }
      case fb::Quantisation::PerChannelGroup:
        return read_group(*quantised.quantisation_as_PerChannelGroup(), value);
      case fb::Quantisation::NONE:
        break;
    }
    return bad("quantisation ", static_cast<int>(quantised.quantisation_type()), ", expected 1 to 4");
  }

  Status read_per_tensor(const fb::PerTensor& params, XnnValue& value) {
    value.quantisation = XnnQuantisation::kPerTensor;
    value.scale = params.scale();
    value.zero_point = params.zero_point();
    if (!std::isnormal(value.scale) || value.scale <= 0)
      return bad("scale ", value.scale, ", expected a positive number");
    const bool is_unsigned = value.datatype == XnnDatatype::kQuint8;
    const int32_t low = is_unsigned ? 0 : -128, high = is_unsigned ? 255 : 127;
    if (value.zero_point < low || value.zero_point > high)
      return bad("zero point ", value.zero_point, ", expected ", low, " to ", high);
    return {};
  }

  Status read_channel(int32_t channel_dim, XnnValue& value) {
    if (channel_dim < 0 || static_cast<size_t>(channel_dim) >= value.sizes.size()) {
      return bad("channel dimension ", channel_dim, ", rank ", value.sizes.size());
    }
    value.channel_dim = static_cast<uint32_t>(channel_dim);
    return {};
  }

  // Many values may refer to one vector of a graph. Limits the copied bytes to a few times the size of the
  // graph.
  Status count_copied(uint64_t nbytes) {
    constexpr uint64_t kMostCopies = 4;
    copied_nbytes_ += nbytes;
    if (copied_nbytes_ > kMostCopies * graph_nbytes_)
      return bad("scales and keys of ", copied_nbytes_, " bytes in a graph of ", graph_nbytes_);
    return {};
  }

  template <class T>
  Status copy(const flatbuffers::Vector<T>* from, std::vector<T>& to) {
    if (from == nullptr) return {};
    ETB_TRY(count_copied(uint64_t{from->size()} * sizeof(T)));
    to.assign(from->begin(), from->end());
    return {};
  }

  // Reads `inline_count` scales of the graph, or scale_count scales of a constant. `want` are needed.
  Status read_scales(uint32_t constant_index, uint32_t scale_count, size_t inline_count, uint64_t want,
                     XnnValue& value) {
    if (inline_count != 0) {
      if (inline_count != want) return bad(inline_count, " scales, expected ", want);
      for (const float scale : value.scales) {
        if (!std::isfinite(scale) || scale < 0)
          return bad("scale ", scale, ", expected a number that is not negative");
      }
      return {};
    }
    if (constant_index == 0 || constant_index >= out_.constants.size()) {
      return bad("no scales: constant ", constant_index, ", expected 1 to ", out_.constants.size() - 1);
    }
    if (scale_count != want) return bad(scale_count, " scales, expected ", want);
    value.scale_constant_index = constant_index;
    value.scale_count = scale_count;
    const uint64_t nbytes =
        uint64_t{scale_count} * (value.quantisation == XnnQuantisation::kPerChannelGroup ? 2 : 4);
    const XnnConstant& constant = out_.constants[constant_index];
    if (constant.key.empty() && constant.bytes.size() < nbytes)
      return bad("scales of ", constant.bytes.size(), " bytes, expected ", nbytes);
    return {};
  }

  Status read_group(const fb::PerChannelGroup& params, XnnValue& value) {
    value.quantisation = XnnQuantisation::kPerChannelGroup;
    ETB_TRY(read_channel(params.channel_dim(), value));
    if (value.sizes.size() != 2 || value.channel_dim != 0)
      return bad("groups of rank ", value.sizes.size(), ", expected a matrix by rows");
    if (params.group_size() <= 0 || value.sizes[1] % static_cast<uint32_t>(params.group_size()) != 0) {
      return bad("group size ", params.group_size(), ", expected a divisor of ", value.sizes[1]);
    }
    value.group_size = static_cast<uint32_t>(params.group_size());
    ETB_TRY(copy(params.scale_bf16(), value.scales_bf16));
    if (value.scales_bf16.empty()) ETB_TRY(copy(params.scale(), value.scales));
    const uint64_t want = uint64_t{value.sizes[0]} * (value.sizes[1] / value.group_size);
    return read_scales(params.scale_buffer_index(), params.scale_count(),
                       value.scales_bf16.size() + value.scales.size(), want, value);
  }

  // ---- Externals

  Status read_externals() {
    if (graph_->external_count() > kMaxExternals)
      return bad(graph_->external_count(), " externals, expected at most ", kMaxExternals);
    const uint32_t count = graph_->external_count();
    const uint32_t input_count = graph_->input_ids() ? graph_->input_ids()->size() : 0;
    const uint32_t output_count = graph_->output_ids() ? graph_->output_ids()->size() : 0;
    if (input_count > count || output_count > count - input_count)
      return bad(input_count, " inputs and ", output_count, " outputs, expected together at most ", count);
    out_.ignored_input_count = count - input_count - output_count;
    ETB_TRY(read_ids(graph_->input_ids(), "input", true, 0, count - output_count, out_.input_ids));
    ETB_TRY(
        read_ids(graph_->output_ids(), "output", false, count - output_count, output_count, out_.output_ids));
    size_t flagged = 0;
    for (const XnnValue& value : out_.values) flagged += value.is_input || value.is_output;
    if (flagged != input_count + output_count)
      return bad(flagged, " values are external, expected ", input_count + output_count);
    return {};
  }

  // Orders values by their external ids, which are different ones of the `slot_count` from `base` on.
  Status read_ids(const flatbuffers::Vector<uint32_t>* ids, const char* what, bool inputs, uint32_t base,
                  uint32_t slot_count, std::vector<uint32_t>& out) {
    const uint32_t count = ids ? ids->size() : 0;
    out.assign(slot_count, kXnnNoValue);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t id = ids->Get(i);
      if (!is_value(id)) return bad(what, " ", i, ": no value ", id);
      const XnnValue& value = out_.value(id);
      if (!(inputs ? value.is_input : value.is_output) || !value.external_id)
        return bad(what, " ", i, ": value ", id, " is not external");
      const uint32_t slot = *value.external_id - base;  // wraps around for an id of the other list
      if (slot >= slot_count || out[slot] != kXnnNoValue)
        return bad(what, " ", i, ": external id ", *value.external_id, " out of place");
      out[slot] = id;
    }
    out.erase(std::remove(out.begin(), out.end(), kXnnNoValue), out.end());
    return {};
  }

  // Replaces the declared sizes by inferred ones, because XNNPACK allocates memory for declared sizes, not
  // for those that it computes.
  Status replace_sizes() {
    ETB_ASSIGN(const std::vector<XnnShape> shapes, infer_xnnpack_shapes(out_, {}));
    for (XnnValue& value : out_.values) {
      const auto sizes = shapes[value.id].span();
      value.sizes.assign(sizes.begin(), sizes.end());
    }
    return {};
  }

  Status verify_weights() {
    for (uint32_t i = 0; i < out_.nodes.size(); ++i) {
      if (Status status = verify_xnnpack_weights(out_, out_.nodes[i]); !status)
        return tl::make_unexpected(
            with_context(std::move(status).error(), xnnpack_node_name(i, out_.nodes[i].op)));
    }
    return {};
  }

  bool is_value(uint32_t id) const {
    return id < out_.value_of_id.size() && out_.value_of_id[id] != kXnnNoValue;
  }

  uint64_t graph_nbytes_ = 0, copied_nbytes_ = 0;
  std::span<const std::byte> constant_bytes_;
  const fb::Graph* graph_ = nullptr;
  XnnPayload out_;
};

bool has_identifier(std::span<const std::byte> graph) {
  if (graph.size() < 8) return false;
  return std::memcmp(graph.data() + 4, "XN01", 4) == 0 || std::memcmp(graph.data() + 4, "XN00", 4) == 0;
}

}  // namespace

uint16_t to_bfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

bool is_xnnpack_payload(std::span<const std::byte> prefix) {
  return format::has_delegate_header(prefix, kMagic) || has_identifier(prefix);
}

std::optional<uint64_t> xnn_nbytes(XnnDatatype datatype, std::span<const uint32_t> sizes) {
  uint64_t rows = 1;
  const size_t rank = sizes.size();
  for (size_t d = 0; d + 1 < rank; ++d) {
    if (sizes[d] != 0 && rows > std::numeric_limits<uint64_t>::max() / 64 / sizes[d]) return std::nullopt;
    rows *= sizes[d];
  }
  uint64_t row = rank ? sizes[rank - 1] : 1;
  switch (datatype) {
    case XnnDatatype::kQcint4:
    case XnnDatatype::kQbint4:
      row = (row + 1) / 2;
      break;
    case XnnDatatype::kFloat16:
    case XnnDatatype::kBfloat16:
      row *= 2;
      break;
    case XnnDatatype::kFloat32:
    case XnnDatatype::kPfloat32:
    case XnnDatatype::kInt32:
    case XnnDatatype::kQint32:
    case XnnDatatype::kQcint32:
      row *= 4;
      break;
    default:
      break;
  }
  if (row != 0 && rows > (uint64_t{1} << 62) / row) return std::nullopt;
  return rows * row;
}

namespace {

bool is_valid_graph(std::span<const std::byte> graph) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(graph.data()), graph.size(), 64, 1u << 20);
  return verifier.VerifyBuffer<fb::Graph>(nullptr);
}

}  // namespace

Status check_xnnpack_operators(std::span<const std::byte> prefix) {
  const auto sections = split(prefix);
  if (!sections || !has_identifier(sections->graph) ||
      reinterpret_cast<uintptr_t>(sections->graph.data()) % 8 != 0 || !is_valid_graph(sections->graph))
    return {};
  const auto* nodes = flatbuffers::GetRoot<fb::Graph>(sections->graph.data())->nodes();
  for (uint32_t i = 0; nodes != nullptr && i < nodes->size(); ++i)
    ETB_TRY(check_xnnpack_operator(i, static_cast<uint8_t>(nodes->Get(i)->body_type())));
  return {};
}

Result<XnnPayload> read_xnnpack_payload(std::span<const std::byte> payload) {
  ETB_ASSIGN(const format::DelegateSections sections, split(payload));
  if (!has_identifier(sections.graph))
    return make_error(Code::INCOMPATIBLE, "graph without identifier XN01 or XN00");
  if (reinterpret_cast<uintptr_t>(sections.graph.data()) % 8 != 0)
    return bad("graph lies at no multiple of 8 bytes");
  if (!is_valid_graph(sections.graph)) return bad("graph is no valid FlatBuffer");
  return Reader(sections).read(*flatbuffers::GetRoot<fb::Graph>(sections.graph.data()));
}

}  // namespace etb::xnnpack
