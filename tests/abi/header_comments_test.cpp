// SPDX-License-Identifier: Apache-2.0
// The comments of the contract headers have the form that base.h defines: parts in order, closed sets of words, prose.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Function {
  std::string header;
  std::string name;
  std::vector<std::string> comment;  // the lines right above it
};

std::vector<fs::path> headers() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(fs::path(ETB_SOURCE_DIR) / "api/include/etb")) {
    if (entry.path().extension() == ".h") found.push_back(entry.path());
  }
  return found;
}

bool is_comment(const std::string& line) {
  const size_t first = line.find_first_not_of(' ');
  return first != std::string::npos && line.compare(first, 2, "//") == 0;
}

// Functions of tables, sinks and services: pointers with ETB_CALL.
std::vector<Function> functions() {
  std::vector<Function> found;
  const std::regex function("\\(ETB_CALL\\* ?([a-z_]+)\\)");
  for (const fs::path& header : headers()) {
    std::ifstream in(header);
    std::vector<std::string> comment;
    std::smatch match;
    for (std::string line; std::getline(in, line);) {
      if (is_comment(line)) {
        comment.push_back(line.substr(line.find("//")));
        continue;
      }
      const bool is_argument = line.find("(ETB_CALL* task)") != std::string::npos;  // of parallel_for
      if (!is_argument && std::regex_search(line, match, function))
        found.push_back({header.filename().string(), match[1], comment});
      comment.clear();
    }
  }
  return found;
}

// The part of a comment that begins with a label, without the label; "" when there is none.
std::string part(const Function& function, const std::string& label) {
  const std::regex begin("^// " + label + " +(.*)");
  std::smatch match;
  for (const std::string& line : function.comment) {
    if (std::regex_match(line, match, begin)) return match[1];
  }
  return "";
}

TEST(HeaderComments, EveryFunctionHasAThreadTag) {
  const std::vector<Function> all = functions();
  ASSERT_GT(all.size(), 50u) << "the scan found almost nothing";
  const std::regex tag("\\[(any|init|serial:[a-z]+)\\].*");
  for (const Function& one : all) {
    EXPECT_TRUE(std::regex_match(part(one, "threads"), tag)) << one.header << ": " << one.name;
  }
}

TEST(HeaderComments, PartsComeInOneOrder) {
  const std::vector<std::string> order = {"returns", "presence", "threads", "since"};
  const std::regex label("^// ([a-z]+) .*");
  for (const Function& one : functions()) {
    const std::string where = one.header + ": " + one.name;
    ASSERT_FALSE(one.comment.empty()) << where;
    EXPECT_TRUE(std::regex_match(one.comment[0], std::regex("^// [A-Z].*")))
        << where << " begins with no sentence";
    EXPECT_EQ(part(one, "since").substr(0, 3), "1.0") << where;
    size_t reached = 0;
    std::smatch match;
    for (const std::string& line : one.comment) {
      if (!std::regex_match(line, match, label)) continue;
      const auto at = std::find(order.begin(), order.end(), match[1].str());
      if (at == order.end()) {
        EXPECT_EQ(reached, 0u) << where << ": an argument after 'returns': " << line;
        continue;
      }
      const size_t rank = static_cast<size_t>(at - order.begin()) + 1;
      EXPECT_GT(rank, reached) << where << ": " << line;
      reached = rank;
    }
  }
}

// The headers and the host agree on which functions may be NULL.
TEST(HeaderComments, PresenceIsThatOfTheHostsList) {
  const std::map<std::string, std::string> header_of = {
      {"plugin", "plugin.h"}, {"device", "device.h"}, {"delegate", "delegate.h"}, {"aot", "aot.h"}};
  const std::regex row("^ETB_(REQUIRED|OPTIONAL)\\(([a-z]+), ([a-z_]+)(?:, ([A-Z_]+))?\\)");
  const std::vector<Function> all = functions();
  std::ifstream in(fs::path(ETB_SOURCE_DIR) / "host/plugin/table_functions.def");
  std::smatch match;
  size_t count = 0;
  for (std::string line; std::getline(in, line);) {
    if (!std::regex_search(line, match, row)) continue;
    const std::string expected = match[1] == "REQUIRED" ? "required" : "optional: " + match[4].str();
    for (const Function& one : all) {
      if (one.header != header_of.at(match[2]) || one.name != match[3]) continue;
      EXPECT_EQ(part(one, "presence").substr(0, expected.size()), expected) << one.header << ": " << one.name;
      ++count;
    }
  }
  EXPECT_EQ(count, 27u) << "functions of table_functions.def found in the headers";
}

// A public header is a specification. An inline implementation is none, and an example counts as neither prose nor code.
TEST(HeaderComments, HalfOfEachHeaderIsProse) {
  for (const fs::path& header : headers()) {
    if (header.filename() == "graph_inline.h") continue;
    std::ifstream in(header);
    size_t prose = 0, code = 0;
    bool is_example = false;
    for (std::string line; std::getline(in, line);) {
      if (line.find_first_not_of(' ') == std::string::npos) continue;
      if (line.rfind("// Example ", 0) == 0) is_example = true;
      if (is_example && (line == "//" || line.rfind("//   ", 0) == 0)) continue;
      if (line.rfind("// ", 0) != 0) is_example = false;
      ++(is_comment(line) || line.find("  // ") != std::string::npos ? prose : code);
    }
    EXPECT_GE(prose, code) << header.filename() << ": " << prose << " lines with a comment, " << code
                           << " without";
  }
}

}  // namespace
