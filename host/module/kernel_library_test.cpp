// SPDX-License-Identifier: Apache-2.0
#include "host/module/kernel_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/format/digest.hpp"
#include "api/format/hex.hpp"
#include "api/testing/program_builder.hpp"
#include "host/module/module.hpp"
#include "host/testing/scratch_dir.hpp"

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

// Reason id of a rejected library, "" for a library that loads.
std::string reason_of(const std::string& text, bool secure = false) {
  const auto opened = KernelLibrary::open(text, secure);
  return opened ? "" : opened.error().reason;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string copy_library(const ScratchDir& dir, const std::string& name) {
  return dir.write(name, read_file(ETB_TEST_KERNEL_LIBRARY));
}

std::string digest_of(const std::string& path) {
  const std::string content = read_file(path);
  return format::to_hex(format::sha256({reinterpret_cast<const uint8_t*>(content.data()), content.size()}));
}

TEST(KernelLibrary, RefusesOtherFiles) {
  EXPECT_THAT(KernelLibrary::open("libm.so.6").error().message,
              HasSubstr("a path with a folder is expected"));
  EXPECT_EQ(reason_of("/nonexistent/kernels.so"), "library.missing");
  EXPECT_EQ(reason_of(std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/add.pte"), "library.format");
  EXPECT_THAT(KernelLibrary::open("/lib/kernels.so@sha256:12").error().message,
              HasSubstr("sha256 '12', expected 64 lower-case hexadecimal digits"));
}

// The rules for plugins also apply to kernel libraries.
TEST(KernelLibrary, LoadsTrustedFilesOnly) {
  const ScratchDir dir;
  const std::string path = copy_library(dir, "lib/kernels.so");
  EXPECT_EQ(reason_of(path), "");
  ::chmod(path.c_str(), 0666);
  EXPECT_EQ(reason_of(path), "library.untrusted");
  ::chmod(path.c_str(), 0644);
  ::chmod(dir.path("lib").c_str(), 0777);
  EXPECT_EQ(reason_of(path), "library.untrusted");
  ::chmod(dir.path("lib").c_str(), 0755);
  ASSERT_EQ(::symlink(path.c_str(), dir.path("lib/link.so").c_str()), 0);
  EXPECT_EQ(reason_of(dir.path("lib/link.so")), "library.untrusted");
  if (::geteuid() != 0) return;  // only root may change the owner of a file
  ASSERT_EQ(::chown(path.c_str(), 4711, 0), 0);
  EXPECT_EQ(reason_of(path), "library.untrusted");
}

TEST(KernelLibrary, ComparesTheDigest) {
  const ScratchDir dir;
  const std::string path = copy_library(dir, "kernels.so");
  EXPECT_EQ(reason_of(path + "@sha256:" + digest_of(path)), "");
  EXPECT_EQ(reason_of(path + "@sha256:" + std::string(64, '0')), "library.digest");
}

TEST(KernelLibrary, SecureModeWantsADigestAndFilesOfRoot) {
  const ScratchDir dir;
  const std::string path = copy_library(dir, "kernels.so");
  EXPECT_EQ(reason_of(path, true), "policy.no-digest");
  EXPECT_EQ(reason_of(path + "@sha256:" + digest_of(path), true), "library.untrusted")
      << "beneath a sticky folder";
  if (::geteuid() != 0) return;  // the rest needs a file of root
  const std::string folder = "/run/etb-kernel-library-test";
  std::filesystem::create_directory(folder);
  std::filesystem::copy_file(path, folder + "/kernels.so", std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(reason_of(folder + "/kernels.so@sha256:" + digest_of(path), true), "");
  std::filesystem::remove_all(folder);
}

TEST(KernelLibrary, ReplacesABuiltInKernel) {
  const auto file = format::build_program(format::add_program(2));
  OwnedTensor x = OwnedTensor::make<float>({2}, {1, 2});
  for (const bool replaces : {false, true}) {
    ModuleOptions options;
    options.kernel_libraries = {ETB_TEST_KERNEL_LIBRARY};
    if (replaces) options.kernel_libraries.emplace_back(ETB_TEST_REPLACING_LIBRARY);
    auto module = Module::from_bytes(file, options);
    ASSERT_TRUE(module) << module.error().message;
    const auto outputs = module->forward({x.value(), x.value()});
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_EQ((*outputs)[0].tensor().data_as<float>()[1], replaces ? 42 : 4);
  }
}

TEST(KernelLibrary, OfEqualKernelsTheLastLibrarysIsUsed) {
  KernelRegistry registry;
  const auto first = [](KernelContext&, EValue**) -> etb_status { return ETB_OK; };
  const auto last = [](KernelContext&, EValue**) -> etb_status { return ETB_CANCELLED; };
  const Kernel one[] = {Kernel("my::op.out", "T!", first)};
  const Kernel other[] = {Kernel("my::op.out", "T!", last)};
  const Kernel twice[] = {one[0], one[0]};
  ASSERT_EQ(registry.add(one), ETB_OK);
  EXPECT_EQ(registry.add(other), ETB_ALREADY_EXISTS);
  ASSERT_EQ(registry.add_over(other), ETB_OK);
  EXPECT_EQ(registry.find("my::op", "out")->function, KernelFunction(last));
  const Kernel* duplicate = nullptr;
  EXPECT_EQ(registry.add_over(twice, &duplicate), ETB_ALREADY_EXISTS);
  EXPECT_EQ(duplicate, &twice[0]);
  EXPECT_EQ(registry.find("my::op", "out")->function, KernelFunction(last));
}

}  // namespace
}  // namespace etb::host
