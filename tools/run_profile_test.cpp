// SPDX-License-Identifier: Apache-2.0
// Tests the options of `run` that choose what is recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "api/format/etdump.hpp"
#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using host::ScratchDir;
using testing::HasSubstr;

const std::string kProgram = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/conv.pte";

std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

struct Recorded {
  CliRun run;
  std::vector<format::EtdumpBlock> blocks;
  uint64_t debug_nbytes = 0;
};

// Runs with `options`; the debug buffer is recorded if `has_values`.
Recorded record(std::vector<std::string> options, bool has_values) {
  const ScratchDir dir;
  std::vector<std::string> words = {"run", kProgram, "--profile", dir.path("run.etdp")};
  if (has_values) words.insert(words.end(), {"--debug-buffer", dir.path("run.bin")});
  words.insert(words.end(), options.begin(), options.end());
  Recorded recorded{cli(words), {}, 0};
  EXPECT_EQ(recorded.run.exit, 0) << recorded.run.err;
  auto blocks = format::read_etdump(bytes_of(dir.path("run.etdp")));
  EXPECT_TRUE(blocks) << blocks.error().message;
  if (blocks) recorded.blocks = *std::move(blocks);
  EXPECT_EQ(recorded.blocks.size(), 2u);
  recorded.blocks.resize(2);
  if (std::filesystem::exists(dir.path("run.bin")))
    recorded.debug_nbytes = std::filesystem::file_size(dir.path("run.bin"));
  return recorded;
}

size_t output_count(const format::EtdumpBlock& block) {
  size_t count = 0;
  for (const auto& value : block.values) count += value.is_output ? 1 : 0;
  return count;
}

TEST(RunProfile, RecordsValuesWithADebugBuffer) {
  const Recorded all = record({}, true);
  EXPECT_EQ(all.blocks[1].values.size(), 10u);
  EXPECT_EQ(output_count(all.blocks[1]), 1u);
  EXPECT_EQ(all.debug_nbytes, 1108u);  // four of 256 bytes, then small ones on boundaries of 64
  const Recorded outputs = record({"--debug-level", "outputs"}, true);
  EXPECT_EQ(outputs.blocks[1].values.size(), 1u);
  EXPECT_EQ(outputs.debug_nbytes, 20u);
  EXPECT_EQ(record({"--dump_outputs"}, true).blocks[1].values.size(), 1u);
  EXPECT_EQ(record({"--dump_intermediate_outputs"}, true).blocks[1].values.size(), 10u);
  EXPECT_TRUE(record({}, false).blocks[1].values.empty());
}

TEST(RunProfile, RecordsWhatIsChosen) {
  const Recorded method = record({"--profile-level", "method"}, false);
  ASSERT_EQ(method.blocks[1].events.size(), 1u);
  EXPECT_EQ(method.blocks[1].events[0].name, "Method::execute");
  const Recorded some = record({"--profile-filter", "^relu", "--debug-ids", "3-4"}, true);
  EXPECT_EQ(some.blocks[1].events.size(), 3u);
  EXPECT_EQ(some.blocks[1].values.size(), 3u);  // two of operators, and the output
  EXPECT_EQ(record({"--profile-ids", "2"}, false).blocks[1].events.size(), 3u);
  const Recorded memory = record({"--profile-memory"}, false);
  EXPECT_THAT(memory.blocks[0].allocators, testing::Contains("method allocator"));
  EXPECT_FALSE(memory.blocks[0].allocations.empty());
}

TEST(RunProfile, NotesWhatDidNotFit) {
  const Recorded small = record({"--debug-buffer-size", "300"}, true);
  EXPECT_THAT(small.run.err, HasSubstr("note: the profile lacks "));
  EXPECT_LE(small.debug_nbytes, 300u);
}

TEST(RunProfile, NamesWhatIsWrong) {
  const ScratchDir dir;
  const auto error = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"run", kProgram});
    const CliRun run = cli(options);
    EXPECT_NE(run.exit, 0);
    return run.err;
  };
  const std::string file = dir.path("run.etdp"), debug = dir.path("run.bin");
  EXPECT_THAT(error({"--debug-buffer", debug}), HasSubstr("--debug-buffer needs --profile FILE"));
  EXPECT_THAT(error({"--profile-memory"}), HasSubstr("--profile-memory needs --profile FILE"));
  EXPECT_THAT(error({"--profile-filter", "x"}), HasSubstr("--profile-filter needs --profile FILE"));
  EXPECT_THAT(error({"--profile", file, "--dump_outputs"}), HasSubstr("hint: add --debug-buffer FILE"));
  EXPECT_THAT(error({"--profile", file, "--debug-buffer", debug, "--debug-level", "none"}),
              HasSubstr("there is nothing to write"));
  EXPECT_THAT(error({"--profile", file, "--debug-buffer", file}), HasSubstr("the same file"));
  EXPECT_THAT(error({"--profile", file, "--debug-buffer", "-"}), HasSubstr("expected a file"));
  EXPECT_THAT(error({"--profile", file, "--debug-buffer", dir.path("no/such/folder")}), HasSubstr("no/such"));
  EXPECT_THAT(error({"--profile", file, "--profile-ids", "5-3"}), HasSubstr("a range such as 10-20"));
  EXPECT_THAT(error({"--profile", file, "--profile-ids", "a"}), HasSubstr("a range such as 10-20"));
  EXPECT_THAT(error({"--profile", file, "--profile-filter", "("}), HasSubstr("no regular expression"));
  EXPECT_THAT(error({"--profile", file, "--debug-level", "some"}), HasSubstr("outputs"));
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_FALSE(std::filesystem::exists(debug));
}

}  // namespace
}  // namespace etb::tools
