// SPDX-License-Identifier: Apache-2.0
#include "host/registry/side_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "host/registry/digest.hpp"
#include "host/testing/scratch_dir.hpp"

namespace etb::host {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMaxBytes = 64;

TEST(SideFile, IsReadBeneathTheManifestAndComparedWithItsDigest) {
  const ScratchDir dir;
  dir.write("more/npu.rules", "rule");
  PluginEntry entry;
  entry.directory = dir.path();
  EXPECT_EQ(*read_side_file(entry, {"more/npu.rules", {}}, {}, kMaxBytes), "rule");
  const uint8_t text[] = {'r', 'u', 'l', 'e'};
  Sha256 digest = *sha256_of(MemoryBytes(text));
  EXPECT_EQ(*read_side_file(entry, {"more/npu.rules", digest}, {}, kMaxBytes), "rule");
  ++digest[0];
  const auto changed = read_side_file(entry, {"more/npu.rules", digest}, {}, kMaxBytes);
  ASSERT_FALSE(changed);
  EXPECT_THAT(changed.error().message, HasSubstr("more/npu.rules: its sha256 is not the manifest's"));
}

TEST(SideFile, IsRefusedWithoutADigestInSecureMode) {
  const ScratchDir dir;
  dir.write("npu.rules", "rule");
  PluginEntry entry;
  entry.directory = dir.path();
  LoadOptions options;
  options.secure = true;
  const auto text = read_side_file(entry, {"npu.rules", {}}, options, kMaxBytes);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("secure mode"));
}

TEST(SideFile, IsRefusedWhenMissingTooLargeWritableByOthersOrOfNoFolder) {
  const ScratchDir dir;
  PluginEntry entry;
  EXPECT_FALSE(read_side_file(entry, {"npu.rules", {}}, {}, kMaxBytes));
  entry.directory = dir.path();
  EXPECT_FALSE(read_side_file(entry, {"npu.rules", {}}, {}, kMaxBytes));
  const std::string path = dir.write("npu.rules", std::string(kMaxBytes + 1, ' '));
  EXPECT_FALSE(read_side_file(entry, {"npu.rules", {}}, {}, kMaxBytes));
  EXPECT_TRUE(read_side_file(entry, {"npu.rules", {}}, {}, kMaxBytes + 1));
  ::chmod(path.c_str(), 0666);
  EXPECT_FALSE(read_side_file(entry, {"npu.rules", {}}, {}, kMaxBytes + 1));
}

}  // namespace
}  // namespace etb::host
