// Which nodes a user allows plugins to take.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::partition {

// Patterns: `*` stands for any text. A node must match one of each `only` list that is not empty, and none of the `skip` lists.
struct Filters {
  std::vector<std::string> only_ops, skip_ops;  // "aten.add.Tensor", "aten.add*"
  // Path of the module that the node comes from, or of one around it: "layer1" has "layer1.0.conv" inside.
  std::vector<std::string> only_modules, skip_modules;
  std::vector<std::string> only_nodes, skip_nodes;  // name of a result, as --dump-after prints it (without %)

  bool is_empty() const;
};

// What matches is reported with the option that decided.
struct FilteredNode {
  std::string_view op;
  std::string_view module_path;
  std::vector<std::string_view> names;
};

// Why the node may not be taken, or nullopt.
std::optional<std::string> find_objection(const Filters& filters, const FilteredNode& node);

// Whether all of `text` fits; linear in practice and never exponential.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace etb::partition
