// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/target_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "etb/cpp/compile.hpp"

namespace etb::partition {
namespace {

using testing::HasSubstr;

std::string error_of(std::string_view text) {
  const auto file = TargetFile::parse(text);
  return file ? "" : file.error().message;
}

TEST(TargetFile, HoldsEachTypeOfAttribute) {
  const auto file = TargetFile::parse(R"({"target_version": 1, "kind": "dsp", "name": "small",
      "fingerprint": "00000000000000000000000000000000000000000000000000000000000000ff",
      "attributes": {"tcm_bytes": 262144, "clock_mhz": 1.0, "has_fpu": false, "isa": "v2", "id": {"hex": "00ff"},
                     "lanes": [8, 16]}, "x-note": [1]})");
  ASSERT_TRUE(file) << file.error().message;
  const auto target = Target::make(&(*file)->target());
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(target->kind(), "dsp");
  EXPECT_EQ(target->name(), "small");
  EXPECT_EQ(target->raw()->fingerprint[31], 0xff);
  EXPECT_EQ(target->get_i64("tcm_bytes", 1), 262144);
  EXPECT_EQ(target->get_i64("absent", 7), 7);
  EXPECT_FALSE(target->get_i64("isa", 1));
  const auto type_of = [&](const char* key) { return target->find(key)->type; };
  EXPECT_EQ(type_of("clock_mhz"), ETB_OPTION_F64);
  EXPECT_EQ(type_of("has_fpu"), ETB_OPTION_BOOL);
  EXPECT_STREQ(target->find("isa")->text, "v2");
  ASSERT_EQ(type_of("id"), ETB_OPTION_BYTES);
  EXPECT_EQ(std::string(static_cast<const char*>(target->find("id")->bytes.data), 2),
            std::string("\0\xff", 2));
  ASSERT_EQ(type_of("lanes"), ETB_OPTION_LIST);
  ASSERT_EQ(target->find("lanes")->item_count, 2u);
  EXPECT_EQ(target->find("lanes")->items[1].i64, 16);
}

TEST(TargetFile, NullIsThePluginsDefault) {
  const auto target = Target::make(nullptr);
  ASSERT_TRUE(target);
  EXPECT_TRUE(target->is_default());
  EXPECT_EQ(target->kind(), "");
  EXPECT_EQ(target->find("tcm_bytes"), nullptr);
}

TEST(TargetFile, ErrorsNameTheMember) {
  EXPECT_THAT(error_of("{"), HasSubstr("target file: "));
  EXPECT_THAT(error_of("[]"), HasSubstr("the file: found []"));
  EXPECT_THAT(error_of("{}"), HasSubstr("target_version: found none, expected 1"));
  EXPECT_THAT(error_of(R"({"target_version": 2})"), HasSubstr("target_version: found 2, expected 1"));
  EXPECT_THAT(error_of(R"({"target_version": 1, "kinds": ""})"), HasSubstr("member 'kinds'"));
  EXPECT_THAT(error_of(R"({"target_version": 1, "kind": 3})"), HasSubstr("kind: found 3, expected a text"));
  EXPECT_THAT(error_of(R"({"target_version": 1, "name": "a\u0000b"})"), HasSubstr("NUL"));
  EXPECT_THAT(error_of(R"({"target_version": 1, "fingerprint": "00"})"), HasSubstr("64 lower-case"));
  for (const char* const value :
       {"null", "[[1]]", "18446744073709551615", R"({"hex": "0"})", R"({"hex": "zz"})", R"({"other": 1})"})
    EXPECT_THAT(error_of(R"({"target_version": 1, "attributes": {"a": )" + std::string(value) + "}}"),
                HasSubstr("attribute 'a': found "))
        << value;
}

}  // namespace
}  // namespace etb::partition
