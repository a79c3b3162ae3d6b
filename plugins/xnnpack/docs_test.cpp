// SPDX-License-Identifier: Apache-2.0
// Tests that the tables of docs/xnnpack.md match the plugin (ETB_REBASE=1 rewrites them), and so do the
// options of the manifest.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "plugins/xnnpack/compile/op.hpp"
#include "plugins/xnnpack/payload/payload.hpp"
#include "plugins/xnnpack/plugin.hpp"

namespace etb::xnnpack {
namespace {

const std::string kPage = std::string(ETB_SOURCE_DIR) + "/docs/xnnpack.md";

std::string default_text(const OptionRow& option) {
  switch (option.type) {
    case ETB_OPTION_BOOL:
      return option.default_i64 != 0 ? "true" : "false";
    case ETB_OPTION_I64:
      return std::to_string(option.default_i64);
    default:
      return *option.default_text == '\0' ? "none" : option.default_text;
  }
}

std::string option_table() {
  std::string table = "| option | default | what it does |\n|---|---|---|\n";
  for (const OptionRow& option : XnnpackPlugin::kOptions) {
    table += "| `" + std::string(option.key) + "` | " + default_text(option) + " | " + option.doc;
    for (size_t i = 0; i < option.choices.size(); ++i)
      table += (i == 0 ? " One of `" : ", `") + std::string(option.choices[i]) + "`";
    table += " |\n";
  }
  return table;
}

std::string op_table() {
  std::string table = "| op | types | ranks | int8 | constraint |\n|---|---|---|---|---|\n";
  for (const OpRow& row : op_rows()) {
    std::string dtypes;
    for (const etb_dtype dtype : row.dtypes)
      dtypes += (dtypes.empty() ? "" : ", ") + std::string(dtype_text(dtype));
    const QuantKind kind = find_op(row.op)->quantised;
    table += "| `" + std::string(row.op) + "` | " + dtypes + " | " + std::to_string(row.min_rank) + " to " +
             std::to_string(row.max_rank) + " | " +
             (kind == QuantKind::kComputes ? "yes"
              : kind == QuantKind::kMoves  ? "as it comes"
                                           : "") +
             " | " + row.constraint + " |\n";
  }
  return table;
}

// Lists every node kind of the official schema by number, and XNNPACK's node for it. node_kinds_test.cpp runs
// a payload of each.
std::string kind_table() {
  std::string table = "| number | kind | operator of XNNPACK |\n|---|---|---|\n";
  for (uint8_t number = 1; number <= kXnnOperatorCount; ++number) {
    const auto op = static_cast<XnnOperator>(number);
    const char* told =
        op == XnnOperator::kGlobalAveragePooling2d ? "a mean over height and width"
        : op == XnnOperator::kScaledDotProductAttention
            ? "itself; releases since 2025, which lack it: multiply, batch matrix multiply, add, "
              "softmax, batch matrix multiply"
            : "itself";
    table += "| " + std::to_string(number) + " | " + to_text(op) + " | " + told + " |\n";
  }
  return table;
}

// Returns the page with the text between the two markers of `name` replaced.
std::string with_table(std::string page, const std::string& name, const std::string& table) {
  const std::string begin = "<!-- " + name + " -->\n", end = "<!-- end of " + name + " -->";
  const size_t from = page.find(begin), to = page.find(end);
  if (from == std::string::npos || to == std::string::npos) {
    ADD_FAILURE() << kPage << " lacks the marks of '" << name << "'";
    return page;
  }
  return page.substr(0, from + begin.size()) + table + page.substr(to);
}

TEST(XnnpackPage, HasTheTablesOfThePlugin) {
  std::ostringstream found;
  found << std::ifstream(kPage).rdbuf();
  std::string expected = with_table(found.str(), "options", option_table());
  expected = with_table(expected, "kinds", kind_table());
  expected = with_table(expected, "ops", op_table());
  if (std::getenv("ETB_REBASE") != nullptr) {
    std::ofstream(kPage) << expected;
    return;
  }
  EXPECT_EQ(found.str(), expected) << "rewrite it with ETB_REBASE=1 ctest -R xnnpack_docs";
}

nlohmann::json default_of(const OptionRow& option) {
  switch (option.type) {
    case ETB_OPTION_BOOL:
      return option.default_i64 != 0;
    case ETB_OPTION_I64:
      return option.default_i64;
    default:
      return option.default_text;
  }
}

TEST(XnnpackManifest, HasTheOptionsOfThePlugin) {
  const auto manifest = nlohmann::json::parse(std::ifstream(ETB_XNNPACK_MANIFEST));
  const std::span<const OptionRow> options = XnnpackPlugin::kOptions;
  ASSERT_EQ(manifest.at("options").size(), options.size());
  for (size_t i = 0; i < options.size(); ++i) {
    const nlohmann::json& row = manifest["options"][i];
    EXPECT_EQ(row.at("key"), options[i].key);
    EXPECT_EQ(row.at("doc"), options[i].doc) << options[i].key;
    EXPECT_EQ(row.at("default"), default_of(options[i])) << options[i].key;
    const std::vector<std::string> choices(options[i].choices.begin(), options[i].choices.end());
    EXPECT_EQ(row.value("choices", std::vector<std::string>()), choices) << options[i].key;
  }
}

}  // namespace
}  // namespace etb::xnnpack
