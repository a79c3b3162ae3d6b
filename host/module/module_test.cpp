// SPDX-License-Identifier: Apache-2.0
// The application's API in C++ and C, on programs of the official exporter and on built programs.
#include "host/module/module.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "api/testing/program_builder.hpp"

namespace etb::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string fixture(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/" + name;
}

std::vector<float> floats(const EValue& value) {
  const auto* first = value.tensor().data_as<float>();
  return {first, first + value.tensor().numel()};
}

OwnedTensor matrix(float scale) {
  return OwnedTensor::make<float>({2, 3}, {scale, 2 * scale, 3 * scale, 4 * scale, 5 * scale, 6 * scale});
}

void expect_sum(Module& module) {
  OwnedTensor x = matrix(1);
  OwnedTensor y = matrix(10);
  const auto outputs = module.forward({x.value(), y.value()});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(floats((*outputs)[0]), ElementsAre(11, 22, 33, 44, 55, 66));
}

TEST(Module, LoadsInEveryMode) {
  for (const LoadMode mode : {LoadMode::kMmap, LoadMode::kFile, LoadMode::kMmapTryLock}) {
    ModuleOptions options;
    options.load_mode = mode;
    auto module = Module::open(fixture("add.pte"), options);
    ASSERT_TRUE(module) << module.error().message;
    expect_sum(*module);
  }
}

// masked_select whose only output element shares memory with the mask that the kernel has counted: each
// written element makes eight more elements of the mask true. With 256 of them it wrote 2 KB into 8 bytes.
format::ProgramSpec masked_select_over_its_mask() {
  const auto planned = [](int8_t dtype, int32_t count, uint64_t offset) {
    format::TensorSpec tensor;
    tensor.dtype = dtype;
    tensor.sizes = {count};
    tensor.memory_id = 1;
    tensor.memory_offset = offset;
    return tensor;
  };
  format::TensorSpec mask = planned(11, 256, 15);
  mask.data_index = 1;
  format::MethodSpec method;
  method.values = {planned(4, 1, 0), mask, planned(4, 1, 16)};
  method.inputs = {0};
  method.outputs = {2};
  method.operators = {{"aten::masked_select", "out"}};
  method.instructions = {{1, 0, 0, {0, 1, 2, 2}}};
  method.arena_sizes = {0, 272};
  format::ProgramSpec program;
  program.methods = {method};
  program.segments = {std::string("\1", 1) + std::string(255, '\0')};
  program.mutable_offsets = {0, 0};
  return program;
}

TEST(Module, RefusesAnOutputOverTheMaskThatPicksIt) {
  const auto file = format::build_program(masked_select_over_its_mask());
  auto module = Module::from_bytes(file);
  ASSERT_TRUE(module) << module.error().message;
  const Status loaded = module->load_method("forward");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::INVALID_PROGRAM);
  EXPECT_EQ(loaded.error().message,
            "method 'forward': chain 0, instruction 0: aten::masked_select.out writes argument 2 (value 2: 8 "
            "bytes at 16 "
            "in arena 1), which shares memory with argument 1 (value 1: 256 bytes at 15 in arena 1)");
  // The corpus of the module fuzzer contains the same file.
  std::ifstream in(std::string(ETB_SOURCE_DIR) + "/tests/fuzz/module/masked_select_over_its_mask.pte",
                   std::ios::binary);
  const std::string committed((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_EQ(committed, std::string(reinterpret_cast<const char*>(file.data()), file.size()));
}

TEST(Module, LoadsFromAPartOfAnOpenFile) {
  // A program inside a larger file, as in an archive.
  const std::string path = testing::TempDir() + "etb_module_part";
  const auto file = format::build_program(format::add_program(2));
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(::pwrite(descriptor, file.data(), file.size(), 4096), static_cast<ssize_t>(file.size()));
  auto module = Module::from_descriptor(descriptor, 4096, 0);
  ::close(descriptor);
  ::unlink(path.c_str());
  ASSERT_TRUE(module) << module.error().message;
  OwnedTensor x = OwnedTensor::make<float>({2}, {1, 2});
  const auto outputs = module->forward({x.value(), x.value()});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(floats((*outputs)[0]), ElementsAre(2, 4));
}

TEST(Module, NamesMethodsAndLoadsThemOnDemand) {
  auto module = Module::open(fixture("methods.pte"));
  ASSERT_TRUE(module);
  EXPECT_THAT(module->method_names(), testing::UnorderedElementsAre("encode", "decode", "forward",
                                                                    "get_vocab", "get_scale", "use_cache"));
  EXPECT_FALSE(module->is_method_loaded("get_vocab"));
  const auto vocab = module->execute("get_vocab");
  ASSERT_TRUE(vocab) << vocab.error().message;
  EXPECT_EQ((*vocab)[0].to_int(), 32000);
  EXPECT_EQ((*module->execute("get_scale"))[0].to_double(), 0.125);
  EXPECT_TRUE((*module->execute("use_cache"))[0].to_bool());
  EXPECT_TRUE(module->is_method_loaded("get_vocab"));
  module->unload_method("get_vocab");
  EXPECT_FALSE(module->is_method_loaded("get_vocab"));
}

TEST(Module, ShareAProgramButNotState) {
  auto first = Module::open(fixture("counter.pte"));
  ASSERT_TRUE(first);
  auto second = Module::from_program(first->program());
  ASSERT_TRUE(second);
  OwnedTensor one = OwnedTensor::make<float>({3}, {1, 1, 1});
  EXPECT_THAT(floats((*first->forward({one.value()}))[0]), ElementsAre(4, 6, 8));
  EXPECT_THAT(floats((*first->forward({one.value()}))[0]), ElementsAre(6, 8, 10));
  EXPECT_THAT(floats((*second->forward({one.value()}))[0]), ElementsAre(4, 6, 8));
  first->unload_method("forward");
  EXPECT_THAT(floats((*first->forward({one.value()}))[0]), ElementsAre(4, 6, 8));
}

TEST(Module, WritesWhereTheCallerWants) {
  auto module = Module::open(fixture("unplanned.pte"));
  ASSERT_TRUE(module);
  expect_sum(*module);  // with memory that the module allocates
  std::array<float, 6> out{};
  ASSERT_TRUE(module->set_output("forward", 0, std::as_writable_bytes(std::span(out))));
  expect_sum(*module);
  EXPECT_THAT(out, ElementsAre(11, 22, 33, 44, 55, 66));
}

TEST(Module, SaysWhatIsMissing) {
  auto module = Module::open(fixture("add.pte"));
  ASSERT_TRUE(module);
  OwnedTensor x = matrix(1);
  EXPECT_EQ(module->forward({x.value()}).error().message, "1 inputs given, method 'forward' expects 2");
  ASSERT_TRUE(module->set_input("forward", 0, x.value()));
  EXPECT_EQ(module->execute("forward").error().message, "input 1 was never set");
  EXPECT_EQ(module->execute("backward").error().message, "no method 'backward'; the program has 1: forward");
  EXPECT_EQ(module->get_output("backward", 0).error().code, Code::INVALID_STATE);
  EXPECT_EQ(Module::open("/nonexistent.pte").error().code, Code::NOT_FOUND);
  EXPECT_THAT(Module::open(fixture("make_nothing.pte")).error().message, HasSubstr("make_nothing.pte: "));
  EXPECT_THAT(Module::open(fixture("external.ptd")).error().message, HasSubstr("identifier 'FT01'"));
}

TEST(Module, RefusesAPlanBeyondItsLimit) {
  format::ProgramSpec spec = format::add_program(4);
  spec.methods[0].arena_sizes[1] = int64_t{1} << 50;
  const auto file = format::build_program(spec);
  auto module = Module::from_bytes(file);
  ASSERT_TRUE(module);
  EXPECT_THAT(
      module->load_method("forward").error().message,
      testing::AllOf(HasSubstr("method 'forward': a memory plan of 1125899906842688 bytes"),
                     HasSubstr("more than the limit max_memory_bytes of "), HasSubstr("\nhint: raise it")));
  ModuleOptions options;
  options.limits.max_memory_bytes = uint64_t{1} << 51;
  // The system may reject this allocation, or provide pages that are never touched.
  auto raised = Module::from_bytes(file, options);
  ASSERT_TRUE(raised);
  const Status loaded = raised->load_method("forward");
  EXPECT_TRUE(loaded || loaded.error().message.find("the system has no memory left") != std::string::npos);
}

TEST(Module, CountsTheMemoryOfAllItsMethods) {
  format::ProgramSpec spec = format::add_program(4);
  spec.methods[0].arena_sizes[1] = 1 << 20;
  spec.methods.push_back(spec.methods[0]);
  spec.methods[1].name = "backward";
  const auto file = format::build_program(spec);
  ModuleOptions options;
  options.limits.max_memory_bytes = 3 << 19;  // one and a half plans
  auto module = Module::from_bytes(file, options);
  ASSERT_TRUE(module);
  ASSERT_TRUE(module->load_method("forward"));
  EXPECT_THAT(module->load_method("backward").error().message,
              HasSubstr("method 'backward': a memory plan of 1048"));
  module->unload_method("forward");
  EXPECT_TRUE(module->load_method("backward"));
}

// Tables of a file may overlap, so a few bytes can describe many values. Their state counts as memory.
TEST(Module, CountsTheStateOfMethods) {
  const auto file = format::build_program(format::add_program(4));
  ModuleOptions options;
  options.limits.max_memory_bytes = 500;
  auto module = Module::from_bytes(file, options);
  ASSERT_TRUE(module);
  EXPECT_THAT(module->load_method("forward").error().message, HasSubstr("method 'forward': state of "));
}

TEST(Module, KeepsTheCountOfArenasBeforeItMakesThem) {
  format::ProgramSpec spec = format::add_program(4);
  spec.methods[0].arena_sizes.resize(2000, 16);
  const auto file = format::build_program(spec);
  auto module = Module::from_bytes(file);
  ASSERT_TRUE(module);
  EXPECT_THAT(module->load_method("forward").error().message,
              HasSubstr("method 'forward': 1999 arenas, more than the limit max_arenas of 1024"));
}

// A kernel that asks for more scratch than a module starts with.
etb_status hungry(KernelContext& context, EValue** args) {
  constexpr uint64_t kNbytes = 1 << 20;
  auto* scratch = static_cast<float*>(context.allocate(kNbytes));
  if (scratch == nullptr) return context.fail_scratch(kNbytes);
  scratch[0] = 7;
  args[3]->tensor().data_as<float>()[0] = scratch[0];
  return ETB_OK;
}

TEST(Module, GivesAKernelTheScratchItAsksFor) {
  static constexpr Kernel kRows[] = {Kernel("aten::add.out", "T=T=ST!", &hungry)};
  static const KernelRows kTable(kRows);
  KernelRegistry kernels;
  ASSERT_EQ(kernels.add(kTable), ETB_OK);
  const auto file = format::build_program(format::add_program(2));
  ModuleOptions options;
  options.kernels = &kernels;
  auto module = Module::from_bytes(file, options);
  ASSERT_TRUE(module);
  OwnedTensor x = OwnedTensor::make<float>({2}, {1, 2});
  const auto outputs = module->forward({x.value(), x.value()});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ(floats((*outputs)[0])[0], 7);
}

TEST(Module, SharesArenasWhenAsked) {
  ModuleOptions options;
  options.shares_arenas = true;
  auto module = Module::open(fixture("methods.pte"), options);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->load_method("get_vocab"));
  EXPECT_TRUE(module->load_method("get_scale"));
}

}  // namespace
}  // namespace etb::host
