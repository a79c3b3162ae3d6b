// SPDX-License-Identifier: Apache-2.0
// Tests the options that write pages and graphs: info, graph, inspect, compare.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "host/testing/scratch_dir.hpp"
#include "tools/pages/reports.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using host::ScratchDir;
using testing::HasSubstr;

const std::string kSource = ETB_SOURCE_DIR;
const std::string kArchive = kSource + "/tests/fixtures/zoo/autoencoder.pt2";

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Returns the document of a page, which must be valid.
pages::Json document_of(const std::string& path) {
  auto document = pages::read_report(text_of(path), path);
  EXPECT_TRUE(document) << document.error().message;
  return document ? *document : pages::Json();
}

TEST(Pages, InfoWritesAnArchiveForThreeViewers) {
  const ScratchDir dir;
  const CliRun run = cli({"info", kArchive, "--html", dir.path("m.html"), "--dot", dir.path("m.dot"),
                          "--model-explorer", dir.path("m.json")});
  ASSERT_EQ(run.exit, 0) << run.err;
  const pages::Json document = document_of(dir.path("m.html"));
  EXPECT_EQ(document["page"], "model");
  EXPECT_EQ(document["facts"][0], pages::Json::array({"model", kArchive}));
  EXPECT_THAT(text_of(dir.path("m.dot")), HasSubstr("digraph model {"));
  const auto explorer = nlohmann::json::parse(text_of(dir.path("m.json")));
  EXPECT_EQ(explorer["graphs"][0]["nodes"].size(), document["sections"][0]["graphs"][0]["nodes"].size());
  const CliRun dot = cli({"info", kArchive, "--dot", "-"});
  EXPECT_EQ(dot.out, text_of(dir.path("m.dot")));
  EXPECT_THAT(dot.err, HasSubstr("autoencoder.pt2"));
}

// The template plugin runs additions of two float tensors only.
TEST(Pages, InfoAsksPluginsAboutAnArchive) {
  const ScratchDir dir;
  const CliRun run =
      cli({"--plugin-path", ETB_PLUGIN_DIR, "info", kSource + "/tests/fixtures/zoo/mobilenet_v2.pt2", "-b",
           "my_npu", "--html", dir.path("m.html")});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("my_npu would run 3 of 50 nodes, in 3 regions\n"));
  const pages::Json document = document_of(dir.path("m.html"));
  EXPECT_EQ(document["page"], "model");
  EXPECT_EQ(document["plugins"], pages::Json::array({"my_npu"}));
  size_t delegated = 0, rejected = 0;
  for (const auto& node : document["sections"][0]["graphs"][0]["nodes"]) {
    delegated += node.contains("plugin");
    rejected += node.contains("reasons");
  }
  EXPECT_EQ(delegated, 3u);
  EXPECT_EQ(rejected, 47u);
  EXPECT_EQ(document["sections"][1]["title"], "Commonest reasons");
  const auto json = nlohmann::json::parse(
      cli({"--plugin-path", ETB_PLUGIN_DIR, "info", kArchive, "-b", "my_npu", "--json"}).out);
  EXPECT_EQ(json["delegation"]["plugins"][0]["name"], "my_npu");
  EXPECT_EQ(cli({"info", kArchive, "-b", "no_such_plugin"}).exit, 3);
  EXPECT_THAT(cli({"info", "my_npu", "-b", "my_npu"}).err,
              HasSubstr("--backend asks plugins about an archive (.pt2), 'my_npu' is none"));
}

TEST(Pages, GraphWritesAStageInsteadOfItsText) {
  const ScratchDir dir;
  const CliRun run = cli({"graph", kArchive, "--after", "decompose", "--html", dir.path("g.html")});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("wrote " + dir.path("g.html")));
  EXPECT_EQ(document_of(dir.path("g.html"))["sections"][0]["kind"], "graph");
  // An image, and the text of a stage.
  ASSERT_EQ(cli({"graph", kArchive, "--after", "image", "-o", dir.path("m.etg")}).exit, 0);
  ASSERT_EQ(cli({"graph", kArchive, "-o", dir.path("m.txt")}).exit, 0);
  for (const char* name : {"m.etg", "m.txt"}) {
    const CliRun again = cli({"graph", dir.path(name), "--html", dir.path("again.html")});
    ASSERT_EQ(again.exit, 0) << again.err;
    EXPECT_GT(document_of(dir.path("again.html"))["sections"][0]["graphs"][0]["nodes"].size(), 5u) << name;
  }
}

TEST(Pages, InspectWritesARun) {
  const ScratchDir dir;
  const std::string file = kSource + "/tests/fuzz/etdump/official_xnnpack_add.etdp";
  const CliRun run = cli({"inspect", file, "--html", dir.path("run.html")});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("DELEGATE_CALL"));
  const pages::Json document = document_of(dir.path("run.html"));
  EXPECT_EQ(document["page"], "run");
  const pages::Json& lanes = document["sections"][0]["lanes"];
  ASSERT_EQ(lanes.size(), 2u);
  EXPECT_EQ(lanes[1]["events"][0][0], "Add (ND) #1");
}

TEST(Pages, ComparesTwoOfOneKind) {
  const ScratchDir dir;
  ASSERT_EQ(cli({"info", kArchive, "--html", dir.path("a.html")}).exit, 0);
  const std::string program = kSource + "/tests/fixtures/programs/add.pte";
  ASSERT_EQ(cli({"info", program, "--html", dir.path("b.html")}).exit, 0);
  const CliRun same = cli({"compare", dir.path("a.html"), dir.path("a.html"), "-o", dir.path("c.html")});
  EXPECT_EQ(same.exit, 0) << same.err;
  EXPECT_THAT(text_of(dir.path("c.html")), HasSubstr("\"page\":\"compare\""));
  const CliRun other = cli({"compare", dir.path("a.html"), dir.path("b.html"), "-o", "-"});
  EXPECT_EQ(other.exit, 2);
  EXPECT_THAT(other.err, HasSubstr("is a page of kind 'model' and"));
  const CliRun none = cli({"compare", dir.path("a.html"), kArchive, "-o", "-"});
  EXPECT_THAT(none.err, HasSubstr("found no document in it, expected a page of etbackend"));
  EXPECT_EQ(none.out, "");
}

}  // namespace
}  // namespace etb::tools
