// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/compile/value_map.hpp"

#include "plugins/xnnpack/compile/op.hpp"
#include "plugins/xnnpack/compile/quantization_matcher.hpp"
#include "plugins/xnnpack/compile/reject.hpp"

namespace etb::xnnpack {

const LoweredValue* ValueMap::find(const Map& map, uint32_t value) {
  const auto found = map.find(value);
  return found == map.end() ? nullptr : &found->second;
}

Result<LoweredValue> ValueMap::get_floats(uint32_t value) {
  if (const LoweredValue* floats = find_floats(value)) return *floats;
  if (const LoweredValue* integers = find_integers(value)) return dequantise(value, *integers);
  if (dynamic_.count(value) != 0)
    return reject("quant", "quantised at run time for an op that is no linear layer");
  ETB_ASSIGN(LoweredValue entered, enter(value));
  define(value, entered);
  return entered;
}

// Adds a value without a lowered producer.
Result<LoweredValue> ValueMap::enter(uint32_t value) {
  const Value entered = graph_.image().value(value);
  if (!entered.is_tensor()) return reject("dtype", "'", entered.name(), "': no tensor");
  const etb_graph_spec spec = entered.spec();
  if (spec.rank > kMaxRank)
    return reject("rank", "'", entered.name(), "': rank ", spec.rank, ", expected at most ", kMaxRank);
  const Permutation perm = graph_.storage_order(value);
  if (ConstantPtr found = graph_.find_constant(value)) {
    if (found->dtype != ETB_DTYPE_FLOAT32 && found->dtype != ETB_DTYPE_FLOAT16 &&
        found->dtype != ETB_DTYPE_INT8)
      found = converted(found, ETB_DTYPE_FLOAT32);  // scalars that the exporter lifted
    const auto datatype = datatype_of(found->dtype);
    return LoweredValue{builder_.add_constant(found, datatype.value_or(XnnDatatype::kQint8)), perm};
  }
  if (spec.dtype == ETB_DTYPE_INT8) {
    const auto params = read_params(graph_.find_reader(value));
    if (!params) return reject("quant", "'", entered.name(), "': int8 that is not dequantised");
    const uint32_t id = builder_.add_input(XnnDatatype::kQint8, arrange(graph_.extents(value), perm));
    set_params(builder_.value(id), *params);
    return LoweredValue{id, perm};
  }
  ETB_ASSIGN(const XnnDatatype datatype, datatype_of(static_cast<etb_dtype>(spec.dtype)));
  for (uint32_t i = 0; i < spec.rank; ++i) {
    if (spec.sizes[i] < 0 || spec.sizes[i] > INT32_MAX)
      return reject("dynamic", "'", entered.name(), "': dimension ", i, " without an upper bound");
  }
  return LoweredValue{builder_.add_input(datatype, arrange(graph_.extents(value), perm)), perm};
}

// Dequantises a float value that was lowered as integers, for an op on floats.
LoweredValue ValueMap::dequantise(uint32_t value, const LoweredValue& integers) {
  if (const ConstantPtr& constant = builder_.constant(integers.id)) {
    const XnnValue& from = builder_.value(integers.id);
    const bool is_by_group = from.quantisation == XnnQuantisation::kPerChannelGroup;
    const std::vector<float> scales = is_by_group || from.quantisation == XnnQuantisation::kPerChannel
                                          ? from.scales
                                          : std::vector<float>{from.scale};
    size_t inner = is_by_group ? from.group_size : 1;
    for (size_t d = from.channel_dim + 1; !is_by_group && d < from.sizes.size(); ++d) inner *= from.sizes[d];
    const int32_t zero_point = from.zero_point;
    const ConstantPtr floats =
        computed({constant}, constant->sizes, ETB_DTYPE_FLOAT32, [=](const auto& operands) {
          std::vector<float> out = operands[0];
          for (size_t i = 0; i < out.size(); ++i)
            out[i] = (out[i] - static_cast<float>(zero_point)) * scales[i / inner % scales.size()];
          return out;
        });
    return floats_[value] = {builder_.add_constant(floats, XnnDatatype::kFloat32), integers.perm};
  }
  const uint32_t id = builder_.add_value(XnnDatatype::kFloat32, builder_.extents(integers.id));
  builder_.add_node(XnnOperator::kConvert, {integers.id}, {id});
  return floats_[value] = {id, integers.perm};
}

void ValueMap::define(uint32_t value, LoweredValue lowered) {
  // A node that only renames a value does not count as its reader.
  const auto [known, is_new] = id_use_counts_.emplace(lowered.id, 0);
  known->second += static_cast<int64_t>(graph_.use_count(value)) - (is_new ? 0 : 1);
  const XnnDatatype datatype = builder_.value(lowered.id).datatype;
  const bool has_integers = datatype == XnnDatatype::kQint8 || datatype == XnnDatatype::kQcint8;
  (has_integers && graph_.dtype(value) != ETB_DTYPE_INT8 ? integers_ : floats_)[value] = std::move(lowered);
}

XnnNode* ValueMap::find_only_producer(uint32_t value, bool is_quantised) {
  const LoweredValue* found = is_quantised ? find_integers(value) : find_floats(value);
  if (found == nullptr || id_use_counts_[found->id] != 1) return nullptr;
  return builder_.producer(found->id);
}

void ValueMap::forget(const Node& node, size_t first_new) {
  for (const Value& made : node.results()) {
    for (Map* map : {&floats_, &integers_}) {
      const LoweredValue* found = find(*map, made.id());
      if (found == nullptr) continue;
      if (found->id >= first_new) {
        id_use_counts_.erase(found->id);
      } else {
        id_use_counts_[found->id] -= static_cast<int64_t>(graph_.use_count(made.id())) - 1;
      }
      map->erase(made.id());
    }
  }
}

std::optional<uint32_t> ValueMap::dynamic_source(uint32_t value) const {
  const auto found = dynamic_.find(value);
  return found == dynamic_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace etb::xnnpack
