// SPDX-License-Identifier: Apache-2.0
#include "host/profile/etdump_recording.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "host/module/module.hpp"
#include "host/testing/scratch_dir.hpp"

namespace etb::host {
namespace {

const std::string kFixtures = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/";

std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Runs conv.pte twice on ones.
void run_conv(EtdumpRecording& recording) {
  ModuleOptions options;
  options.tracer = &recording.tracer();
  Module module = Module::open(kFixtures + "programs/conv.pte", options).value();
  const auto input = module.method_meta("forward").value().input(0).as_tensor();
  std::vector<int64_t> sizes(input.sizes.begin(), input.sizes.end());
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  const std::vector<float> ones(static_cast<size_t>(count), 1);
  auto x = OwnedTensor::make<float>(sizes, std::span<const float>(ones));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(module.forward({x.value()}));
}

// Where a value is, and its elements.
struct Found {
  std::string place;
  std::vector<int64_t> sizes;
  std::vector<float> elements;
};

std::vector<Found> find_values(const std::vector<format::EtdumpBlock>& blocks,
                               std::span<const std::byte> debug_buffer) {
  std::vector<Found> out;
  for (size_t i = 0; i < blocks.size(); ++i)
    for (const format::EtdumpDebugEvent& event : blocks[i].values) {
      const format::EtdumpTensor& tensor = event.value.tensors.at(0);
      const auto bytes = format::find_elements(tensor, debug_buffer);
      EXPECT_TRUE(bytes) << bytes.error().message;
      Found found{std::to_string(i) + ":" + std::to_string(event.chain_index) + ":" +
                      std::to_string(event.instruction_index) + (event.is_output ? " output" : ""),
                  tensor.sizes,
                  {}};
      found.elements.resize(bytes->size() / sizeof(float));
      if (!bytes->empty()) std::memcpy(found.elements.data(), bytes->data(), bytes->size());
      out.push_back(std::move(found));
    }
  return out;
}

// Written by the official run time of executorch 1.5.1, which ran the same program on ones.
TEST(EtdumpRecording, ValuesAreThoseOfTheOfficialRunTime) {
  RecordingOptions options;
  options.debug_level = DebugLevel::kIntermediateOutputs;
  const auto recording = EtdumpRecording::make(options).value();
  run_conv(*recording);
  const auto ours = recording->to_blocks();
  ASSERT_TRUE(ours) << ours.error().message;
  const auto theirs = format::read_etdump(bytes_of(kFixtures + "etdump/conv.etdp"));
  ASSERT_TRUE(theirs) << theirs.error().message;

  ASSERT_EQ(ours->size(), theirs->size());
  for (size_t i = 0; i < ours->size(); ++i) {
    const format::EtdumpBlock &a = (*ours)[i], &b = (*theirs)[i];
    EXPECT_EQ(a.name, b.name);
    ASSERT_EQ(a.events.size(), b.events.size());
    for (size_t k = 0; k < a.events.size(); ++k) {
      EXPECT_EQ(a.events[k].name, b.events[k].name);
      EXPECT_EQ(a.events[k].chain_index, b.events[k].chain_index);
      EXPECT_EQ(a.events[k].instruction_index, b.events[k].instruction_index);
      EXPECT_EQ(a.events[k].position, b.events[k].position) << a.events[k].name;
    }
  }
  const auto our_values = find_values(*ours, recording->debug_bytes());
  const auto their_values = find_values(*theirs, bytes_of(kFixtures + "etdump/conv.bin"));
  ASSERT_EQ(our_values.size(), their_values.size());
  ASSERT_EQ(our_values.size(), 20u);
  for (size_t i = 0; i < our_values.size(); ++i) {
    const Found &a = our_values[i], &b = their_values[i];
    EXPECT_EQ(a.place, b.place);
    EXPECT_EQ(a.sizes, b.sizes) << a.place;
    ASSERT_EQ(a.elements.size(), b.elements.size()) << a.place;
    for (size_t k = 0; k < a.elements.size(); ++k)
      EXPECT_NEAR(a.elements[k], b.elements[k], 1e-5 * (1 + std::abs(b.elements[k]))) << a.place;
  }
}

TEST(EtdumpRecording, FilesAreWrittenWhole) {
  const ScratchDir dir;
  RecordingOptions options;
  options.debug_level = DebugLevel::kIntermediateOutputs;
  options.debug_path = dir.path("run.bin");
  {
    const auto recording = EtdumpRecording::make(options).value();
    run_conv(*recording);
    ASSERT_TRUE(recording->write(dir.path("run.etdp")));
    EXPECT_FALSE(std::filesystem::exists(options.debug_path));  // until it is whole
    ASSERT_TRUE(recording->commit_debug_file());
    EXPECT_TRUE(recording->debug_bytes().empty());
    const auto file = bytes_of(dir.path("run.etdp"));
    EXPECT_TRUE(file == recording->to_bytes().value());
  }
  const auto blocks = format::read_etdump(bytes_of(dir.path("run.etdp")));
  ASSERT_TRUE(blocks) << blocks.error().message;
  const auto values = find_values(*blocks, bytes_of(options.debug_path));
  EXPECT_EQ(values.size(), 20u);
}

TEST(EtdumpRecording, ShowsANameThatNoAllocationHas) {
  const auto recording = EtdumpRecording::make({}).value();
  run_conv(*recording);
  recording->show_program("program x");
  const auto blocks = recording->to_blocks().value();
  EXPECT_THAT(blocks.at(0).allocators, testing::ElementsAre("program x"));
  EXPECT_TRUE(blocks.at(1).allocators.empty());
  EXPECT_EQ(blocks.at(0).events.size(), 2u);
}

TEST(EtdumpRecording, AFilterLimitsTheValues) {
  RecordingOptions options;
  options.debug_level = DebugLevel::kIntermediateOutputs;
  options.value_filter.pattern = "relu|softmax";
  const auto recording = EtdumpRecording::make(options).value();
  run_conv(*recording);
  const auto blocks = recording->to_blocks().value();
  EXPECT_EQ(blocks.at(1).values.size(), 3u);  // of two operators, and the output
  EXPECT_EQ(blocks.at(1).events.size(), 15u);
}

TEST(EtdumpRecording, LimitsAreCounted) {
  RecordingOptions options;
  options.debug_level = DebugLevel::kIntermediateOutputs;
  options.max_debug_bytes = 600;  // two values
  options.max_log_bytes = 64 << 10;
  const auto recording = EtdumpRecording::make(options).value();
  for (int i = 0; i < 100; ++i) run_conv(*recording);
  EXPECT_LE(recording->debug_bytes().size(), 600u);
  EXPECT_GT(recording->dropped_value_count(), 100u);
  EXPECT_GT(recording->dropped_event_count(), 100u);
  EXPECT_GT(recording->to_blocks().value().size(), 10u);
  recording->clear();
  EXPECT_TRUE(recording->to_blocks().value().empty());
  EXPECT_EQ(recording->dropped_event_count(), 0u);
  EXPECT_TRUE(recording->debug_bytes().empty());
}

TEST(EtdumpRecording, RefusesAFilterThatIsNoRegularExpression) {
  RecordingOptions options;
  options.event_filter.pattern = "a(";
  const auto recording = EtdumpRecording::make(options);
  ASSERT_FALSE(recording);
  EXPECT_EQ(recording.error().code, Code::INVALID_ARGUMENT);
  EXPECT_THAT(recording.error().message, testing::StartsWith("filter 'a(' is no regular expression: "));
}

TEST(EtdumpRecording, RefusesADebugFileThatCannotBeWritten) {
  RecordingOptions options;
  options.debug_path = "/no/such/folder/run.bin";
  EXPECT_FALSE(EtdumpRecording::make(options));
}

}  // namespace
}  // namespace etb::host
