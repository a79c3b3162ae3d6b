// SPDX-License-Identifier: Apache-2.0
// Builds an XNNPACK subgraph from a payload: values, then nodes.
#pragma once

#include <span>
#include <vector>

#include "etb/cpp/payload.hpp"
#include "plugins/xnnpack/constants.hpp"
#include "plugins/xnnpack/packed_weights.hpp"
#include "plugins/xnnpack/payload/payload.hpp"
#include "plugins/xnnpack/xnn_handles.hpp"

namespace etb::xnnpack {

// By node of a payload: true if an output needs it.
std::vector<bool> find_live(const XnnPayload& payload);

// Builds subgraphs. All constructor arguments must outlive it. Names the weights in `packed`.
class SubgraphBuilder {
 public:
  SubgraphBuilder(const XnnPayload& payload, const NamedData& named_data, Constants& constants,
                  PackedWeights& packed)
      : payload_(payload), named_data_(named_data), constants_(constants), packed_(packed) {}

  // Builds the whole subgraph. Errors name the value or node.
  [[nodiscard]] Result<SubgraphHandle> build();

  // A live node whose packed weights have names, and the size of its filter. Valid after build().
  struct Packer {
    size_t node;
    uint64_t nbytes;
  };
  [[nodiscard]] std::vector<Packer> packers() const;
  // Builds these nodes alone, side by side. A runtime of them packs the same weights under the same names.
  [[nodiscard]] Result<SubgraphHandle> build_packers(std::span<const Packer> packers);

 private:
  void find_padded();
  Status find_constants();
  Status define_value(xnn_subgraph_t subgraph, const XnnValue& value, uint32_t external_id, uint32_t flags);
  Status find_data(const XnnValue& value, std::vector<Constants::Move>& moves);
  Status find_scales(const XnnValue& value, std::vector<Constants::Move>& moves);
  void name_weights(const XnnNode& node);

  const XnnPayload& payload_;
  const NamedData& named_data_;
  Constants& constants_;
  PackedWeights& packed_;
  std::vector<uint32_t> id_of_;         // by id of the payload: id in the current subgraph
  std::vector<const void*> data_of_;    // by id: the bytes of a constant
  std::vector<const void*> scales_of_;  // by id: the scales of a value with several
  std::vector<bool> padded_;
  std::vector<bool> is_live_;  // by node
};

// Adds one node. `id_of` maps the payload's ids to the subgraph's.
[[nodiscard]] Status define_node(xnn_subgraph_t subgraph, const XnnPayload& payload, const XnnNode& node,
                                 const std::vector<uint32_t>& id_of);

}  // namespace etb::xnnpack
