// SPDX-License-Identifier: Apache-2.0
// A plugin's part of a graph: the nodes that it claims and that the host leaves to it.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "partitioner_sdk/partition/answers.hpp"
#include "partitioner_sdk/partition/grouping.hpp"
#include "partitioner_sdk/partition/method_image.hpp"

namespace etb::partition {

// Reason why a plugin does not run a node.
struct Rejection {
  uint32_t compiler = 0;
  std::string reason;  // from the plugin, or "host.*"
  std::string text;
};

struct PluginPart {
  ClaimSet claims;
  std::vector<double> cost_ns;                             // by node
  std::vector<std::pair<uint32_t, Rejection>> rejections;  // node and reason
  Grouping grouping;                                       // grouping of the claims, set by the partitioner
};

// Returns why the host does not let the plugin run a claimed node, or no value.
using FindRejection = std::function<std::optional<Rejection>(NodeLocation location)>;

// Sorts the answers of plugin `compiler` about a method into one part per graph of `module`. A group that the
// plugin requires whole and that the host cannot keep whole is rejected. `answers` are verified; `nodes` is the
// answer per node of the image.
std::vector<PluginPart> make_plugin_parts(uint32_t compiler, const ir::Module& module,
                                          const MethodImage& image, const Answers& answers,
                                          const std::vector<NodeAnswer>& nodes,
                                          const FindRejection& find_rejection);

}  // namespace etb::partition
