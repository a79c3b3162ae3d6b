// SPDX-License-Identifier: Apache-2.0
#include "api/format/graph_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/testing/graph_generator.hpp"

namespace etb::graph {
namespace {

bool g_rebase = false;

std::string print(const ImageBytes& image) { return print_graph_image(*View::open(image.span())); }

bool are_equal(const ImageBytes& a, const ImageBytes& b) {
  return std::equal(a.span().begin(), a.span().end(), b.span().begin(), b.span().end());
}

TEST(GraphText, RoundTripsRandomGraphs) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto image = random_graph(seed, 1 + seed % 25).finish();
    ASSERT_TRUE(image) << image.error().message;
    const std::string text = print(*image);
    const auto parsed = parse_graph_text(text);
    ASSERT_TRUE(parsed) << parsed.error().message << "\n" << text;
    ASSERT_EQ(print(*parsed), text);
    ASSERT_TRUE(are_equal(*parsed, *image)) << text;
  }
}

TEST(GraphText, BytesDoNotDependOnTheOrderOfAdding) {
  const auto build = [](bool swapped) {
    Builder builder("forward");
    const SpecDesc small = {ETB_DTYPE_FLOAT32, {2}, {}, {}};
    const SpecDesc large = {ETB_DTYPE_FLOAT32, {3}, {0}, {}};
    if (swapped) builder.add_spec({ETB_DTYPE_INT8, {}, {}, {}});  // unused
    const uint32_t first = builder.add_spec(swapped ? large : small);
    const uint32_t second = builder.add_spec(swapped ? small : large);
    GraphBuilder& graph = builder.add_graph("forward");
    graph.add_input(tensor("x", swapped ? second : first));
    graph.add_input(tensor("y", swapped ? first : second));
    return builder.finish_unverified();
  };
  EXPECT_TRUE(are_equal(build(false), build(true)));
}

TEST(GraphText, CutsTextAnywhereWithoutCrash) {
  const std::string text = print(random_graph(3, 10).finish_unverified());
  for (size_t size = 0; size < text.size(); size += 7) {
    const auto parsed = parse_graph_text(std::string_view(text).substr(0, size));
    if (!parsed) {
      EXPECT_THAT(parsed.error().message, ::testing::StartsWith("graph "));
    }
  }
}

TEST(GraphText, RefusesDeepAndLongFormulas) {
  const std::string head = "etg 1\nname \"f\"\nsymbol s {0..}\ngraph @f {\n  user %n: sym_int(";
  const std::string tail = ")\n  return\n}\n";
  EXPECT_THAT(parse_graph_text(head + std::string(100000, '(') + tail).error().message,
              ::testing::HasSubstr("a formula of more than 256 terms"));
  std::string sum = "s";
  for (int i = 0; i < 100000; ++i) sum += "+s";
  EXPECT_THAT(parse_graph_text(head + sum + tail).error().message,
              ::testing::HasSubstr("a formula of more than 256 terms"));
}

TEST(GraphText, ConstantsMayBeWrittenAsElements) {
  const auto image_of = [](const std::string& type, const std::string& data) {
    return parse_graph_text("etg 1\nname \"f\"\nconstant \"w\": " + type + " = " + data +
                            "\n\ngraph @f {\n  constant %w: " + type + " = \"w\"\n  return %w\n}\n");
  };
  const std::pair<const char*, std::pair<const char*, const char*>> rows[] = {
      {"float32[2]", {"[1, -2.5]", "0x0000803f000020c0"}},
      {"float64[1]", {"[inf]", "0x000000000000f07f"}},
      {"int16[2]", {"[-2, 258]", "0xfeff0201"}},
      {"bool[3]", {"[1, 0, 1]", "0x010001"}},
      {"float16[1]", {"[15360]", "0x003c"}}};
  for (const auto& [type, data] : rows) {
    const auto elements = image_of(type, data.first), bytes = image_of(type, data.second);
    ASSERT_TRUE(elements && bytes) << type << (elements ? "" : elements.error().message);
    EXPECT_EQ(print(*elements), print(*bytes));
  }
  EXPECT_FALSE(image_of("float32[2]", "[1]")) << "one element is missing";
  EXPECT_THAT(image_of("float32[1]", "...").error().message, ::testing::HasSubstr("line 3 column 28: "));
}

// Clauses of the compiler's modules are none of an image.
TEST(GraphText, RefusesTheClausesOfModules) {
  const std::pair<const char*, const char*> rows[] = {
      {"etg 1\nmodule \"f\"\n", "line 2 column 1: expected 'name', found 'module'"},
      {"etg 1\nname \"f\"\nop \"my::f(Tensor x) -> Tensor\"\n",
       "line 3 column 1: expected 'graph', found 'op'"},
      {"etg 1\nname \"f\"\ngraph @f {\n user %x: float32[2] strides(1)\n return\n}",
       "name 'strides', expected namespace.name.overload"},
      {"etg 1\nname \"f\"\nsymbol s {1..}\ngraph @f {\n user %x: float32[s]\n return\n}",
       "expected '{', found ']'"},
      {"etg 1\nname \"f\"\ngraph @f {\n return 3\n}", "expected %name of a value, found '3'"},
      {"etg 1\nname \"f\"\nsymbol s {1..}\ngraph @f {\n aten.f.default(s)\n return\n}",
       "unknown argument 's'"},
      {"etg 1\nname \"f\"\ngraph @f {\n aten.f.default([])\n return\n}",
       "expected an item of a list, found ']'"}};
  for (const auto& [text, message] : rows)
    EXPECT_THAT(parse_graph_text(text).error().message, ::testing::HasSubstr(message)) << text;
}

TEST(GraphText, LeavesOutLargeDataOnRequest) {
  const ImageBytes image = random_graph(2, 1).finish_unverified();
  PrintOptions options;
  options.max_data_bytes = 0;
  EXPECT_THAT(print_graph_image(*View::open(image.span()), options),
              ::testing::HasSubstr("bytes inside, left out"));
}

TEST(GraphText, CutsTheTextOnRequest) {
  const ImageBytes image = random_graph(4, 20).finish_unverified();
  PrintOptions options;
  options.max_text_bytes = 500;
  const std::string text = print_graph_image(*View::open(image.span()), options);
  EXPECT_LT(text.size(), 5000u);
  EXPECT_THAT(text, ::testing::EndsWith("# cut: the text has more than 500 bytes\n"));
}

// tests/golden/graph: NAME.txt is a canonical text and must print unchanged. bad-NAME.txt must be rejected
// with the message in its last line. --rebase rewrites both from the present results.
class Golden : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Golden, ParsesAndPrintsAsCommitted) {
  std::ifstream in(GetParam(), std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const bool is_bad = GetParam().filename().string().rfind("bad-", 0) == 0;
  constexpr std::string_view kMark = "# error: ";
  std::string expected = text;
  std::string comment;
  if (is_bad) {
    text.resize(std::min(text.find(kMark), text.size()));
  } else {
    while (text.compare(comment.size(), 1, "#") == 0)
      comment = text.substr(0, text.find('\n', comment.size()) + 1);
  }
  const auto image = parse_graph_text(text);
  std::string found;
  if (is_bad) {
    found = text + std::string(kMark) + (image ? "none, it was accepted" : image.error().message) + "\n";
  } else {
    ASSERT_TRUE(image) << image.error().message;
    found = comment + print(*image);
  }
  EXPECT_EQ(is_bad, !image);
  if (g_rebase) {
    std::ofstream(GetParam(), std::ios::binary) << found;
  } else {
    EXPECT_EQ(found, expected) << "graph_text_test --rebase rewrites " << GetParam();
  }
}

std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(ETB_SOURCE_DIR "/tests/golden/graph")) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(GraphText, Golden, ::testing::ValuesIn(golden_files()), [](const auto& file) {
  std::string name = file.param.stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
});

}  // namespace
}  // namespace etb::graph

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  etb::graph::g_rebase = argc > 1 && std::strcmp(argv[1], "--rebase") == 0;
  return RUN_ALL_TESTS();
}
