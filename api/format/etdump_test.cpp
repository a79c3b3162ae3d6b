// SPDX-License-Identifier: Apache-2.0
#include "api/format/etdump.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace etb::format {
namespace {

std::vector<std::byte> bytes_of(const std::string& name) {
  std::ifstream in(std::string(ETB_SOURCE_DIR) + "/tests/fuzz/etdump/" + name, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<EtdumpBlock> two_blocks() {
  EtdumpEvent load;
  load.name = "Program::load_method";
  load.begin_ns = 5;
  load.end_ns = 1'000'000'000'000;
  EtdumpEvent inner;
  inner.chain_index = 0;
  inner.instruction_index = 3;
  inner.delegate_debug_name = "Conv #1";
  inner.metadata = {std::byte{1}, std::byte{2}};
  EtdumpEvent numbered = inner;
  numbered.delegate_debug_name.clear();
  numbered.delegate_debug_id = 7;
  return {{"Default", -1, {load}, 0, 0}, {"Execute", 2, {inner, numbered}, 0, 0}};
}

TEST(Etdump, IsReadAsWritten) {
  const std::vector<EtdumpBlock> blocks = two_blocks();
  const auto file = write_etdump(blocks);
  ASSERT_TRUE(file) << file.error().message;
  const auto read = read_etdump(*file);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].name, "Default");
  EXPECT_EQ((*read)[1].bundled_input_index, 2);
  const EtdumpEvent& load = (*read)[0].events.at(0);
  EXPECT_EQ(load.name, "Program::load_method");
  EXPECT_EQ(load.chain_index, -1);
  EXPECT_EQ(load.end_ns, 1'000'000'000'000u);
  EXPECT_FALSE(load.is_of_delegate());
  const EtdumpEvent& inner = (*read)[1].events.at(0);
  EXPECT_EQ(inner.delegate_debug_name, "Conv #1");
  EXPECT_EQ(inner.instruction_index, 3);
  EXPECT_EQ(inner.metadata.size(), 2u);
  EXPECT_EQ((*read)[1].events.at(1).delegate_debug_id, 7);
}

TEST(Etdump, AFileAtAnyAddressIsRead) {
  const auto file = write_etdump(two_blocks());
  ASSERT_TRUE(file);
  std::vector<std::byte> moved(file->size() + 1);
  std::copy(file->begin(), file->end(), moved.begin() + 1);
  EXPECT_TRUE(read_etdump(std::span(moved).subspan(1)));
}

// Written by the official run time of executorch 1.5.1: one delegate call, and one kernel call, two runs each.
TEST(Etdump, OfficialFilesAreRead) {
  const auto delegate = read_etdump(bytes_of("official_xnnpack_add.etdp"));
  ASSERT_TRUE(delegate) << delegate.error().message;
  ASSERT_EQ(delegate->size(), 3u);
  EXPECT_EQ((*delegate)[1].name, "Execute");
  ASSERT_EQ((*delegate)[1].events.size(), 3u);
  EXPECT_EQ((*delegate)[1].events[0].delegate_debug_name, "Add (ND) #1");
  EXPECT_EQ((*delegate)[1].events[1].name, "DELEGATE_CALL");
  EXPECT_EQ((*delegate)[1].events[2].name, "Method::execute");
  const auto kernel = read_etdump(bytes_of("official_add.etdp"));
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ((*kernel)[2].events.at(0).name, "native_call_add.out");
}

TEST(Etdump, DamagedFilesAreRefusedWithAReason) {
  const auto whole = write_etdump(two_blocks());
  ASSERT_TRUE(whole);
  for (size_t nbytes = 0; nbytes < whole->size(); ++nbytes) {
    const auto cut = read_etdump(std::span(*whole).first(nbytes));
    ASSERT_FALSE(cut) << nbytes;
    EXPECT_FALSE(cut.error().message.empty());
  }
  std::vector<std::byte> other = *whole;
  other[8] = std::byte{'X'};
  EXPECT_NE(read_etdump(other).error().message.find("ED00"), std::string::npos);
  EXPECT_FALSE(read_etdump(bytes_of("../../fixtures/programs/add.pte")));
  // A flipped bit makes another valid file, or an error.
  for (size_t at = 0; at < whole->size(); ++at) {
    std::vector<std::byte> flipped = *whole;
    flipped[at] ^= std::byte{0x10};
    const auto read = read_etdump(flipped);
    EXPECT_TRUE(read || !read.error().message.empty()) << at;
  }
}

TEST(Etdump, EventsThatNoWriterMakesAreRefused) {
  EtdumpEvent reversed;
  reversed.name = "OPERATOR_CALL";
  reversed.begin_ns = 2;
  reversed.end_ns = 1;
  const auto file = write_etdump(std::vector<EtdumpBlock>{{"Execute", -1, {reversed}, 0, 0}});
  ASSERT_TRUE(file);
  const auto read = read_etdump(*file);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "block 0: event 0: ends at 1, before its begin at 2");
}

}  // namespace
}  // namespace etb::format
