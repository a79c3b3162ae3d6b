// SPDX-License-Identifier: Apache-2.0
#include "conformance/networks/networks.hpp"

#include <fmt/format.h>

namespace etb::conformance {

std::vector<Network> all_networks() {
  std::vector<Network> out;
  for (const std::span<const Network> family :
       {image_networks(), sequence_networks(), quantised_networks(), random_networks()})
    out.insert(out.end(), family.begin(), family.end());
  return out;
}

const Network* find_network(std::string_view name) {
  static const std::vector<Network> all = all_networks();
  for (const Network& network : all)
    if (network.name == name) return &network;
  return nullptr;
}

std::string seed_of(const Network& network, uint32_t graph, uint32_t round) {
  return network.graph_count == 1 ? network.name : fmt::format("{}/{}/{}", network.name, graph, round);
}

Result<BuiltNetwork> build_network(const Network& network, const Batch& batch, std::string_view seed) {
  NetworkBuilder net(seed, batch);
  network.build(net);
  const std::vector<NetworkInput> inputs = net.inputs();
  ETB_ASSIGN(ir::Module module, net.take());
  return BuiltNetwork{std::move(module), inputs};
}

std::vector<TensorData> make_network_inputs(const BuiltNetwork& built, int64_t size, std::string_view seed) {
  Random random(fmt::format("{}/{}", seed, size));
  std::vector<TensorData> out;
  uint32_t operand = 0;
  for (const NetworkInput& input : built.inputs) {
    Shape shape{static_cast<etb_dtype>(input.dtype), {}, {}};
    for (const ir::Dim dim : input.sizes) shape.sizes.push_back(dim.is_static() ? dim.value() : size);
    out.push_back(make_values(shape, Values::kStatistical, input.domain, operand++, random));
  }
  return out;
}

}  // namespace etb::conformance
