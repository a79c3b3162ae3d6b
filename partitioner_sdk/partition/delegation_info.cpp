// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/delegation_info.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace etb::partition {
namespace {

// "aten.linear.default" is "aten_linear_default"; a number at the end is not part of a type.
std::string op_type(std::string op) {
  std::replace(op.begin(), op.end(), '.', '_');
  const size_t last = op.find_last_not_of("0123456789");
  if (last != std::string::npos && last + 1 < op.size() && op[last] == '_') op.erase(last);
  return op;
}

void add(DelegationInfo& info, const std::string& type, bool is_delegated, uint64_t count) {
  if (count == 0) return;
  auto& row = info.delegation_by_operator[type];
  (is_delegated ? row.delegated : row.non_delegated) += count;
  (is_delegated ? info.num_delegated_nodes : info.num_non_delegated_nodes) += count;
}

// A table in the form "fancy_grid" of Python's tabulate: a text column to the left, numbers to the right.
class Grid {
 public:
  using Row = std::array<std::string, 4>;

  explicit Grid(const Row& titles) : titles_(titles) {
    for (size_t i = 0; i < titles.size(); ++i) widths_[i] = titles[i].size() + 2;
  }

  void add(Row row) {
    for (size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], row[i].size());
    rows_.push_back(std::move(row));
  }

  std::string text() const {
    std::string out = rule("╒", "═", "╤", "╕") + line(titles_) + rule("╞", "═", "╪", "╡");
    for (size_t i = 0; i < rows_.size(); ++i)
      out += (i == 0 ? "" : rule("├", "─", "┼", "┤")) + line(rows_[i]);
    return out + rule("╘", "═", "╧", "╛");
  }

 private:
  std::string rule(const char* left, const char* dash, const char* middle, const char* right) const {
    std::string out = left;
    for (size_t i = 0; i < widths_.size(); ++i) {
      for (size_t n = 0; n < widths_[i] + 2; ++n) out += dash;
      out += i + 1 < widths_.size() ? middle : right;
    }
    return out + "\n";
  }

  std::string line(const Row& row) const {
    std::string out;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths_[i] - row[i].size(), ' ');
      out += "│ " + (i == 1 ? row[i] + space : space + row[i]) + " ";
    }
    return out + "│\n";
  }

  Row titles_;
  std::array<size_t, 4> widths_{};
  std::vector<Row> rows_;
};

}  // namespace

DelegationInfo get_delegation_info(const Report& report, uint32_t graph) {
  DelegationInfo info;
  for (const ReportNode& node : report.graphs[graph].nodes) {
    const bool is_delegated = node.region != kNoRegion;
    add(info, op_type(node.op), is_delegated, 1);
    add(info, "getitem", is_delegated, node.getitem_count);
  }
  for (const ReportRegion& region : report.regions) {
    if (region.graph != graph) continue;
    ++info.num_delegated_subgraphs;
    add(info, "getitem", false, region.result_count);
  }
  return info;
}

std::string format_delegation_info(const DelegationInfo& info) {
  Grid grid({"", "op_type", "occurrences_in_delegated_graphs", "occurrences_in_non_delegated_graphs"});
  size_t index = 0;
  const auto row = [&](const std::string& type, uint64_t delegated, uint64_t other) {
    grid.add({std::to_string(index++), type, std::to_string(delegated), std::to_string(other)});
  };
  for (const auto& [type, counts] : info.delegation_by_operator)
    row(type, counts.delegated, counts.non_delegated);
  row("Total", info.num_delegated_nodes, info.num_non_delegated_nodes);
  return "Total delegated subgraphs: " + std::to_string(info.num_delegated_subgraphs) +
         "\nNumber of delegated nodes: " + std::to_string(info.num_delegated_nodes) +
         "\nNumber of non-delegated nodes: " + std::to_string(info.num_non_delegated_nodes) + "\n\n" +
         grid.text();
}

}  // namespace etb::partition
