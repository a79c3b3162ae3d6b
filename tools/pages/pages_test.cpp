// SPDX-License-Identifier: Apache-2.0
// Tests documents, pages, and graphs for other viewers. tests/peer/check_pages.py opens
// pages in a browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "partitioner_sdk/ir/text.hpp"
#include "tools/pages/graph_document.hpp"
#include "tools/pages/page.hpp"
#include "tools/pages/reports.hpp"
#include "tools/pages/weight_tree.hpp"

namespace etb::pages {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x01\xff";

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

Json small_document(const std::string& title = "small") {
  Json document = make_document("run", title, "lead", {"model", "date", "host", "command", "version"});
  document["sections"].push_back(make_table("Rows", "", {{"name", "text", true}, {"time", "us"}},
                                            Json::array({Json::array({title, 3})})));
  return document;
}

ir::Module module_of(const std::string& name) {
  auto module = ir::parse(R"(etg 1
module "forward"
constant "fc.weight": float32[4, 3] = ...
graph @forward {
  parameter %w: float32[4, 3] = "fc.weight" as "fc.weight"
  user %x: float32[2, 3]
  %y: float32[2, 4] = aten.linear.default(%x, %w) at "model.py":3 in "forward" of "fc"
  %)" + name + R"(: float32[2, 4] = aten.relu.default(%y)
  return %)" + name + R"(
}
)");
  EXPECT_TRUE(module) << (module ? "" : module.error().message);
  return module ? std::move(*module) : ir::Module();
}

TEST(Page, TextOfFilesIsNeverMarkup) {
  Json document = small_document(kHostile);
  document["warnings"].push_back(kHostile);
  const std::string page = make_page(document);
  EXPECT_EQ(count_of(page, "<script"), 2u);  // data and script
  EXPECT_EQ(count_of(page, "</script>"), 2u);
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<img")), Not(HasSubstr("alert(1)</script>")),
                          HasSubstr("<title>&lt;/script&gt;")));
  EXPECT_EQ(page.find('\x01'), std::string::npos);
  EXPECT_EQ(page.find('\xff'), std::string::npos);
}

TEST(Page, LoadsNothing) {
  const std::string page = make_page(small_document());
  EXPECT_THAT(page, AllOf(HasSubstr("default-src 'none'; script-src 'sha256-"),
                          HasSubstr("style-src 'sha256-"), HasSubstr("</html>")));
  for (const char* part : {" src=", "href=\"http", "@import", "url(", "fetch(", "XMLHttpRequest", "import(",
                           "WebSocket", "eval(", "onclick=\"", "innerHTML ="})
    EXPECT_THAT(page, Not(HasSubstr(part)));
  EXPECT_LT(page.size(), 260000u);
  EXPECT_EQ(page, make_page(small_document()));
}

TEST(Page, HasTheLicenceOfWhatItContains) {
  const std::string page = make_page(small_document());
  if (page.find("d3js.org/d3-zoom/") == std::string::npos) GTEST_SKIP() << "this build has no D3";
  for (const char* text : {"Mike Bostock", "Redistributions in binary form must reproduce", "AS IS",
                           "SPDX-License-Identifier: Apache-2.0"})
    EXPECT_THAT(page, HasSubstr(text));
}

TEST(Page, ADocumentIsReadBack) {
  const Json document = small_document("<b> & \u2028");
  const auto read = read_report(make_page(document), "page.html");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, document);
}

TEST(ModuleGraph, HasInputsConstantsSourcesAndNeeds) {
  const Json graphs = module_graphs(module_of("r"));
  ASSERT_EQ(graphs.size(), 1u);
  const Json& nodes = graphs[0]["nodes"];
  ASSERT_EQ(nodes.size(), 4u) << graphs.dump(1);
  EXPECT_EQ(nodes[0]["op"], "input");
  EXPECT_EQ(nodes[0]["spec"], "float32[2, 3]");
  EXPECT_EQ(nodes[1]["op"], "aten.linear.default");
  EXPECT_EQ(nodes[1]["constants"], Json::array({"weight: fc.weight float32[4, 3]"}));
  EXPECT_EQ(nodes[1]["needs"], Json::array({0}));
  EXPECT_EQ(nodes[1]["source"], "model.py:3 in forward");
  EXPECT_EQ(nodes[1]["module"], "fc");
  EXPECT_EQ(nodes[2]["needs"], Json::array({1}));
  EXPECT_EQ(nodes[3]["op"], "output");
  EXPECT_EQ(nodes[3]["needs"], Json::array({2}));
}

Json hostile_graphs() {
  Json graphs = module_graphs(module_of("r"));
  graphs[0]["name"] = kHostile;
  Json& node = graphs[0]["nodes"][1];
  node["op"] = std::string("a\\\"b\n") + kHostile;
  node["module"] = "x.y/z." + std::string(kHostile);
  node["plugin"] = 0;
  node["reasons"] = Json::array({Json::array({"p", "why", kHostile})});
  return graphs;
}

TEST(Dot, QuotesAndKeepsBracesInPairs) {
  const std::string dot = to_dot(hostile_graphs(), {"npu"});
  EXPECT_THAT(dot, AllOf(HasSubstr("digraph model {"), HasSubstr("g0n0 -> g0n1;"), HasSubstr("g0n1 -> g0n2;"),
                         HasSubstr("a\\\\\\\"b\\n")));
  // Outside of strings, braces are in pairs and quotes are closed.
  int depth = 0;
  bool is_string = false;
  for (size_t i = 0; i < dot.size(); ++i) {
    if (is_string && dot[i] == '\\')
      ++i;
    else if (dot[i] == '"')
      is_string = !is_string;
    else if (!is_string)
      depth += dot[i] == '{' ? 1 : dot[i] == '}' ? -1 : 0;
    ASSERT_GE(depth, 0);
  }
  EXPECT_EQ(depth, 0);
  EXPECT_FALSE(is_string);
  EXPECT_EQ(dot.find('\xff'), std::string::npos);
}

TEST(ModelExplorer, EdgesLeadToNodes) {
  const Json document = Json::parse(to_model_explorer("m", hostile_graphs(), {"npu"}));
  EXPECT_EQ(document["label"], "m");
  const Json& nodes = document["graphs"][0]["nodes"];
  ASSERT_EQ(nodes.size(), 4u);
  std::set<std::string> ids;
  for (const Json& node : nodes) EXPECT_TRUE(ids.insert(node["id"].get<std::string>()).second);
  size_t edges = 0;
  for (const Json& node : nodes)
    for (const Json& edge : node["incomingEdges"]) {
      ++edges;
      EXPECT_EQ(ids.count(edge["sourceNodeId"].get<std::string>()), 1u);
    }
  EXPECT_EQ(edges, 3u);
  EXPECT_THAT(nodes[1]["namespace"].get<std::string>(), testing::StartsWith("x/y_z/"));
  EXPECT_EQ(nodes[0]["outputsMetadata"][0]["attrs"][0]["value"], "float32[2, 3]");
}

TEST(WeightTree, FollowsTheNames) {
  const Json tree =
      weight_tree({{"a.b.weight", "f", 10}, {"a.b.bias", "f", 2}, {"a.b", "f", 5}, {"c", "f", 1}});
  const std::function<uint64_t(const Json&)> sum = [&](const Json& node) {
    uint64_t total = node.value("value", uint64_t{0});
    if (node.contains("children"))
      for (const Json& child : node["children"]) total += sum(child);
    return total;
  };
  EXPECT_EQ(sum(tree), 18u);
  EXPECT_EQ(tree["children"][0]["name"], "a");
  EXPECT_EQ(tree["children"][0]["children"][0]["children"].size(), 2u);
  const Json deep = weight_tree({{std::string(100000, '.'), "", 1}});
  EXPECT_EQ(sum(deep), 1u);
  EXPECT_LT(deep.dump().size(), 110000u);
}

format::EtdumpEvent event(const char* name, int32_t instruction, uint64_t begin, uint64_t end,
                          const char* inside = "") {
  format::EtdumpEvent out;
  out.name = name;
  out.chain_index = instruction < 0 ? -1 : 0;
  out.instruction_index = instruction;
  out.delegate_debug_name = inside;
  out.begin_ns = begin;
  out.end_ns = end;
  return out;
}

TEST(RunPage, EventsOfAnotherClockBeginWithTheirCall) {
  format::EtdumpBlock block;
  block.name = "Execute";
  block.events = {event("native_call_add.out", 0, 1000, 2000), event("OPERATOR_CALL", 0, 1000, 2000),
                  event("", 1, 77000000, 77001000, "conv"),    event("", 1, 77001000, 77003000, "relu"),
                  event("DELEGATE_CALL", 1, 3000, 9000),       event("Method::execute", -1, 900, 9100)};
  const std::vector<format::EtdumpBlock> blocks = {block};
  RunProfile profile;
  profile.block = "Execute";
  profile.run_count = 1;
  profile.run_us = 8.2;
  profile.rows = {{"add.out", "0", "", false, 1, 1, 1, 1, 1, 1, "add", "net.a", "m.py:1"},
                  {"DELEGATE_CALL", "1", "npu", false, 6, 6, 6, 6, 6, 1, "", "", ""},
                  {"conv", "1", "npu", true, 1, 1, 1, 1, 1, 1, "", "net.b", "m.py:2"},
                  {"relu", "1", "npu", true, 2, 2, 2, 2, 2, 1, "", "net.b", "m.py:2"}};
  profile.lines = {{"m.py:2", "conv, relu", 3}, {"m.py:1", "add", 1}};
  const Json document = run_document(profile, blocks, {});
  ASSERT_TRUE(read_report(make_page(document), "run.html"));
  std::map<std::string, Json> parts;
  for (const Json& part : document["sections"]) parts[part["title"].get<std::string>()] = part;
  const Json& lanes = parts["Timeline"]["lanes"];
  ASSERT_EQ(lanes.size(), 2u);
  EXPECT_EQ(lanes[0]["events"][0], Json::array({"add.out", 0.1, 1.0, "instruction 0", "m.py:1", ""}))
      << "the run begins at 0";
  EXPECT_EQ(lanes[1]["events"][0][1], 2.1);  // with the call
  EXPECT_EQ(lanes[1]["events"][1][1], 3.1);
  EXPECT_EQ(parts["Hot lines"]["rows"][0]["name"], "m.py:2");
  EXPECT_EQ(parts["Hot lines"]["rows"][0]["value"], 3.0);
  EXPECT_EQ(parts["Time by module"]["root"]["children"][0]["name"], "net");
}

TEST(RunPage, MemoryIsDrawnOverTheTimeOfARun) {
  format::EtdumpBlock load;
  load.name = "Default";
  load.allocators = {"method allocator"};
  load.allocations = {{0, 500, 1}};
  format::EtdumpBlock block;
  block.name = "Execute";
  block.events = {event("native_call_add.out", 0, 1000, 2000), event("OPERATOR_CALL", 0, 1000, 2000),
                  event("native_call_mul.out", 1, 3000, 4000), event("OPERATOR_CALL", 1, 3000, 4000),
                  event("Method::execute", -1, 900, 9100)};
  for (uint32_t i = 0; i < block.events.size(); ++i) block.events[i].position = 10 * (i + 1);
  block.allocators = {"temp allocator", "output allocator"};
  block.allocations = {{0, 64, 5}, {0, 16, 25}, {1, 8, 45}, {7, 1, 99}};  // the last one has no name
  const std::vector<format::EtdumpBlock> blocks = {load, block, block};
  RunProfile profile;
  profile.block = "Execute";
  profile.skip = 1;
  const Json document = run_document(profile, blocks, {});
  const auto read = read_report(make_page(document), "run.html");
  ASSERT_TRUE(read) << read.error().message;
  const Json& lanes = document["sections"][0]["lanes"];
  ASSERT_EQ(lanes.size(), 4u);
  EXPECT_EQ(lanes[1]["name"], "memory: allocator 7");
  EXPECT_EQ(lanes[2]["name"], "memory: output allocator");
  EXPECT_EQ(lanes[3]["name"], "memory: temp allocator");
  EXPECT_EQ(lanes[3]["levels"],
            Json::parse(R"([[0.0, 0, 0, "begin of the run"], [0.1, 64, 64, "instruction 0"],
                            [1.1, 0, 0, "end of the instruction"], [2.1, 16, 16, "instruction 1"],
                            [3.1, 0, 0, "end of the instruction"], [8.2, 0, 0, "end of the run"]])"))
      << "scratch ends with its instruction";
  EXPECT_EQ(lanes[2]["levels"],
            Json::parse(R"([[0.0, 0, 0, "begin of the run"], [3.1, 8, 8, "Method::execute"],
                                                [8.2, 0, 0, "end of the run"]])"));
  const Json& table = document["sections"][1];
  EXPECT_EQ(table["title"], "Memory by allocator");
  EXPECT_EQ(table["rows"][0], Json::parse(R"(["Default", "method allocator", 1, 1, 500, 500])"));
  EXPECT_EQ(table["rows"][3], Json::parse(R"(["Execute", "temp allocator", 2, 4, 160, 80])"));
}

// Two runs of one instruction from 1000 to 2000 ns, with these allocations. Position 35 is after the last event.
Json document_with_memory(std::vector<format::EtdumpAllocation> allocations) {
  format::EtdumpBlock block;
  block.name = "Execute";
  block.events = {event("native_call_add.out", 0, 1000, 2000), event("OPERATOR_CALL", 0, 1000, 2100),
                  event("Method::execute", -1, 900, 9100)};
  for (uint32_t i = 0; i < block.events.size(); ++i) block.events[i].position = 10 * (i + 1);
  block.allocators = {"temp allocator", "output allocator"};
  block.allocations = std::move(allocations);
  const std::vector<format::EtdumpBlock> blocks = {block, block};
  RunProfile profile;
  profile.block = "Execute";
  return run_document(profile, blocks, {});
}

TEST(RunPage, NoLevelOfMemoryBeginsBeforeTheLastOne) {
  const Json document =
      document_with_memory({{0, 64, 5}, {0, 16, 35}, {0, 8, 36}});  // two after the last event
  const Json& levels = document["sections"][0]["lanes"][1]["levels"];
  Json first_run = Json::array();
  for (size_t i = 0; i < levels.size() / 2; ++i) first_run.push_back(levels[i]);
  EXPECT_EQ(first_run, Json::parse(R"([[0.0, 0, 0, "begin of the run"], [0.1, 64, 64, "instruction 0"],
                                       [1.2, 0, 0, "end of the instruction"], [8.2, 16, 16, ""], [8.2, 24, 8, ""],
                                       [8.2, 0, 0, "end of the instruction"], [8.2, 0, 0, "end of the run"]])"));
  EXPECT_TRUE(document["warnings"].empty());
}

TEST(RunPage, LevelsOfMemoryAreBounded) {
  const Json document = document_with_memory(std::vector<format::EtdumpAllocation>(40000, {1, 8, 25}));
  const Json& lanes = document["sections"][0]["lanes"];
  EXPECT_EQ(lanes[0]["events"].size(), 4u) << "events of both runs";
  EXPECT_EQ(lanes[1]["levels"].size(), 60000u);
  ASSERT_EQ(document["warnings"].size(), 1u);
  EXPECT_EQ(document["warnings"][0],
            "the timeline has the first 60000 levels of memory; the other parts have all");
}

TEST(ReadReport, RefusesWhatIsNoDocument) {
  const auto refusal = [](const std::string& bytes) {
    const auto read = read_report(bytes, "x.html");
    return read ? std::string("accepted") : read.error().message;
  };
  EXPECT_THAT(refusal(""), HasSubstr("'x.html': found no document in it, expected a page of etbackend"));
  EXPECT_THAT(refusal("<script type=\"application/json\" id=\"document\">{"), HasSubstr("has no end"));
  EXPECT_THAT(refusal("{"), HasSubstr("no JSON object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("found no list 'variants'"));
  EXPECT_THAT(refusal("{\"page\":" + std::string(200, '[') + std::string(200, ']') + "}"),
              HasSubstr("nested more than 80 deep"));
  const auto broken = [&](const std::function<void(Json&)>& change) {
    Json document = small_document();
    change(document);
    return refusal(make_page(document));
  };
  EXPECT_THAT(broken([](Json& d) { d["title"] = 3; }), HasSubstr("title: found number, expected a text"));
  EXPECT_THAT(broken([](Json& d) { d["sections"][0]["rows"][0].push_back(1); }),
              HasSubstr("sections[0].rows: found array, expected a list of 2 cells"));
  EXPECT_THAT(broken([](Json& d) {
                d["sections"][0] = make_part("timeline", "Timeline");
                d["sections"][0]["lanes"] =
                    Json::parse(R"([{"name": "a", "events": [], "levels": [[0, 1, "2", ""]]}])");
              }),
              HasSubstr("sections[0].levels: found string, expected a number"));
  EXPECT_THAT(broken([](Json& d) { d["sections"][0]["kind"] = "video"; }),
              HasSubstr("expected a known kind of part"));
  EXPECT_THAT(broken([](Json& d) {
                Json part = graph_part(module_graphs(module_of("r")), {}, "");
                part["graphs"][0]["nodes"][1]["needs"] = {9};
                d["sections"].push_back(part);
              }),
              HasSubstr("sections[1].nodes[1].needs: found number, expected a number below 4"));
  EXPECT_THAT(broken([](Json& d) { d["page"] = "compare"; }),
              HasSubstr("found a comparison, expected a report"));
}

TEST(Compare, NeedsTwoOfOneKind) {
  Json other = small_document();
  other["page"] = "verify";
  const auto refused = compare_documents(small_document(), other, "a.html", "b.html", {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("'a.html' is a page of kind 'run' and 'b.html' of kind 'verify'"));
  const auto both = compare_documents(small_document(), small_document("other"), "a.html", "b.html", {});
  ASSERT_TRUE(both);
  EXPECT_EQ((*both)["sides"].size(), 2u);
  EXPECT_EQ((*both)["page"], "compare");
}

TEST(Compare, TakesReportsOfBench) {
  const auto bench = read_report(
      R"({"date":"d","variants":[{"label":"xnnpack","status":"ok","median_us":3.5,"file_bytes":10},{"label":"bad","status":"error","error":{"message":"no"}}]})",
      "b.json");
  ASSERT_TRUE(bench) << bench.error().message;
  EXPECT_EQ((*bench)["page"], "bench");
  EXPECT_EQ((*bench)["warnings"], Json::array({"bad: no"}));
  EXPECT_TRUE(read_report(make_page(*bench), "b.html"));
}

}  // namespace
}  // namespace etb::pages
