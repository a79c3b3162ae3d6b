// SPDX-License-Identifier: Apache-2.0
#include "etb/cpp/option.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace etb {
namespace {

using testing::HasSubstr;

constexpr const char* kModes[] = {"auto", "eco"};
constexpr OptionRow kRows[] = {
    bool_option("fast", true, ETB_OBJECT_PLUGIN | ETB_OBJECT_RUN, "Whether to hurry."),
    i64_option("tiles", 4, 1, 16, ETB_OBJECT_DELEGATE, "How many tiles to use."),
    f64_option("limit", 0.5, 0, 1, ETB_OBJECT_DELEGATE, "The limit."),
    text_option("mode", "auto", ETB_OBJECT_DELEGATE, "The mode.", kModes),
    i64_option("x-depth", 1, 1, 3, ETB_OBJECT_DELEGATE, "A hint that this plugin knows."),
    i64_option("most", 0, 0, INT64_MAX, ETB_OBJECT_DELEGATE, "How much at most."),
    i64_option("least", 0, INT64_MIN, 0, ETB_OBJECT_DELEGATE, "How much at least."),
};

etb_option option(const char* key, etb_option_type type) {
  return {ETB_INIT_SIZE(etb_option), 0, key, type, 0, 0, 0, nullptr, {nullptr, 0}, nullptr, nullptr};
}
etb_option i64(const char* key, int64_t value) {
  etb_option made = option(key, ETB_OPTION_I64);
  made.i64 = value;
  return made;
}

std::string refusal(const etb_option& given, uint32_t scope = ETB_OBJECT_DELEGATE) {
  const auto options = Options::make(&given, 1, kRows, scope);
  return options ? "" : options.error().message;
}

TEST(Options, DefaultsComeFromTheRows) {
  const Options options = *Options::make(nullptr, 0, kRows, ETB_OBJECT_DELEGATE);
  EXPECT_TRUE(options.get_bool("fast"));
  EXPECT_EQ(options.get_i64("tiles"), 4);
  EXPECT_EQ(options.get_f64("limit"), 0.5);
  EXPECT_EQ(options.get_text("mode"), "auto");
  EXPECT_EQ(options.get_text("no such key"), "");
  EXPECT_EQ(options.find("tiles"), nullptr);
}

TEST(Options, GivenValuesWinAndTheLastOneCounts) {
  const etb_option given[] = {i64("tiles", 2), i64("tiles", 8), i64("x-other", 1)};
  const auto options = Options::make(given, 3, kRows, ETB_OBJECT_DELEGATE);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->get_i64("tiles"), 8);
}

// proves: ABI-OPT-01
TEST(Options, WhatTheRowsDoNotAllowIsRefusedByName) {
  EXPECT_EQ(refusal(i64("tile", 2)), "option 'tile': unknown key");
  EXPECT_EQ(refusal(i64("x-tile", 2)), "");
  EXPECT_EQ(refusal(i64("x-depth", 3)), "");
  EXPECT_THAT(refusal(i64("x-depth", 4)), HasSubstr("option 'x-depth': 4"));
  EXPECT_THAT(refusal(i64("tiles", 0)), HasSubstr("option 'tiles': 0"));
  EXPECT_EQ(refusal(i64("tiles", 17)), "option 'tiles': 17, expected 1 to 16");
  EXPECT_EQ(refusal(i64("most", -1)), "option 'most': -1, expected 0 to 9223372036854775807");
  EXPECT_EQ(refusal(i64("least", INT64_MAX)),
            "option 'least': 9223372036854775807, expected -9223372036854775808 to 0");
  EXPECT_EQ(refusal(i64("tiles", 16)), "");
  EXPECT_THAT(refusal(i64("tiles", 2), ETB_OBJECT_RUN), HasSubstr("scope"));
  EXPECT_EQ(refusal(i64("mode", 2)), "option 'mode': i64, expected text");
  EXPECT_NE(refusal(option("mode", ETB_OPTION_TEXT)), "") << "a text that is NULL";
  etb_option mode = option("mode", ETB_OPTION_TEXT);
  mode.text = "turbo";
  EXPECT_EQ(refusal(mode), "option 'mode': 'turbo', expected one of 'auto', 'eco'");
  mode.text = "eco";
  EXPECT_EQ(refusal(mode), "");
  EXPECT_THAT(refusal(option(nullptr, ETB_OPTION_I64)), HasSubstr("without a key"));
  etb_option not_a_number = option("limit", ETB_OPTION_F64);
  not_a_number.f64 = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(refusal(not_a_number), HasSubstr("nan"));
  EXPECT_THAT(refusal(not_a_number), HasSubstr("expected 0.000000 to 1.000000"));
  etb_option two = option("fast", ETB_OPTION_BOOL);
  two.i64 = 2;
  EXPECT_THAT(refusal(two, ETB_OBJECT_RUN), HasSubstr("expected 0 or 1"));
}

// proves: ABI-SIZE-04
TEST(Options, AreWalkedByTheStrideOfTheSideThatMadeThem) {
  struct Newer {
    etb_option now;
    uint64_t later[2];
  };
  Newer given[] = {{i64("tiles", 2), {9, 9}}, {i64("x-other", 8), {9, 9}}};
  for (Newer& one : given) one.now.struct_size = ETB_INIT_SIZE(Newer);
  const auto options = Options::make(&given[0].now, 2, kRows, ETB_OBJECT_DELEGATE);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->find("x-other")->i64, 8);
}

TEST(OptionRow, SchemaSaysWhatTheRowSays) {
  const etb_option default_value = kRows[3].default_option();
  const etb_option_schema schema = kRows[3].schema(default_value);
  EXPECT_STREQ(schema.default_value->text, "auto");
  EXPECT_EQ(schema.choice_count, 2u);
  EXPECT_STREQ(schema.choices[1], "eco");
  const etb_option tiles = kRows[1].default_option();
  EXPECT_EQ(kRows[1].schema(tiles).maximum, 16);
  EXPECT_EQ(kRows[1].schema(tiles).choices, nullptr);
  EXPECT_EQ(kRows[1].mutable_when, ETB_OPTION_FIXED);
}

TEST(OptionRow, EachTypeOfRowStatesWhenItMayChange) {
  constexpr uint32_t kAny = ETB_OPTION_ANY_TIME;
  EXPECT_EQ(bool_option("b", true, ETB_OBJECT_RUN, "", kAny).mutable_when, kAny);
  EXPECT_EQ(i64_option("i", 1, 0, 9, ETB_OBJECT_RUN, "", kAny).mutable_when, kAny);
  EXPECT_EQ(f64_option("f", 1, 0, 9, ETB_OBJECT_RUN, "", kAny).mutable_when, kAny);
  EXPECT_EQ(text_option("t", "", ETB_OBJECT_RUN, "", {}, kAny).mutable_when, kAny);
  EXPECT_EQ(i64_option("i", 1, 0, 9, ETB_OBJECT_RUN, "", kAny).maximum, 9);
}

TEST(CompileSpecs, AreFoundByKey) {
  const etb_compile_spec specs[] = {{ETB_INIT_SIZE(etb_compile_spec), 0, "target", {"v2", 2}},
                                    {ETB_INIT_SIZE(etb_compile_spec), 0, "empty", {nullptr, 0}}};
  const auto made = CompileSpecs::make(specs, 2);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->count(), 2u);
  EXPECT_EQ(made->find_text("target"), "v2");
  EXPECT_TRUE(made->find("empty")->empty());
  EXPECT_FALSE(made->find("no such key"));
}

}  // namespace
}  // namespace etb
