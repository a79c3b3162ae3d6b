// SPDX-License-Identifier: Apache-2.0
// Finds the nodes that keep a plugin from compiling its regions, by compiling parts of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "partitioner_sdk/partition/compiler.hpp"
#include "partitioner_sdk/partition/method_image.hpp"

namespace etb::partition {

// Returns the image of a region of these nodes, which are ascending.
using MakeRegionImage = std::function<Result<RegionImage>(const std::vector<uint32_t>& nodes)>;

struct RegionFailure {
  std::vector<uint32_t> nodes;  // to return to the host
  Error error;
};

class RegionTrials {
 public:
  RegionTrials(Compiler& compiler, const ConstantKeys& keys) : compiler_(compiler), keys_(keys) {}

  // Compiles a region alone. Returns no value if that succeeds. Otherwise returns the last node of the shortest part
  // of the region that fails, counted from its first node; all nodes after a plugin that took too long. `units`: by
  // node, as in ClaimSet; the nodes of a unit stay together.
  std::optional<RegionFailure> find_failure(const graph::ImageBytes& image,
                                            const std::vector<uint32_t>& nodes,
                                            const std::vector<uint32_t>& units,
                                            const MakeRegionImage& make_image);
  // True if a trial succeeded.
  bool has_success() const { return has_success_; }

 private:
  std::optional<Error> try_image(const graph::ImageBytes& image);
  std::optional<Error> try_nodes(std::vector<uint32_t> nodes, const MakeRegionImage& make_image);

  Compiler& compiler_;
  const ConstantKeys& keys_;
  bool has_success_ = false;
};

}  // namespace etb::partition
