// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/fixed_sizes.hpp"

#include <gtest/gtest.h>

#include "partitioner_sdk/import/import.hpp"

namespace etb::pt2 {
namespace {

Result<ir::Module> import(const std::string& name) {
  return import_archive(std::string(ETB_SOURCE_DIR) + "/tests/fixtures/archives/" + name + ".pt2");
}

bool has_symbols(const ir::Module& module) {
  for (const ir::Graph& graph : module.graphs)
    for (const ir::Value& value : graph.values)
      for (const ir::Dim size : value.spec.sizes)
        if (!size.is_static()) return true;
  return false;
}

TEST(FixSizes, EverySizeBecomesANumber) {
  auto module = import("dynamic");
  ASSERT_TRUE(module) << module.error().message;
  ASSERT_TRUE(has_symbols(*module));
  const Status fixed = fix_sizes(*module, {{5, 4}});
  ASSERT_TRUE(fixed) << fixed.error().message;
  EXPECT_FALSE(has_symbols(*module));
  const auto& outputs = module->main().outputs;
  const auto sizes_of = [&](size_t i) {
    return module->main().values[std::get<ir::ValueRef>(outputs[i].value).id].spec.sizes;
  };
  EXPECT_EQ(sizes_of(0), (ir::Dims{15}));     // 3 * 5
  EXPECT_EQ(sizes_of(1), (ir::Dims{10, 4}));  // 2 * 5
  for (const ir::Node& node : module->main().nodes)
    EXPECT_NE(module->op(node).name.substr(0, 13), "aten.sym_size");
}

TEST(FixSizes, DerivedSizesAreSolved) {
  auto module = import("derived");
  ASSERT_TRUE(module) << module.error().message;
  const Status fixed = fix_sizes(*module, {{2, 3, 12}});  // 4 * 3
  ASSERT_TRUE(fixed) << fixed.error().message;
  EXPECT_FALSE(has_symbols(*module));
}

TEST(FixSizes, SizesThatContradictTheGraphAreRefused) {
  const auto refuse = [](const char* name, const std::vector<std::vector<int64_t>>& sizes) {
    auto module = import(name);
    const Status fixed = fix_sizes(*module, sizes);
    return fixed ? std::string("fixed") : fixed.error().message;
  };
  EXPECT_EQ(refuse("dynamic", {{5, 3}}), "size 3 of dimension 1 of input 'x', the graph expects 4");
  EXPECT_EQ(refuse("dynamic", {{5}}), "input 'x' of rank 1, the graph expects 2");
  EXPECT_EQ(refuse("dynamic", {}), "0 inputs, the graph has 1");
  EXPECT_EQ(refuse("derived", {{2, 3, 13}}), "size s39 does not follow from the sizes of inputs");
  EXPECT_EQ(refuse("items", {{2}}), "size u0 does not follow from the sizes of inputs");
}

}  // namespace
}  // namespace etb::pt2
