// Every operator of the official registries is here: tests/golden/official_ops.txt.
#include "host/kernels/portable.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "api/ops/schema.hpp"
#include "host/runtime/method_state.hpp"

namespace etb::host {
namespace {

TEST(PortableKernels, HoldEveryOfficialOperator) {
  KernelRegistry registry;
  ASSERT_EQ(add_portable_kernels(registry), ETB_OK);
  std::ifstream list(std::string(ETB_SOURCE_DIR) + "/tests/golden/official_ops.txt");
  int count = 0;
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line.front() == '#') continue;
    const size_t dot = line.find('.');
    const std::string name = line.substr(0, dot),
                      overload = dot == std::string::npos ? "" : line.substr(dot + 1);
    EXPECT_TRUE(registry.has_op(name, overload) || find_prim_op(name, overload) != nullptr) << line;
    ++count;
  }
  EXPECT_GE(count, 209 + 28 + 19 + 12);
}

// The marks of a row are what keeps programs from letting a kernel's output lie over its input. A row made from a view has them
// from the schema; this is for rows written by hand.
TEST(PortableKernels, MarkWhatTheirSchemasWrite) {
  KernelRegistry registry;
  ASSERT_EQ(add_portable_kernels(registry), ETB_OK);
  std::vector<std::string> without_schema;
  registry.for_each([&](const Kernel& kernel) {
    std::string name = kernel.name;
    name.replace(name.find("::"), 2, ".");
    if (name.find('.', name.find('.') + 1) == std::string::npos) name += ".default";
    const ops::Schema* schema = ops::find_schema(name);
    if (schema == nullptr) {
      without_schema.push_back(kernel.name);
      EXPECT_EQ(kernel.operands.written, 1u << (kernel.argument_count - 1U)) << kernel.name;
      return;
    }
    uint32_t written = 0;
    for (uint32_t i = 0; i < schema->argument_count(); ++i) {
      if (schema->argument(i).is_write) written |= 1u << i;
    }
    EXPECT_EQ(unsigned{kernel.argument_count}, schema->argument_count()) << kernel.name;
    EXPECT_EQ(kernel.operands.written, written) << kernel.name;
  });
  EXPECT_THAT(without_schema,
              testing::UnorderedElementsAre("et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out"));
}

TEST(PortableKernels, AnUnknownOperatorIsNotThere) {
  KernelRegistry registry;
  ASSERT_EQ(add_portable_kernels(registry), ETB_OK);
  EXPECT_FALSE(registry.has_op("aten::relu", "never"));
  EXPECT_EQ(find_prim_op("aten::relu", "out"), nullptr);
}

}  // namespace
}  // namespace etb::host
