// SPDX-License-Identifier: Apache-2.0
// The oracle: each row of decompositions.txt is a small module, its torch.export graph and its official
// lowering. Our result must have the same ops in the same order.
#include <gtest/gtest.h>

#include <iostream>
#include <set>
#include <sstream>

#include "partitioner_sdk/import/import.hpp"
#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/passes/pipeline.hpp"
#include "partitioner_sdk/testing/golden.hpp"

namespace etb::passes {
namespace {

// Rows that are not supported yet. A row that passes must leave the list.
const std::set<std::string> kNotYet = {};

struct Row {
  std::string name, edge_ops;
};

std::vector<Row> read_rows() {
  std::istringstream in(
      testing::read_text_file(std::string(ETB_SOURCE_DIR) + "/tests/fixtures/archives/decompositions.txt"));
  std::vector<Row> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t bar = line.find(" | "), arrow = line.find(" => ");
    rows.push_back({line.substr(0, bar), line.substr(arrow + 4)});
  }
  return rows;
}

// The official list's spelling of "aten.add.Tensor": "add.Tensor", "relu", "dim_order_ops::_clone_dim_order".
std::string official_name(std::string name) {
  if (name.rfind("aten.", 0) == 0) name.erase(0, 5);
  if (name.rfind("dim_order_ops.", 0) == 0) name.replace(13, 1, "::");
  constexpr std::string_view kDefault = ".default";
  if (name.size() > kDefault.size() &&
      name.compare(name.size() - kDefault.size(), kDefault.size(), kDefault) == 0) {
    name.resize(name.size() - kDefault.size());
  }
  return name;
}

std::string edge_ops_of(const std::shared_ptr<const pt2::MappedFile>& file, const std::string& name) {
  auto module = pt2::import_archive(file, {name});
  if (!module) return "import: " + module.error().message;
  if (const Status status = to_edge(*module); !status) return "error: " + status.error().message;
  std::string ops;
  for (const ir::Node& node : module->main().nodes) {
    ops += (ops.empty() ? "" : " ") + official_name(module->op(node).name);
  }
  return ops;
}

TEST(Decompositions, EachRowIsTheOfficialOne) {
  const auto file = pt2::MappedFile::open(testing::archive_path("decompositions"));
  ASSERT_TRUE(file) << file.error().message;
  const std::vector<Row> rows = read_rows();
  ASSERT_EQ(rows.size(), 64u);
  size_t supported = 0;
  for (const Row& row : rows) {
    const std::string ours = edge_ops_of(*file, row.name);
    supported += ours == row.edge_ops;
    if (kNotYet.count(row.name) != 0) {
      EXPECT_NE(ours, row.edge_ops) << row.name << " is supported now; take it off the list";
    } else {
      EXPECT_EQ(ours, row.edge_ops) << row.name;
    }
  }
  std::cout << "decompositions with the official result: " << supported << "/" << rows.size() << "\n";
}

}  // namespace
}  // namespace etb::passes
