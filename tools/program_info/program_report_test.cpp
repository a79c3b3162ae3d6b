// SPDX-License-Identifier: Apache-2.0
// Tests the report of a program file and its memory timeline.
#include "tools/program_info/program_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tools/pages/page.hpp"
#include "tools/pages/reports.hpp"
#include "tools/program_info/memory_timeline.hpp"
#include "tools/program_info/model_page.hpp"
#include "tools/quantity.hpp"

namespace etb::tools {
namespace {

using testing::HasSubstr;

ProgramFile fixture(const std::string& name) {
  auto file = read_program_file(std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/" + name);
  EXPECT_TRUE(file) << file.error().message;
  return *std::move(file);
}

TEST(ProgramReport, TellsMethodsOperatorsAndMemory) {
  const auto report = report_program(fixture("conv.pte"));
  ASSERT_EQ(report["methods"].size(), 1U);
  const auto& method = report["methods"][0];
  EXPECT_EQ(method["name"], "forward");
  EXPECT_EQ(method["inputs"][0]["sizes"], (std::vector<int>{1, 3, 8, 8}));
  EXPECT_EQ(method["outputs"][0]["sizes"], (std::vector<int>{1, 5}));
  EXPECT_EQ(method["instructions"]["total"], 7);
  EXPECT_EQ(method["operators"].size(), 7U);
  EXPECT_EQ(method["constants"]["count"], 9);  // conv and linear with bias, five of the batch norm
  EXPECT_GT(method["arena_nbytes"][0], 0);
}

TEST(ProgramReport, TellsDelegatesAndNamedData) {
  const auto report = report_program(fixture("xnnpack.pte"));
  const auto& delegate = report["methods"][0]["delegates"][0];
  EXPECT_EQ(delegate["id"], "XnnpackBackend");
  EXPECT_EQ(delegate["location"], "segment");
  EXPECT_GT(delegate["payload_nbytes"], 0);
  EXPECT_GE(report["named_data"].size(), 2U);
  EXPECT_THAT(format_report(report), HasSubstr("delegate XnnpackBackend: payload of"));
}

TEST(ProgramReport, MarksBoundedSizes) {
  EXPECT_THAT(format_report(report_program(fixture("dynamic.pte"))),
              HasSubstr("input 0: float32 [6,3] bounded"));
}

TEST(ModelPage, DrawsEveryPlannedTensorAndFindsThePeak) {
  const ProgramFile file = fixture("conv.pte");
  const auto method = file.view.method(0);
  const auto timeline = trace_memory(method);
  EXPECT_GE(timeline.lives.size(), 6U);
  const auto part = arena_part(method, 1);
  EXPECT_EQ(part["boxes"].size(), timeline.lives.size());
  EXPECT_EQ(part["steps"].size(), timeline.instruction_count);
  // The bytes that some tensor covers, counted one by one at each instruction.
  std::vector<size_t> used;
  for (uint32_t step = 0; step < timeline.instruction_count; ++step) {
    std::vector<bool> is_used(static_cast<size_t>(method.arena_sizes()[1]));
    for (const TensorLife& life : timeline.lives)
      if (life.first <= step && life.last >= step)
        std::fill_n(is_used.begin() + static_cast<ptrdiff_t>(life.offset), life.nbytes, true);
    used.push_back(static_cast<size_t>(std::count(is_used.begin(), is_used.end(), true)));
  }
  const auto peak = std::max_element(used.begin(), used.end());
  EXPECT_EQ(used[part["peak"].get<size_t>()], *peak);
  EXPECT_THAT(part["note"].get<std::string>(),
              HasSubstr(nbytes_text(*peak) + ". The largest tensor then is value "));
}

TEST(ModelPage, AProgramIsAGraphOfItsInstructions) {
  const ProgramFile file = fixture("xnnpack.pte");
  const ModelPage page = program_page(file, report_program(file), {"xnnpack.pte", "", "", "", ""});
  EXPECT_EQ(page.plugins, std::vector<std::string>{"XnnpackBackend"});
  const auto& nodes = page.graphs[0]["nodes"];
  size_t delegates = 0;
  for (const auto& node : nodes) {
    if (!node.contains("plugin")) continue;
    ++delegates;
    EXPECT_EQ(node["op"], "XnnpackBackend");
    EXPECT_FALSE(node["needs"].empty());
    EXPECT_NE(node["spec"], "");
  }
  EXPECT_GE(delegates, 1U);
  EXPECT_EQ(nodes.back()["op"], "output");
  EXPECT_FALSE(nodes.back()["needs"].empty());
  const auto read = pages::read_report(pages::make_page(page.document), "page");
  ASSERT_TRUE(read) << read.error().message;
}

TEST(MemoryTimeline, NeverOverlapsInAddressAndTime) {
  for (const char* name : {"conv.pte", "dynamic.pte", "methods.pte"}) {
    const ProgramFile file = fixture(name);
    const auto lives = trace_memory(file.view.method(0)).lives;
    for (size_t a = 0; a < lives.size(); ++a) {
      for (size_t b = a + 1; b < lives.size(); ++b) {
        const bool in_time = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
        const bool in_space = lives[a].memory_id == lives[b].memory_id &&
                              lives[a].offset < lives[b].offset + lives[b].nbytes &&
                              lives[b].offset < lives[a].offset + lives[a].nbytes;
        // Two values may share one tensor: a view that the plan removed.
        const bool is_same = lives[a].offset == lives[b].offset && lives[a].nbytes == lives[b].nbytes;
        EXPECT_FALSE(in_time && in_space && !is_same)
            << name << ": values " << lives[a].value_index << " and " << lives[b].value_index;
      }
    }
  }
}

TEST(ProgramReport, SaysWhatIsWrongWithOtherFiles) {
  const auto file = read_program_file(std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/external.ptd");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message,
              HasSubstr("external.ptd: program: identifier 'FT01' at byte 4, expected 'ET12'"));
}

}  // namespace
}  // namespace etb::tools
