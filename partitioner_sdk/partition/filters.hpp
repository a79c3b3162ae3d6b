// SPDX-License-Identifier: Apache-2.0
// Filters for the nodes that plugins may claim.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::partition {

// Patterns: `*` matches any text. A node must match a pattern of each non-empty `only` list, and none of the
// `skip` lists.
struct Filters {
  std::vector<std::string> only_ops, skip_ops;  // "aten.add.Tensor", "aten.add*"
  // Path of the node's module, or of one around it: "layer1" includes "layer1.0.conv".
  std::vector<std::string> only_modules, skip_modules;
  std::vector<std::string> only_nodes, skip_nodes;  // name of a result, as --dump-after prints it (without %)

  bool is_empty() const;
};

// The properties of a node that filters match. Reports name the option that decided.
struct FilteredNode {
  std::string_view op;
  std::string_view module_path;
  std::vector<std::string_view> names;
};

// Returns why the node may not be claimed, or nullopt.
std::optional<std::string> find_objection(const Filters& filters, const FilteredNode& node);

// True if all of `text` matches. Linear in practice and never exponential.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace etb::partition
