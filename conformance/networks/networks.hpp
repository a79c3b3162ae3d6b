// SPDX-License-Identifier: Apache-2.0
// The networks of the suite: small ones of each kind that people compile, made without files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/networks/network_builder.hpp"

namespace etb::conformance {

struct Network {
  const char* name;  // "cnn"
  const char* what;  // text for messages: "convolutions, batch norm, pooling, a classifier"
  void (*build)(NetworkBuilder& net);
  uint32_t graph_count = 1;  // number of networks: random ones differ by their seed
};

// In files of one family each.
std::span<const Network> image_networks();
std::span<const Network> sequence_networks();
std::span<const Network> quantised_networks();
std::span<const Network> random_networks();  // drawn from the ops of one kind

std::vector<Network> all_networks();
const Network* find_network(std::string_view name);

// Returns the seed of a network's weights and, of a random one, of its nodes.
std::string seed_of(const Network& network, uint32_t graph, uint32_t round);

// A network for one batch, as the compiler imports it.
struct BuiltNetwork {
  ir::Module module;
  std::vector<NetworkInput> inputs;
};
[[nodiscard]] Result<BuiltNetwork> build_network(const Network& network, const Batch& batch,
                                                 std::string_view seed);

// Returns inputs for a batch of `size`. Equal for equal seeds and sizes.
std::vector<TensorData> make_network_inputs(const BuiltNetwork& built, int64_t size, std::string_view seed);

}  // namespace etb::conformance
