// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/compile/source_graph.hpp"

#include <algorithm>
#include <span>

#include "api/format/digest.hpp"
#include "plugins/xnnpack/compile/op.hpp"

namespace etb::xnnpack {

std::vector<int64_t> SourceGraph::sizes(uint32_t value) const {
  const etb_graph_spec found = spec(value);
  return {found.sizes, found.sizes + found.rank};
}

Extents SourceGraph::extents(uint32_t value) const {
  const etb_graph_spec found = spec(value);
  Extents out{{}, found.dynamic_dims};
  for (uint32_t i = 0; i < found.rank; ++i) out.sizes.push_back(static_cast<uint32_t>(found.sizes[i]));
  return out;
}

Permutation SourceGraph::storage_order(uint32_t value) const {
  const etb_graph_spec found = spec(value);
  Permutation perm(found.rank);
  for (uint32_t i = 0; i < found.rank; ++i) perm[found.dim_order[i]] = i;
  return perm;
}

std::optional<Node> SourceGraph::find_reader(uint32_t value) const {
  if (facts_.readers[value] == kXnnNoValue) return std::nullopt;
  return graph_.node(facts_.readers[value]);
}

std::optional<Node> SourceGraph::find_producer(uint32_t value) const {
  if (facts_.producers[value] == kXnnNoValue) return std::nullopt;
  return graph_.node(facts_.producers[value]);
}

ConstantPtr SourceGraph::find_constant(uint32_t value) const {
  if (value >= graph_.input_count()) return nullptr;
  const etb_graph_input input = etb_graph_get_input(&graph_.view(), &graph_.c(), value);
  if (input.constant == graph::kNone || input.updated_by != graph::kNone) return nullptr;
  const etb_graph_constant found = etb_graph_get_constant(&graph_.view(), input.constant);
  const etb_graph_spec spec = etb_graph_get_spec(&graph_.view(), found.spec);
  auto made = std::make_shared<Constant>();
  made->dtype = static_cast<etb_dtype>(spec.dtype);
  for (uint32_t i = 0; i < spec.rank; ++i)
    made->sizes.push_back(spec.sizes[spec.dim_order[i]]);  // the storage order of the bytes
  made->image_key = found.key;
  made->read = [region = region_, key = made->image_key, data = static_cast<const std::byte*>(found.data),
                nbytes = found.nbytes]() -> Result<Bytes> {
    if (data != nullptr) return Bytes({data, static_cast<size_t>(nbytes)}, nullptr);
    if (region == nullptr) return make_error(Code::INTERNAL, "a claim reads constant '" + key + "'");
    ETB_ASSIGN(Payload payload, region->read_constant(key.c_str()));
    const auto bytes = payload.bytes();
    if (bytes.size() < nbytes)
      return make_error(Code::INVALID_DATA, "constant '" + key + "' of " + std::to_string(bytes.size()) +
                                                " bytes, expected " + std::to_string(nbytes));
    return Bytes(bytes.first(static_cast<size_t>(nbytes)), std::make_shared<Payload>(std::move(payload)));
  };
  return made;
}

bool SourceGraph::may_be_zeros(uint32_t value) const {
  constexpr uint64_t kMostNbytes = uint64_t{1} << 20;  // of zeros to compute a digest of
  if (value >= graph_.input_count()) return true;
  const etb_graph_input input = etb_graph_get_input(&graph_.view(), &graph_.c(), value);
  if (input.constant == graph::kNone) return true;
  const etb_graph_constant found = etb_graph_get_constant(&graph_.view(), input.constant);
  const auto is_zero = [](uint8_t byte) { return byte == 0; };
  if (found.data != nullptr) {
    const std::span bytes(static_cast<const uint8_t*>(found.data), static_cast<size_t>(found.nbytes));
    return std::all_of(bytes.begin(), bytes.end(), is_zero);
  }
  if (found.digest == nullptr || found.nbytes > kMostNbytes) return true;
  const std::span digest(found.digest, ETB_GRAPH_DIGEST_NBYTES);
  const bool is_unknown = std::all_of(digest.begin(), digest.end(), is_zero);
  const format::Sha256 zeros = format::sha256(std::vector<uint8_t>(static_cast<size_t>(found.nbytes)));
  return is_unknown || std::equal(digest.begin(), digest.end(), zeros.begin());
}

bool SourceGraph::is_made_of_constants(uint32_t value) const {
  const std::optional<Node> producer = find_producer(value);
  if (!producer) return find_constant(value) != nullptr;
  if (!has_trait(producer->op_name(), kFolds)) return false;
  for (const Value& operand : producer->operands())
    if (!is_made_of_constants(operand.id())) return false;
  return true;
}

}  // namespace etb::xnnpack
