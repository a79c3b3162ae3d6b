// SPDX-License-Identifier: Apache-2.0
// Tests `etbackend compile --memory`: its text, JSON, reports and errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/testing/scratch_dir.hpp"
#include "tools/compile/memory_option.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using testing::HasSubstr;

constexpr const char* kLenet = ETB_SOURCE_DIR "/tests/fixtures/archives/lenet.pt2";

TEST(CompileMemory, EachMemoryIsReportedAndTheReportListsTensorsOutsideOfTheCheapest) {
  const host::ScratchDir dir;
  std::vector<std::string> args = {"compile", kLenet, "-o", dir.path("m.pte"), "--memory", "sram=8K,dram"};
  CliRun run = cli(args);
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\n  memory 1, sram: 5.4 KiB of 8 KiB, 64 % of the accessed bytes\n"
                                 "  memory 2, dram: 4.6 KiB, 36 % of the accessed bytes\n"
                                 "  1 tensor outside of the cheapest memory (--report lists them)\n"));
  args.emplace_back("--report");
  run = cli(args);
  EXPECT_THAT(run.out, HasSubstr("  1 tensor outside of the cheapest memory:\n"
                                 "    'relu' [1, 6, 14, 14] of 4704 bytes in dram, 2 accesses\n"));
  run = cli({"info", dir.path("m.pte")});
  EXPECT_EQ(run.exit, 0) << run.err;
  args.back() = "--json";
  run = cli(args);
  const auto json = nlohmann::json::parse(run.out)["methods"][0]["memory"];
  EXPECT_EQ(json["memories"][0]["nbytes"], 8192);
  EXPECT_TRUE(json["memories"][1]["nbytes"].is_null());
  EXPECT_EQ(json["memories"][1]["cost"], 2);
  EXPECT_EQ(json["spills"][0]["memory"], "dram");
  EXPECT_EQ(json["spills"][0]["nbytes"], 4704);
}

TEST(CompileMemory, APlanThatDoesNotFitWritesNoFile) {
  const host::ScratchDir dir;
  const CliRun run = cli({"compile", kLenet, "-o", dir.path("m.pte"), "--memory", "sram=4K,dram=5000"});
  EXPECT_NE(run.exit, 0);
  EXPECT_THAT(run.err, HasSubstr("the peak is 9408 bytes at instruction 1 (aten.relu.default"));
  EXPECT_FALSE(std::filesystem::exists(dir.path("m.pte")));
}

TEST(CompileMemory, AReportWithoutPluginNeedsMemories) {
  const host::ScratchDir dir;
  const CliRun run = cli({"compile", kLenet, "-o", dir.path("m.pte"), "--report"});
  EXPECT_EQ(run.exit, 2);
  EXPECT_THAT(run.err, HasSubstr("--report requires --backend or --memory"));
}

TEST(CompileMemory, ReadsSizesAlignmentsAndCosts) {
  const auto memories = parse_memories({"tcm=100", "sram=256K:64", "psram=8MiB:32:20", "nor=:128", "dram"});
  ASSERT_TRUE(memories) << memories.error().message;
  const auto expect = [&](size_t i, uint64_t nbytes, uint64_t alignment, uint64_t cost) {
    SCOPED_TRACE(i);
    EXPECT_EQ((*memories)[i].nbytes, nbytes);
    EXPECT_EQ((*memories)[i].alignment, alignment);
    EXPECT_EQ((*memories)[i].cost, cost);
  };
  expect(0, 100, 16, 1);
  expect(1, 256 << 10, 64, 2);
  expect(2, 8 << 20, 32, 20);
  expect(3, plan::kUnlimited, 128, 21);
  expect(4, plan::kUnlimited, 16, 22);
}

TEST(CompileMemory, RefusesWhatItCannotRead) {
  const std::pair<std::string, const char*> cases[] = {
      {"=4K", "a memory without a name"},
      {"a:16", "a colon in the name"},
      {"a=", "the size ''"},
      {"a=0", "the size '0'"},
      {"a=4X", "the size '4X'"},
      {"a=4Kib", "the size '4Kib'"},
      {"a=-4", "the size '-4'"},
      {"a=99999999999G", "the size '99999999999G'"},
      {"a=4K:8", "the alignment '8' is no power of two from 16 to 4096"},
      {"a=4K:48", "the alignment '48'"},
      {"a=4K:16:0", "the cost '0' is no number from 1 to 1000000"},
      {"a=4K:16:x", "the cost 'x'"},
      {"a=4K:16:1:1", "a fourth field"}};
  for (const auto& [text, why] : cases) {
    const auto memories = parse_memories({text});
    ASSERT_FALSE(memories) << text;
    EXPECT_THAT(memories.error().message, HasSubstr("--memory '" + text + "': " + why));
  }
  EXPECT_THAT(parse_memories({"a=4K", "a"}).error().message,
              HasSubstr("a memory of this name is there already"));
}

}  // namespace
}  // namespace etb::tools
