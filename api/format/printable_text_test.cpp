// SPDX-License-Identifier: Apache-2.0
#include "api/format/printable_text.hpp"

#include <gtest/gtest.h>

#include "api/format/json_text.hpp"
#include "api/format/page_text.hpp"

namespace etb::format {
namespace {

TEST(PrintableText, KeepsWhatPeopleWrite) {
  for (const char* text : {"", "conv2d", "Größe", "模型", "👍", "a\\b"}) {
    EXPECT_TRUE(is_printable(text));
    EXPECT_EQ(made_printable(text), text);
  }
}

struct Hostile {
  std::string text, escaped;
};

class HostileText : public testing::TestWithParam<Hostile> {};

TEST_P(HostileText, IsEscaped) {
  EXPECT_FALSE(is_printable(GetParam().text));
  EXPECT_EQ(made_printable(GetParam().text), GetParam().escaped);
  EXPECT_EQ(in_quotes(GetParam().text), "'" + GetParam().escaped + "'");
}

INSTANTIATE_TEST_SUITE_P(
    PrintableText, HostileText,
    testing::Values(Hostile{"\x1b[2J", "\\x1b[2J"}, Hostile{"a\nb\r", "a\\x0ab\\x0d"},
                    Hostile{std::string("a\0b", 3), "a\\x00b"}, Hostile{"\x7f", "\\x7f"},
                    Hostile{"\xc2\x9b", "\\xc2\\x9b"},                    // C1: CSI in one byte
                    Hostile{"\xe2\x80\xae", "\\xe2\\x80\\xae"},           // right-to-left override
                    Hostile{"\xe2\x81\xa6", "\\xe2\\x81\\xa6"},           // isolate
                    Hostile{"\xe2\x80\x8f", "\\xe2\\x80\\x8f"},           // right-to-left mark
                    Hostile{"\xef\xbb\xbf", "\\xef\\xbb\\xbf"},           // byte order mark
                    Hostile{"\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81"},  // tag
                    Hostile{"\xff", "\\xff"}, Hostile{"\xc0\x80", "\\xc0\\x80"},
                    Hostile{"\xed\xa0\x80", "\\xed\\xa0\\x80"}, Hostile{"\xe2\x80", "\\xe2\\x80"}));

TEST(PrintableText, IsCutWithAMark) {
  EXPECT_EQ(made_printable("abcdef", 3), "abc...");
  EXPECT_EQ(in_quotes(std::string(100, 'x')), "'" + std::string(64, 'x') + "'...");
}

TEST(PrintableText, PagesHaveNoMarkupOfFilesAndNoControlCharacters) {
  EXPECT_EQ(escape_page_text("<b>\x1b&\"\n\xff"), "&lt;b&gt;\\x1b&amp;&quot;\n\\xff");
}

TEST(JsonText, FaultsThatParsersPassOver) {
  EXPECT_EQ(find_silent_json_fault("{}"), nullptr);
  EXPECT_EQ(find_silent_json_fault(""), nullptr);
  for (const std::string& text : {std::string("\xef\xbb\xbf{}"), std::string("\xff\xfe{\0}\0", 6),
                                 std::string("\xfe\xff\0{\0}", 6), std::string("\0\0\xfe\xff", 4)}) {
    const char* fault = find_silent_json_fault(text);
    ASSERT_NE(fault, nullptr);
    EXPECT_NE(std::string(fault).find("byte order mark"), std::string::npos);
  }
  EXPECT_NE(std::string(find_silent_json_fault(std::string_view("{}\0junk", 7))).find("NUL"),
            std::string::npos);
}

}  // namespace
}  // namespace etb::format
