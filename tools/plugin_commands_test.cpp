// SPDX-License-Identifier: Apache-2.0
// Tests list, info and explain in small environments of plugins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "host/testing/plugin_fixture.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using host::PluginFixture;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string library(const char* name) { return std::string(ETB_BROKEN_DIR) + "/" + name + ".so"; }

// Plugins of the build tree are found, too. These tests read only their own.
json own_plugin(const std::string& text, const std::string& id = "com.example.broken") {
  const json document = json::parse(text);
  for (const json& plugin : document["plugins"])
    if (plugin["id"] == id) return plugin;
  return nullptr;
}

TEST(ListCommand, ShowsWhatWouldLoadAndWhatWouldNot) {
  PluginFixture fixture;
  fixture.add("a", library("good"));
  fixture.add("b", library("good"), {{"id", "com.example.other"}});
  const CliRun run = cli({"list", "--plugin-path", fixture.path("a"), "--plugin-path", fixture.path("b")});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(
      run.out,
      AllOf(HasSubstr("com.example.broken"), HasSubstr("unchecked"), HasSubstr(fixture.path("a/plugin.json")),
            HasSubstr("REFUSED"),
            HasSubstr("    ident.manifest: id 'com.example.broken' in the library, 'com.example.other'")));
}

TEST(ListCommand, RunsNoPluginCode) {
  PluginFixture fixture;
  fixture.add("a", library("crashes_in_query"));
  EXPECT_EQ(own_plugin(cli({"list", "--json", "--plugin-path", fixture.path("a")}).out)["usable"], true);
}

TEST(ListCommand, DevicesTriesEachInAChild) {
  PluginFixture fixture;
  fixture.add("a", library("good"));
  const json plugin =
      own_plugin(cli({"list", "--devices", "--json", "--plugin-path", fixture.path("a")}).out);
  EXPECT_EQ(plugin["devices"][0]["kind"], "npu");
  EXPECT_EQ(plugin["devices"][0]["name"], "Broken One");
}

TEST(ListCommand, DevicesSurvivesCrashAndHang) {
  PluginFixture crash, hang;
  crash.add("a", library("crashes_in_query"));
  hang.add("a", library("hangs_at_load"));
  const json crashed = own_plugin(cli({"list", "--devices", "--json", "--plugin-path", crash.path("a")}).out);
  EXPECT_EQ(crashed["problem"]["reason"], "child.crashed");
  const json hung = own_plugin(
      cli({"list", "--devices", "--json", "--deadline-ms", "300", "--plugin-path", hang.path("a")}).out);
  EXPECT_EQ(hung["problem"]["reason"], "child.deadline");
}

TEST(ListCommand, DevicesHaveEveryFieldInOneOrder) {
  PluginFixture fixture;
  fixture.add("a", library("good"));
  const CliRun run = cli({"list", "--devices", "--plugin-path", fixture.path("a")});
  EXPECT_THAT(run.out,
              HasSubstr("    device npu 'Broken One'  memory 1 KiB  free 512 bytes  driver 1.0  uuid "
                        "07000000000000000000000000000000\n"));
  const json plugin =
      own_plugin(cli({"list", "--devices", "--json", "--plugin-path", fixture.path("a")}).out);
  EXPECT_EQ(plugin["devices"][0]["memory_free_bytes"], 512);
}

// A machine without the driver of a plugin is no failure. The list says what to install.
TEST(ListCommand, APluginWithoutADeviceHasAReasonAndAHint) {
  PluginFixture fixture;
  fixture.add("a", library("no_device"));
  const CliRun run = cli({"list", "--devices", "--plugin-path", fixture.path("a")});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("    no device: no driver\\x1b[31m\n    hint: install one\n"));
  const json plugin =
      own_plugin(cli({"list", "--devices", "--json", "--plugin-path", fixture.path("a")}).out);
  EXPECT_EQ(plugin["no_device"]["hint"], "install one");
}

TEST(ListCommand, HasTheNamesThatAUserTypes) {
  PluginFixture fixture;
  fixture.add("a", library("good"));
  const std::string out = cli({"list", "--plugin-path", fixture.path("a")}).out;
  EXPECT_THAT(out.substr(0, out.find('\n')), HasSubstr("ALIAS"));
  EXPECT_THAT(out, testing::ContainsRegex("com.example.broken +broken +1.2.3 "));
}

// Refused plugins and errors end in a remedy.
TEST(PluginCommands, ReasonsHaveHints) {
  PluginFixture fixture;
  fixture.add("a", library("good"));
  fixture.add("b", library("good"), {{"version", "9.9.9"}});
  const std::string path = fixture.path("b");
  const std::string hint = "hint: install library and manifest of one version";
  EXPECT_THAT(cli({"list", "--plugin-path", path}).out, HasSubstr("    " + hint));
  EXPECT_THAT(cli({"info", "broken", "--plugin-path", path}).out, HasSubstr("\n" + hint));
  const CliRun explain = cli({"explain", "broken", "--plugin-path", path});
  EXPECT_THAT(explain.out, HasSubstr("   " + hint));
  EXPECT_THAT(explain.err, HasSubstr("  " + hint));
  EXPECT_EQ(own_plugin(cli({"list", "--json", "--plugin-path", path}).out)["problem"]["hint"],
            hint.substr(hint.find(' ') + 1));
  EXPECT_THAT(cli({"explain", "no-such-plugin"}).err, HasSubstr("  hint: `etbackend list --places`"));
  EXPECT_THAT(
      cli({"explain", "BrokenBackend", "--payload-version", "9", "--plugin-path", fixture.path("a")}).err,
      HasSubstr("hint: compile the program again"));
}

TEST(ListCommand, DigestsAreCheckedOnRequest) {
  PluginFixture fixture;
  fixture.add("a", library("good"));
  EXPECT_EQ(
      own_plugin(cli({"list", "--digests", "--json", "--plugin-path", fixture.path("a")}).out)["digest"],
      "matches");
}

TEST(ListCommand, WarnsOfARefusedFolder) {
  PluginFixture fixture;
  fixture.add("a", library("good"));
  ::chmod(fixture.path("a").c_str(), 0777);
  const CliRun run = cli({"list", "--plugin-path", fixture.path("a")});
  EXPECT_EQ(run.exit, 0);
  EXPECT_THAT(run.err, AllOf(HasSubstr("warning: application " + fixture.path("a")),
                             HasSubstr("writable by everybody")));
}

TEST(ListCommand, FollowsTheEnvironmentButNotInSecureMode) {
  PluginFixture fixture;
  fixture.add("a", library("good"));
  ::setenv("ETBACKEND_PATH", fixture.path("a").c_str(), 1);
  EXPECT_EQ(own_plugin(cli({"list", "--json"}).out)["tier"], "environment");
  EXPECT_EQ(own_plugin(cli({"list", "--json", "--secure"}).out), nullptr);
  ::unsetenv("ETBACKEND_PATH");
}

TEST(InfoCommand, PrintsAllOfAManifest) {
  PluginFixture fixture;
  fixture.add("a", library("good"), {{"description", "Does nothing."}, {"x_unknown", 1}});
  const CliRun run = cli({"info", "broken", "--plugin-path", fixture.path("a")});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("state: would load"), HasSubstr("digest: matches"),
                    HasSubstr("description: Does nothing."), HasSubstr("provides[0].payload_versions: [1,3]"),
                    HasSubstr("warning: manifest: unknown key x_unknown")));
  const json manifest =
      json::parse(cli({"info", "broken", "--json", "--plugin-path", fixture.path("a")}).out);
  EXPECT_EQ(manifest["id"], "com.example.broken");
}

TEST(InfoCommand, NamesEveryFaultOfAnInvalidManifest) {
  PluginFixture fixture;
  fixture.add("a", library("good"), {{"version", "1"}, {"vendor", ""}});
  const CliRun run = cli({"info", "com.example.broken", "--plugin-path", fixture.path("a")});
  EXPECT_EQ(run.exit, static_cast<int>(ExitCode::INVALID_INPUT));
  EXPECT_THAT(run.out, AllOf(HasSubstr("fault: version: found '1'"), HasSubstr("fault: vendor: found ''")));
}

TEST(InfoCommand, UnknownNameIsNotFound) {
  PluginFixture fixture;
  fixture.add("a", library("good"));
  const CliRun run = cli({"info", "BrokenBackedn", "--plugin-path", fixture.path("a")});
  EXPECT_EQ(run.exit, static_cast<int>(ExitCode::NOT_FOUND));
  EXPECT_THAT(run.err, AllOf(HasSubstr("nearest: BrokenBackend"),
                             HasSubstr("searched: application " + fixture.path("a") + ": 1 manifest")));
}

TEST(ExplainCommand, NamesTheRuleAndTheOthers) {
  PluginFixture fixture;
  fixture.add("a", library("good"));
  fixture.add("b", library("good"));
  const CliRun run = cli(
      {"explain", "BrokenBackend", "--plugin-path", fixture.path("a"), "--plugin-path", fixture.path("b")});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("BrokenBackend: matched by provides"), HasSubstr("chosen, only candidate"),
                    HasSubstr("refused, policy.shadowed: shadowed by " + fixture.path("a/plugin.json"))));
}

TEST(ExplainCommand, LoadShowsWhatCameWithThePlugin) {
  PluginFixture fixture;
  fixture.add("a", library("good"));
  EXPECT_THAT(cli({"explain", "broken", "--load", "--plugin-path", fixture.path("a")}).out,
              HasSubstr("loads:\n    " + fixture.path("a/good.so")));
}

TEST(ExplainCommand, JsonIsTheRecordEvenWithoutAWinner) {
  PluginFixture fixture;
  fixture.add("a", library("good"));
  const CliRun run = cli(
      {"explain", "BrokenBackend", "--json", "--payload-version", "9", "--plugin-path", fixture.path("a")});
  EXPECT_EQ(run.exit, static_cast<int>(ExitCode::REFUSED));
  EXPECT_EQ(json::parse(run.out)["candidates"][0]["refusal"]["reason"], "payload.unsupported");
}

TEST(ExplainCommand, NoAliasIsForNamesFromPrograms) {
  PluginFixture fixture;
  fixture.add("a", library("good"));
  EXPECT_EQ(cli({"explain", "broken", "--plugin-path", fixture.path("a")}).exit, 0);
  EXPECT_EQ(cli({"explain", "broken", "--no-alias", "--plugin-path", fixture.path("a")}).exit,
            static_cast<int>(ExitCode::NOT_FOUND));
}

TEST(PluginCommands, ErrorsDriveNoTerminal) {
  EXPECT_THAT(cli({"explain", "\x1b[2J"}).err, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace etb::tools
