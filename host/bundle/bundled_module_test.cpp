// SPDX-License-Identifier: Apache-2.0
// Official bundles (tests/fixtures/make_bundles.py) run and verify here.
#include "host/bundle/bundled_module.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "api/format/bundled_program_writer.hpp"

namespace etb::host {
namespace {

std::string fixture(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/bundles/" + name + ".bpte";
}

// Runs every case on a fresh method. Returns the differences.
std::string run_all(const std::string& name, const Tolerances& tolerances = {}) {
  auto bundled = BundledModule::open(fixture(name));
  if (!bundled) return bundled.error().message;
  std::string differences;
  for (uint32_t i = 0; i < bundled->bundle().suite_count(); ++i) {
    const std::string method(bundled->bundle().suite(i).method());
    for (uint32_t k = 0; k < bundled->bundle().suite(i).case_count(); ++k) {
      bundled->module().unload_method(method);
      if (auto outputs = bundled->execute(method, k); !outputs) return outputs.error().message;
      const auto verified = bundled->verify_method_outputs(method, k, tolerances);
      if (!verified) return verified.error().message;
      if (!verified->is_close())
        differences += method + " " + std::to_string(k) + ": " + verified->difference() + '\n';
    }
  }
  return differences;
}

TEST(BundledModule, OfficialBundlesOfEachDtypeVerify) {
  for (const char* name : {"add", "bfloat16", "float16", "float64", "int32", "bool", "image", "empty",
                           "scalar", "methods", "numbers", "counter"})
    EXPECT_EQ(run_all(name), "") << name;
}

TEST(BundledModule, ADifferenceNamesOutputElementAndTolerance) {
  const std::string text = run_all("wrong", {.rtol = 0.001, .atol = 0.25});
  EXPECT_EQ(text.substr(0, 29), "forward 1: output 0: element ") << text;
  EXPECT_NE(text.find("element 1 is "), std::string::npos) << text;
  EXPECT_NE(text.find(", expected "), std::string::npos) << text;
  EXPECT_NE(text.find(", at most 0.25"), std::string::npos) << text;
  EXPECT_EQ(run_all("wrong", {.rtol = 0.001, .atol = 0.5}), "");
}

TEST(BundledModule, ErrorsAreMeasured) {
  auto bundled = BundledModule::open(fixture("wrong"));
  ASSERT_TRUE(bundled) << bundled.error().message;
  ASSERT_TRUE(bundled->execute("forward", 1));
  const auto stats = bundled->compute_error_stats("forward", 1);
  ASSERT_TRUE(stats) << stats.error().message;
  EXPECT_EQ(stats->count, 3u);
  EXPECT_NEAR(stats->max_abs, 0.5, 1e-6);
  EXPECT_NEAR(stats->mean_abs, 0.5 / 3, 1e-6);
  EXPECT_GT(stats->max_rel, 0);
  EXPECT_NEAR(stats->mean_rel, stats->max_rel / 3, 1e-6);
  // The same outputs are those of case 0.
  EXPECT_EQ(bundled->compute_error_stats("forward", 0)->max_abs, 0);
}

TEST(BundledModule, WhatCannotBeVerifiedIsAnError) {
  auto bundled = BundledModule::open(fixture("unexpected"));
  ASSERT_TRUE(bundled) << bundled.error().message;
  EXPECT_EQ(bundled->verify_method_outputs("forward", 0).error().code, Code::INVALID_STATE);
  ASSERT_TRUE(bundled->execute("forward", 0));
  EXPECT_EQ(bundled->verify_method_outputs("forward", 0).error().message,
            "test case 0 of method 'forward' expects no outputs, so there is nothing to compare with");
  EXPECT_EQ(bundled->verify_method_outputs("forward", 1).error().code, Code::NOT_FOUND);
  EXPECT_EQ(bundled->execute("backward", 0).error().code, Code::NOT_FOUND);

  auto add = BundledModule::open(fixture("add"));
  ASSERT_TRUE(add);
  EXPECT_EQ(add->verify_method_outputs("forward", 0).error().code, Code::INVALID_STATE);  // it has not run
}

TEST(BundledModule, ACounterKeepsItsStateUntilItsMethodIsUnloaded) {
  auto bundled = BundledModule::open(fixture("counter"));
  ASSERT_TRUE(bundled) << bundled.error().message;
  ASSERT_TRUE(bundled->execute("forward", 0));
  ASSERT_TRUE(bundled->execute("forward", 1));
  EXPECT_FALSE(bundled->verify_method_outputs("forward", 1)->is_close());  // 1 + 2
  bundled->module().unload_method("forward");
  ASSERT_TRUE(bundled->execute("forward", 1));
  EXPECT_TRUE(bundled->verify_method_outputs("forward", 1)->is_close());
}

TEST(BundledModule, FilesAreReadMappedOrFromMemory) {
  for (const LoadMode mode : {LoadMode::kMmap, LoadMode::kFile, LoadMode::kMmapTryLock}) {
    auto bundled = BundledModule::open(fixture("add"), {.load_mode = mode});
    ASSERT_TRUE(bundled) << bundled.error().message;
    BundledModule moved = std::move(*bundled);
    ASSERT_TRUE(moved.execute("forward", 1));
    EXPECT_TRUE(moved.verify_method_outputs("forward", 1)->is_close());
  }
  std::ifstream in(fixture("add"), std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  struct alignas(64) Block {
    std::byte bytes[64];
  };
  std::vector<Block> blocks(text.size() / sizeof(Block) + 1);
  std::memcpy(blocks.data(), text.data(), text.size());
  auto bundled = BundledModule::from_bytes(std::as_bytes(std::span(blocks)).first(text.size()));
  ASSERT_TRUE(bundled) << bundled.error().message;
  EXPECT_TRUE(bundled->execute("forward", 0));
}

TEST(BundledModule, FilesOfOtherKindsAreRefusedWithTheirPath) {
  const std::string program = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/add.pte";
  EXPECT_EQ(BundledModule::open(program).error().message,
            program + ": bundled program: identifier 'ET12' at byte 4, expected 'BP08'");
  EXPECT_FALSE(BundledModule::open(fixture("none")));
  // A bundle is no program, and the error of a module names it.
  const auto module = Module::open(fixture("add"));
  ASSERT_FALSE(module);
  EXPECT_NE(module.error().message.find("a bundled program (.bpte)"), std::string::npos)
      << module.error().message;
}

TEST(BundledModule, InputsOfAnotherMethodAreRefused) {
  std::vector<std::byte> bytes;
  std::ifstream in(std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/add.pte", std::ios::binary);
  const std::string program((std::istreambuf_iterator<char>(in)), {});
  const format::BundledCase one{{int64_t{3}}, {}};
  format::BundledTensorData tensor{6, {700}, {}, std::vector<std::byte>(2800)};
  const format::BundledCase large{{tensor, tensor}, {tensor}};
  ASSERT_TRUE(format::write_bundled_program(std::as_bytes(std::span(program)),
                                            std::vector<format::BundledSuite>{{"forward", {one, large}}},
                                            [&](std::span<const std::byte> part) {
                                              bytes.assign(part.begin(), part.end());
                                              return Status();
                                            }));
  struct alignas(64) Block {
    std::byte bytes[64];
  };
  std::vector<Block> blocks(bytes.size() / sizeof(Block) + 1);
  std::memcpy(blocks.data(), bytes.data(), bytes.size());
  auto bundled = BundledModule::from_bytes(std::as_bytes(std::span(blocks)).first(bytes.size()));
  ASSERT_TRUE(bundled) << bundled.error().message;
  EXPECT_EQ(bundled->execute("forward", 0).error().message.substr(0, 12), "test case 0:");
  EXPECT_EQ(bundled->execute("forward", 1).error().message.substr(0, 12), "test case 1:");
}

}  // namespace
}  // namespace etb::host
