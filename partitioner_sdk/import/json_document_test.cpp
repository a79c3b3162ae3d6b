// SPDX-License-Identifier: Apache-2.0
// Tests the JSON tree: values, limits, duplicate keys.
#include "partitioner_sdk/import/json_document.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace etb::pt2 {
namespace {

using ::testing::HasSubstr;

TEST(JsonDocument, ReadsValuesOfEveryKind) {
  const auto document = JsonDocument::parse(
      R"({"a": [1, -2.5, "x", true, null, {"b": []}], "big": 9223372036854775807, "inf": "-Infinity"})");
  ASSERT_TRUE(document) << document.error().message;
  const Json root = (*document)->root();
  EXPECT_EQ(root.size(), 3u);
  const Json list = root["a"];
  EXPECT_EQ(list.size(), 6u);
  std::vector<JsonKind> kinds;
  for (const Json item : list) kinds.push_back(item.kind());
  EXPECT_THAT(kinds, ::testing::ElementsAre(JsonKind::kInt, JsonKind::kFloat, JsonKind::kString,
                                            JsonKind::kBool, JsonKind::kNull, JsonKind::kObject));
  EXPECT_EQ(root["big"].as_int(), INT64_MAX);
  EXPECT_EQ(root["inf"].as_float(), -INFINITY);
  EXPECT_EQ((*list.begin()).as_int(), 1);
  EXPECT_FALSE(root["none"]);
  EXPECT_FALSE(root["none"]["deeper"].as_int());
  for (const Json item : root["none"]) FAIL() << item.key();
  for (const Json item : root["big"]) FAIL() << item.key();
}

TEST(JsonDocument, NamesWhatTheParserWouldPassOver) {
  const auto message = [](std::string_view text) {
    const auto document = JsonDocument::parse(text);
    return document ? "read" : document.error().message;
  };
  EXPECT_NE(message("\xef\xbb\xbf{}").find("byte order mark (EF BB BF)"), std::string::npos);
  EXPECT_NE(message(std::string_view("{}\0{", 4)).find("NUL byte"), std::string::npos);
  EXPECT_NE(message(R"({"a\u0000b": 1})").find("a key contains a NUL"), std::string::npos);
  EXPECT_NE(message(R"(["a\u0000b"])").find("a text contains a NUL"), std::string::npos);
}

TEST(JsonDocument, ReadsWordsOfPythonForNumbersOnRequest) {
  const auto document = JsonDocument::parse(
      R"({"a": [-Infinity, 1, NaN,Infinity], "b\"NaN": "Infinity, \" NaN"})", JsonDocument::Words::kAsTexts);
  ASSERT_TRUE(document) << document.error().message;
  const Json root = (*document)->root();
  std::vector<double> numbers;
  for (const Json item : root["a"]) numbers.push_back(item.as_float().value_or(7));
  ASSERT_EQ(numbers.size(), 4u);
  EXPECT_EQ(numbers[0], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(numbers[1], 1);
  EXPECT_TRUE(std::isnan(numbers[2]));
  EXPECT_EQ(numbers[3], std::numeric_limits<double>::infinity());
  EXPECT_EQ(root["b\"NaN"].as_string(), "Infinity, \" NaN");
  for (const char* wrong : {"[NaNN]", "[- Infinity]", "[1NaN]", "[\"a\"NaN]"})
    EXPECT_FALSE(JsonDocument::parse(wrong, JsonDocument::Words::kAsTexts)) << wrong;
}

TEST(JsonDocument, RefusesFaults) {
  std::string deep;
  for (size_t i = 0; i <= JsonDocument::kMaxDepth; ++i) deep += "[";
  const std::pair<std::string, const char*> cases[] = {
      {"", "syntax"},
      {"{\"a\": 1, \"a\": 2}", "occurs twice"},
      {"[18446744073709551615]", "exceeds int64"},
      {deep, "nested deeper"},
      {"[1, 2", "syntax"},
      {"[NaN]", "syntax"},
      {"[\"\xff\"]", "syntax"},
      {"[1] [2]", "syntax"},
  };
  for (const auto& [text, message] : cases) {
    const auto document = JsonDocument::parse(text);
    ASSERT_FALSE(document) << text;
    EXPECT_THAT(document.error().message, HasSubstr(message));
  }
}

}  // namespace
}  // namespace etb::pt2
