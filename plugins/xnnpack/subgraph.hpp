// From a payload to an XNNPACK subgraph: constants, values, then nodes.
#pragma once

#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "api/format/xnnpack_payload.hpp"
#include "etb/cpp/payload.hpp"
#include "plugins/xnnpack/packed_weights.hpp"
#include "plugins/xnnpack/xnn_handles.hpp"

namespace etb::xnnpack {

// The bytes that a subgraph points into. They stay where they are for the life of every runtime made from it: XNNPACK reads
// constants that it does not pack.
class Constants {
 public:
  // Fetches constant `index` of the payload, which must have at least `nbytes`. With `padded` it is copied, so that the
  // XNN_EXTRA_BYTES behind it can be read.
  [[nodiscard]] Result<const void*> find(const format::XnnPayload& payload, uint32_t index, uint64_t nbytes,
                                         bool padded, const NamedData& named_data);

  // Give named data back that XNNPACK has packed and that is not copied here: what begins at an address, or all.
  void release(const void* address);
  void release_all();

  // Copies bytes and keeps the copy, with XNN_EXTRA_BYTES behind it.
  const void* keep(std::span<const std::byte> bytes);

 private:
  std::unordered_map<std::string, Payload> named_;
  std::unordered_map<const void*, const std::string*> name_of_;
  std::vector<std::unique_ptr<std::byte[]>> copies_;
  std::map<uint32_t, const void*> padded_;
};

// From payload to subgraph. What it is given lives longer; `packed` learns what the weights are called.
class SubgraphBuilder {
 public:
  SubgraphBuilder(const format::XnnPayload& payload, const NamedData& named_data, Constants& constants,
                  PackedWeights& packed)
      : payload_(payload), named_data_(named_data), constants_(constants), packed_(packed) {}

  // All of it. Errors name the value or node.
  [[nodiscard]] Result<Subgraph> build();

  // Nodes of the payload whose packed weights have names, with the bytes of these; not those that no output needs. After build().
  struct Packer {
    size_t node;
    uint64_t nbytes;
  };
  [[nodiscard]] std::vector<Packer> packers() const;
  // These nodes alone, side by side: a runtime of it packs the same weights under the same names.
  [[nodiscard]] Result<Subgraph> build_packers(std::span<const Packer> packers);

 private:
  void find_live();
  void find_padded();
  Status define_value(xnn_subgraph_t subgraph, const format::XnnValue& value, uint32_t external_id,
                      uint32_t flags);
  Result<const void*> find_data(const format::XnnValue& value);
  void name_weights(const format::XnnNode& node);
  template <class T>
  Result<const T*> find_scales(const format::XnnValue& value, const std::vector<T>& inline_scales);

  const format::XnnPayload& payload_;
  const NamedData& named_data_;
  Constants& constants_;
  PackedWeights& packed_;
  std::vector<uint32_t> id_of_;       // by id of the payload: that of the subgraph in the making
  std::vector<const void*> data_of_;  // by id: the bytes of a constant
  std::vector<const void*> scales_of_;
  std::vector<bool> padded_;
  std::vector<bool> is_live_;  // by node
};

// Adds one node. `id_of` maps the payload's ids to the subgraph's.
[[nodiscard]] Status define_node(xnn_subgraph_t subgraph, const format::XnnPayload& payload,
                                 const format::XnnNode& node, const std::vector<uint32_t>& id_of);

}  // namespace etb::xnnpack
