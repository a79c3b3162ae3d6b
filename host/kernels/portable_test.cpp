// Every operator of the official registries is here: tests/golden/official_ops.txt.
#include "host/kernels/portable.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

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

TEST(PortableKernels, AnUnknownOperatorIsNotThere) {
  KernelRegistry registry;
  ASSERT_EQ(add_portable_kernels(registry), ETB_OK);
  EXPECT_FALSE(registry.has_op("aten::relu", "never"));
  EXPECT_EQ(find_prim_op("aten::relu", "out"), nullptr);
}

}  // namespace
}  // namespace etb::host
