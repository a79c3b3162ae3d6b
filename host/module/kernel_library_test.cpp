#include "host/module/kernel_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/format/program_builder.hpp"
#include "host/module/module.hpp"

namespace etb::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// out = scale(x, 3) through the operator my::scale.out.
std::vector<std::byte> scale_program() {
  format::ProgramSpec program = format::add_program(2);
  auto& method = program.methods[0];
  method.values[3] = 3.0;
  method.inputs = {0};
  method.operators = {{"my::scale", "out"}};
  method.instructions = {{1, 0, 0, {0, 3, 2, 2}}};
  return format::build_program(program);
}

TEST(KernelLibrary, ServesAnApplicationsOwnOperator) {
  const auto file = scale_program();
  auto without = Module::from_bytes(file);
  ASSERT_TRUE(without);
  EXPECT_EQ(without->load_method("forward").error().code, Code::OPERATOR_MISSING);
  ModuleOptions options;
  options.kernel_libraries = {ETB_TEST_KERNEL_LIBRARY};
  auto module = Module::from_bytes(file, options);
  ASSERT_TRUE(module) << module.error().message;
  OwnedTensor x = OwnedTensor::make<float>({2}, {1, 2});
  const auto outputs = module->forward({x.value()});
  ASSERT_TRUE(outputs) << outputs.error().message;
  const auto* values = (*outputs)[0].tensor().data_as<float>();
  EXPECT_THAT((std::vector<float>{values[0], values[1]}), ElementsAre(3, 6));
}

TEST(KernelLibrary, RefusesOtherFiles) {
  EXPECT_THAT(KernelLibrary::open("libm.so.6").error().message,
              HasSubstr("a path with a folder is expected"));
  EXPECT_EQ(KernelLibrary::open("/nonexistent/kernels.so").error().code, Code::ACCESS_FAILED);
  EXPECT_EQ(
      KernelLibrary::open(std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/add.pte").error().code,
      Code::ACCESS_FAILED);
}

TEST(KernelLibrary, NamesAnOperatorThatIsThereAlready) {
  ModuleOptions options;
  options.kernel_libraries = {ETB_TEST_KERNEL_LIBRARY, ETB_TEST_KERNEL_LIBRARY};
  const auto module = Module::from_bytes(scale_program(), options);
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, Code::ALREADY_EXISTS);
  EXPECT_THAT(module.error().message, HasSubstr("my::scale.out"));
}

}  // namespace
}  // namespace etb::host
