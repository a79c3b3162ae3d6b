// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/filters.hpp"

#include <algorithm>

namespace etb::partition {

namespace {

using Patterns = std::vector<std::string>;

template <class Matches>
std::optional<std::string> find_objection(const Patterns& only, const Patterns& skip, const char* what,
                                          std::string_view found, Matches is_match) {
  for (const std::string& pattern : skip)
    if (is_match(pattern)) return "--skip-" + std::string(what) + " '" + pattern + "'";
  if (only.empty() || std::any_of(only.begin(), only.end(), is_match)) return std::nullopt;
  return std::string(what) + " '" + std::string(found) + "' is not among --only-" + what;
}

// Matches the module itself, or one around it.
bool matches_module(std::string_view pattern, std::string_view path) {
  for (size_t end = path.size();; end = path.rfind('.', end - 1)) {
    if (end == std::string_view::npos) return false;
    if (matches(pattern, path.substr(0, end))) return true;
    if (end == 0) return false;
  }
}

}  // namespace

bool Filters::is_empty() const {
  return only_ops.empty() && skip_ops.empty() && only_modules.empty() && skip_modules.empty() &&
         only_nodes.empty() && skip_nodes.empty();
}

bool matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::optional<std::string> find_objection(const Filters& filters, const FilteredNode& node) {
  const auto by_op = [&](const std::string& pattern) { return matches(pattern, node.op); };
  const auto by_module = [&](const std::string& pattern) {
    return matches_module(pattern, node.module_path);
  };
  const auto by_name = [&](const std::string& pattern) {
    return std::any_of(node.names.begin(), node.names.end(),
                       [&](std::string_view name) { return matches(pattern, name); });
  };
  if (auto why = find_objection(filters.only_ops, filters.skip_ops, "op", node.op, by_op)) return why;
  if (auto why =
          find_objection(filters.only_modules, filters.skip_modules, "module", node.module_path, by_module))
    return why;
  return find_objection(filters.only_nodes, filters.skip_nodes, "node",
                        node.names.empty() ? "" : node.names.front(), by_name);
}

}  // namespace etb::partition
