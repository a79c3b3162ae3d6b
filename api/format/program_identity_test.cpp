// SPDX-License-Identifier: Apache-2.0
#include "api/format/program_identity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include <unistd.h>

namespace etb::format {
namespace {

// The digest is that of sha256sum.
TEST(ProgramIdentity, IsTheFilesNameAndDigest) {
  const auto identity = identify_program(std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/add.pte");
  ASSERT_TRUE(identity) << identity.error().message;
  EXPECT_EQ(identity->name, "add.pte");
  EXPECT_EQ(identity->sha256, "7ab82ae2f65c05487939bb7a7b2e8460933d0f0c277bbe97fa1586bcf086393c");
}

TEST(ProgramIdentity, ReadsLargeFilesInPieces) {
  const std::string path = testing::TempDir() + "program_identity_" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary) << std::string((size_t{2} << 20) + 5, 'a');
  const auto identity = identify_program(path);
  std::remove(path.c_str());
  ASSERT_TRUE(identity) << identity.error().message;
  EXPECT_EQ(identity->sha256, "f077ad66a499663ea49bdb0067bb7d51745c75a651e17c458435756986bbc523");
}

TEST(ProgramIdentity, NamesAMissingFile) {
  const auto identity = identify_program("/no/such/program.pte");
  ASSERT_FALSE(identity);
  EXPECT_THAT(identity.error().message, testing::HasSubstr("/no/such/program.pte"));
}

}  // namespace
}  // namespace etb::format
