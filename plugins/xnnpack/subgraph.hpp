// From a payload to an XNNPACK subgraph: constants, values, then nodes.
#pragma once

#include <map>
#include <vector>

#include "api/format/xnnpack_payload.hpp"
#include "etb/cpp/payload.hpp"
#include "plugins/xnnpack/packed_weights.hpp"
#include "plugins/xnnpack/xnn_handles.hpp"

namespace etb::xnnpack {

// The bytes that a subgraph points into. They stay where they are for the life of every runtime made from it: XNNPACK reads
// constants that it does not pack, and knows packed weights by the address they came from.
class Constants {
 public:
  // Fetches constant `index` of the payload, which must have at least `nbytes`. With `padded` it is copied, so that the
  // XNN_EXTRA_BYTES behind it can be read.
  [[nodiscard]] Result<const void*> find(const format::XnnPayload& payload, uint32_t index, uint64_t nbytes,
                                         bool padded, const NamedData& named_data);

  // Gives named data back, once XNNPACK has packed all that it does not have a copy of. Addresses stay good as names.
  void release_named() { named_.clear(); }

  // Copies bytes and keeps the copy, with XNN_EXTRA_BYTES behind it.
  const void* keep(std::span<const std::byte> bytes);

 private:
  std::map<std::string, Payload> named_;
  std::vector<std::unique_ptr<std::byte[]>> copies_;
  std::map<uint32_t, const void*> padded_;
};

// A subgraph of `payload`. Errors name the value or node. `packed` learns what the weights are called.
[[nodiscard]] Result<Subgraph> make_subgraph(const format::XnnPayload& payload, const NamedData& named_data,
                                             Constants& constants, PackedWeights& packed);

// Adds one node. `id_of` maps the payload's ids to the subgraph's.
[[nodiscard]] Status define_node(xnn_subgraph_t subgraph, const format::XnnPayload& payload,
                                 const format::XnnNode& node, const std::vector<uint32_t>& id_of);

}  // namespace etb::xnnpack
