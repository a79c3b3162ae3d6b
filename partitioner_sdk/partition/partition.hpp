// SPDX-License-Identifier: Apache-2.0
// Assigns nodes of a program's methods to plugins, and has the plugins compile them.
//
//   ConstantKeys keys;
//   ETB_ASSIGN(Partition done, partition(modules, compilers, PartitionOptions{}, keys));
//   ETB_TRY(lower(modules, done));  // regions become calls of delegates; region i is delegate i
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "partitioner_sdk/partition/compiler.hpp"
#include "partitioner_sdk/partition/filters.hpp"
#include "partitioner_sdk/partition/grouping.hpp"
#include "partitioner_sdk/partition/method_image.hpp"
#include "partitioner_sdk/partition/plugin_part.hpp"

namespace etb::partition {

struct PartitionOptions {
  Filters filters;
  uint32_t min_region_nodes = 1;  // smaller regions stay with the host
};

// Nodes of one graph that form one call of a plugin.
struct Region {
  uint32_t method = 0;  // index among the modules
  uint32_t graph = 0;   // index into Module::graphs
  uint32_t compiler = 0;
  std::vector<uint32_t> nodes;  // ascending
  double cost_ns = 0;           // the plugin's estimate, 0 without one
  RegionImage image;
  Artifact artifact;
};

struct NodeAssignment {
  uint32_t region = kNoRegion;        // index into Partition::regions
  std::vector<uint32_t> copies;       // other regions that compute the node for themselves
  bool is_replaced = false;           // only copies are read; nothing computes the node itself
  std::vector<Rejection> rejections;  // in the order in which plugins were asked
};

using GraphAssignments = std::vector<NodeAssignment>;     // by node
using MethodAssignments = std::vector<GraphAssignments>;  // by graph

// An error of a plugin, which is then skipped.
struct PluginError {
  std::string plugin;
  std::string text;
};

// Nodes that a plugin claimed and could not compile. The host runs them.
struct FailedClaim {
  std::string plugin;
  std::string nodes;  // "aten.linear.default (node 3)"
  std::string text;
};

struct Partition {
  std::vector<Region> regions;  // the delegate with index i runs region i
  std::vector<NamedBlob> blobs;
  std::vector<MethodAssignments> assignments;  // by method
  std::vector<std::string> compilers;          // names, in the order in which they were asked
  std::vector<std::string> backend_ids;
  std::vector<PluginError> plugin_errors;
  std::vector<FailedClaim> failed_claims;
};

// Asks the compilers in order. Each may claim nodes that earlier ones left. A compiler that answers wrongly or
// compiles no region is named in `plugin_errors`, and the result is as if it had not been asked. Where it compiles
// only some regions, the nodes that prevent the others are in `failed_claims`. Errors: a defect of this code, or a
// graph without an image.
[[nodiscard]] Result<Partition> partition(std::span<ir::Module> methods,
                                          std::span<const std::unique_ptr<Compiler>> compilers,
                                          const PartitionOptions& options, ConstantKeys& keys);

// The op of a call: the index of its region, and the operands.
inline constexpr const char* kCallDelegate = "higher_order.executorch_call_delegate.default";

// Replaces each region by a call. Node indices in `partition` are invalid afterwards.
[[nodiscard]] Status lower(std::span<ir::Module> methods, const Partition& partition);

}  // namespace etb::partition
