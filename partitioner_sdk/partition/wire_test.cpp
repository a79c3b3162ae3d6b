// SPDX-License-Identifier: Apache-2.0
// Tests the encoding of answers and artifacts, with damaged bytes.
#include "partitioner_sdk/partition/wire.hpp"

#include <gtest/gtest.h>

#include <random>

namespace etb::partition {
namespace {

Compiled example() {
  Compiled out;
  Artifact artifact;
  artifact.payload = {std::byte{1}, std::byte{2}};
  artifact.format_version = 3;
  artifact.named_keys = {"weights"};
  artifact.scratch_bytes = 4;
  artifact.resident_bytes = 5;
  artifact.specs = {{"key", std::string("\0\xff", 2)}};
  artifact.debug_map = {{-1, "conv", {7, 8}}, {9, "", {}}};
  out.artifacts = {artifact, Artifact{}};
  out.blobs = {{"weights", {std::byte{6}}, "", 64}};
  return out;
}

TEST(Wire, WhatIsWrittenIsRead) {
  const ConstantKeys none;
  const Answers answers = {{{{0, 4}, 1, 2, 0.5}}, {{{1}, "op", "not\nmine"}, {{}, "x", ""}}};
  EXPECT_EQ(read_answers(to_bytes(answers)).value(), answers);
  EXPECT_EQ(read_compiled(to_bytes(example()), 2, none).value(), example());
  const std::vector<std::string> texts = {"a", "", "bc"};
  EXPECT_EQ(read_texts(to_bytes(texts)).value(), texts);
}

TEST(Wire, CutBytesAreRefused) {
  const ConstantKeys none;
  const std::vector<std::byte> bytes = to_bytes(example());
  for (size_t nbytes = 0; nbytes < bytes.size(); ++nbytes)
    EXPECT_FALSE(read_compiled({bytes.data(), nbytes}, 2, none)) << nbytes;
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(read_compiled(longer, 2, none));
}

TEST(Wire, ClaimsAboutOthersAreRefused) {
  const ConstantKeys none;
  EXPECT_FALSE(read_compiled(to_bytes(example()), 3, none));
  Compiled other = example();
  other.blobs[0].constant_key = "nobody's";
  EXPECT_FALSE(read_compiled(to_bytes(other), 2, none));
  other = example();
  other.artifacts[1].named_keys = {"missing"};
  EXPECT_FALSE(read_compiled(to_bytes(other), 2, none));
  other = example();
  other.blobs.push_back(other.blobs[0]);
  EXPECT_FALSE(read_compiled(to_bytes(other), 2, none));
  other = example();
  other.blobs[0].alignment = 3;
  EXPECT_FALSE(read_compiled(to_bytes(other), 2, none));
}

// Changed bytes are read or rejected. Neither may end the process or exhaust memory.
TEST(Wire, ChangedBytesDoNoHarm) {
  constexpr uint32_t kSeed = 1;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  const ConstantKeys none;
  const std::vector<std::byte> bytes = to_bytes(example());
  for (int i = 0; i < 5000; ++i) {
    std::vector<std::byte> changed = bytes;
    for (int n = 0; n < 3; ++n) changed[random() % changed.size()] = static_cast<std::byte>(random());
    (void)read_compiled(changed, 2, none);
    (void)read_answers(changed);
    (void)read_texts(changed);
  }
}

}  // namespace
}  // namespace etb::partition
