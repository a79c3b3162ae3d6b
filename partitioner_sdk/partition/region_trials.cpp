// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/region_trials.hpp"

#include <algorithm>
#include <map>

#include "partitioner_sdk/partition/grouping.hpp"

namespace etb::partition {

namespace {

// Splits the nodes into parts that stay together, ordered by their first node.
std::vector<std::vector<uint32_t>> split(const std::vector<uint32_t>& nodes,
                                         const std::vector<uint32_t>& units) {
  std::vector<std::vector<uint32_t>> parts;
  std::map<uint32_t, size_t> part_of_unit;
  for (const uint32_t node : nodes) {
    size_t part = parts.size();
    if (units[node] < ClaimSet::kFree) part = part_of_unit.emplace(units[node], part).first->second;
    if (part == parts.size()) parts.emplace_back();
    parts[part].push_back(node);
  }
  return parts;
}

}  // namespace

std::optional<Error> RegionTrials::try_nodes(std::vector<uint32_t> nodes, const MakeRegionImage& make_image) {
  std::sort(nodes.begin(), nodes.end());
  const auto image = make_image(nodes);
  if (!image) return image.error();
  return try_image(image->image);
}

std::optional<Error> RegionTrials::try_image(const graph::ImageBytes& image) {
  const graph::ImageBytes* const bytes = &image;
  const auto compiled = compiler_.compile({&bytes, 1}, keys_);
  if (!compiled) return compiled.error();
  has_success_ = true;
  return std::nullopt;
}

std::optional<RegionFailure> RegionTrials::find_failure(const graph::ImageBytes& image,
                                                        const std::vector<uint32_t>& nodes,
                                                        const std::vector<uint32_t>& units,
                                                        const MakeRegionImage& make_image) {
  std::optional<Error> error = try_image(image);
  if (!error) return std::nullopt;
  if (error->code == Code::DEADLINE_EXCEEDED) return RegionFailure{nodes, *std::move(error)};
  const std::vector<std::vector<uint32_t>> parts = split(nodes, units);
  size_t good = 0, bad = parts.size();  // the first `good` parts compile, the first `bad` do not
  while (bad - good > 1) {
    const size_t middle = good + (bad - good) / 2;
    std::vector<uint32_t> some;
    for (size_t i = 0; i < middle; ++i) some.insert(some.end(), parts[i].begin(), parts[i].end());
    if (std::optional<Error> found = try_nodes(std::move(some), make_image)) {
      bad = middle;
      error = std::move(found);
    } else {
      good = middle;
    }
  }
  return RegionFailure{parts[bad - 1], *std::move(error)};
}

}  // namespace etb::partition
