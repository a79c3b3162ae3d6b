// SPDX-License-Identifier: Apache-2.0
// Tests of the parts that all commands share: wrong words, help, version, completion, man pages, configuration files, colours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using host::ScratchDir;
using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kAdd = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/add.pte";

TEST(CliFrame, NamesAWrongCommandAndTheNearest) {
  const CliRun run = cli({"lst"});
  EXPECT_EQ(run.exit, 2);
  EXPECT_THAT(run.err, HasSubstr("unknown command 'lst'; did you mean 'list'?"));
  EXPECT_THAT(cli({"zzzzzz"}).err,
              AllOf(HasSubstr("unknown command 'zzzzzz'"), Not(HasSubstr("did you mean"))));
}

TEST(CliFrame, NamesAWrongOptionAndTheNearest) {
  const CliRun run = cli({"list", "--jsn"});
  EXPECT_EQ(run.exit, 2);
  EXPECT_THAT(run.err, HasSubstr("unknown option '--jsn' of 'list'; did you mean '--json'?"));
  EXPECT_THAT(cli({"run", kAdd, "--reapet=3"}).err,
              HasSubstr("unknown option '--reapet' of 'run'; did you mean '--repeat'?"));
  EXPECT_EQ(cli({"run", kAdd, "--input", "-1", "--input", "2"}).err.find("unknown option"),
            std::string::npos);
}

TEST(CliFrame, HelpIsGroupedAndHasExamples) {
  const CliRun all = cli({"help"});
  EXPECT_EQ(all.exit, 0);
  EXPECT_THAT(all.out, AllOf(HasSubstr("Run programs:"), HasSubstr("Write plugins:"), HasSubstr("Examples:"),
                             Not(HasSubstr("man "))));
  const CliRun run = cli({"help", "run"});
  EXPECT_THAT(run.out, AllOf(HasSubstr("Inputs:"), HasSubstr("Limits:"), HasSubstr("--input-shapes"),
                             HasSubstr("etbackend run model.pte")));
  EXPECT_EQ(cli({"run", "--help"}).out, run.out);
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  const CliRun wrong = cli({"help", "rnu"});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_THAT(wrong.err, HasSubstr("nearest: run"));
}

TEST(CliFrame, EachCommandHasExamplesThatItAccepts) {
  std::istringstream lines(cli({"help"}).out);
  size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (line.rfind("  ", 0) != 0 || line[2] == ' ' || line[2] == '-' || name == "etbackend") continue;
    ++count;
    EXPECT_THAT(cli({"help", name}).out, HasSubstr("Examples:\n  etbackend " + name)) << name;
  }
  EXPECT_GE(count, 11U);
}

TEST(CliFrame, WithoutArgumentsHelpIsAnError) {
  const CliRun run = cli({});
  EXPECT_EQ(run.exit, 2);
  EXPECT_THAT(run.err, HasSubstr("Usage: etbackend"));
}

TEST(CliFrame, VersionSaysWhatWasBuilt) {
  const CliRun run = cli({"--version"});
  EXPECT_EQ(run.exit, 0);
  EXPECT_THAT(run.out, testing::ContainsRegex("commit   ([0-9a-f]+|unknown|.*-g[0-9a-f]+)\n"));
  EXPECT_THAT(run.out, AllOf(HasSubstr("\nXNNPACK  "), HasSubstr("\nCPU      "), HasSubstr("\nbuild    ")));
}

TEST(CliFrame, AboutCommandsHaveJson) {
  const Json version = Json::parse(cli({"--version", "--json"}).out);
  EXPECT_TRUE(version["cpu"].is_array());
  EXPECT_THAT(cli({"--version"}).out, HasSubstr("etbackend " + version["version"].get<std::string>() + ","));
  const Json script = Json::parse(cli({"completion", "bash", "--json"}).out);
  EXPECT_EQ(script["script"], cli({"completion", "bash"}).out);
  const Json all = Json::parse(cli({"help", "--json"}).out);
  EXPECT_GE(all["commands"].size(), 12U);
  const Json run = Json::parse(cli({"help", "run", "--json"}).out);
  EXPECT_EQ(run["name"], "run");
  ASSERT_EQ(run["arguments"].size(), 1U);
  EXPECT_EQ(run["arguments"][0]["names"], Json::array({"FILE"}));
  EXPECT_THAT(run.dump(), HasSubstr(R"("choices":["mmap","file","mlock"])"));
  EXPECT_EQ(cli({"help", "rnu", "--json"}).exit, 2);
}

// All commands but the hidden one of the build have --json: what they print can be read by programs.
TEST(CliFrame, EachCommandHasJson) {
  for (const Json& command : Json::parse(cli({"help", "--json"}).out)["commands"])
    EXPECT_THAT(command["options"].dump(), HasSubstr("\"--json\"")) << command["name"];
}

// Output of a shell command.
std::string shell(const std::string& command, int& status) {
  std::string out;
  FILE* const pipe = ::popen(command.c_str(), "r");
  char bytes[4096];
  while (const size_t count = std::fread(bytes, 1, sizeof bytes, pipe)) out.append(bytes, count);
  status = ::pclose(pipe);
  return out;
}

// Returns the words that bash offers after these words.
std::string completed(const std::string& script, const std::string& words, int index) {
  int status = 0;
  return shell("bash -c 'source " + script + "; COMP_WORDS=(" + words +
                   "); COMP_CWORD=" + std::to_string(index) + "; _etbackend; echo \"${COMPREPLY[*]}\"'",
               status);
}

TEST(CliFrame, CompletesInBash) {
  const ScratchDir dir;
  const std::string script = dir.write("completion.bash", cli({"completion", "bash"}).out);
  EXPECT_EQ(completed(script, "etbackend co", 1), "compare compile completion\n");
  EXPECT_EQ(completed(script, "etbackend run --load-mode m", 3), "mmap mlock\n");
  EXPECT_THAT(completed(script, "etbackend run --inp", 2),
              AllOf(HasSubstr("--input "), HasSubstr("--input-shapes")));
  EXPECT_THAT(completed(script, "etbackend run " + std::string(ETB_SOURCE_DIR) + "/READ", 2),
              HasSubstr("README.md"));
}

TEST(CliFrame, CompletionScriptsAreValid) {
  const ScratchDir dir;
  for (const std::string name : {"bash", "zsh", "fish"}) {
    const std::string script = dir.write("completion." + name, cli({"completion", name}).out);
    int status = 0;
    shell("command -v " + name, status);
    if (status != 0) continue;  // not installed
    shell(name + " -n " + script + " 2>&1", status);
    EXPECT_EQ(status, 0) << name;
  }
  EXPECT_EQ(cli({"completion", "csh"}).exit, 2);
}

TEST(CliFrame, WritesManPages) {
  const ScratchDir dir;
  ASSERT_EQ(cli({"man", dir.path("")}).exit, 0);
  std::ifstream in(dir.path("etbackend-run.1"));
  const std::string page((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_THAT(page,
              AllOf(HasSubstr(".SH OPTIONS"), HasSubstr("\\-\\-load\\-mode"), HasSubstr(".SH EXAMPLES")));
  int status = 0;
  shell("command -v man", status);
  if (status == 0) {
    EXPECT_EQ(shell("cd " + dir.path("") +
                        "; for p in *.1; do LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l $p "
                        "2>&1 >/dev/null; done",
                    status),
              "");
  }
  EXPECT_EQ(cli({"man", dir.path("missing")}).exit, 3);
}

TEST(CliFrame, ReadsDefaultsFromAFile) {
  const ScratchDir dir;
  const std::string file = dir.write("etbackend.toml", "[run]\nrepeat = 3\nprint-output = \"none\"\n");
  const CliRun defaults = cli({"--config", file, "run", kAdd});
  EXPECT_EQ(defaults.exit, 0) << defaults.err;
  EXPECT_THAT(defaults.out, AllOf(HasSubstr("3 runs"), Not(HasSubstr("output 0"))));
  EXPECT_THAT(cli({"--config", file, "run", kAdd, "--repeat", "5"}).out, HasSubstr("5 runs"));
  EXPECT_THAT(cli({"run", kAdd}).out, Not(HasSubstr("runs:")));
}

TEST(CliFrame, RefusesWrongConfigurationFiles) {
  const ScratchDir dir;
  const CliRun key = cli({"--config", dir.write("key.toml", "[run]\nrepaet = 3\n"), "run", kAdd});
  EXPECT_EQ(key.exit, 2);
  EXPECT_THAT(key.err, AllOf(HasSubstr("key.toml: key of [run] found 'repaet'"), HasSubstr("repeat")));
  const CliRun section = cli({"--config", dir.write("section.toml", "[rnu]\nrepeat = 3\n"), "run", kAdd});
  EXPECT_THAT(section.err, AllOf(HasSubstr("section found 'rnu'"), HasSubstr("run")));
  const std::string open = dir.write("open.toml", "[run]\nrepeat = 3\n");
  ::chmod(open.c_str(), 0666);
  const CliRun untrusted = cli({"--config", open, "run", kAdd});
  EXPECT_EQ(untrusted.exit, 2);
  EXPECT_THAT(untrusted.err, HasSubstr("open.toml"));
  EXPECT_EQ(cli({"--config", dir.path("none.toml"), "run", kAdd}).exit, 2);
}

TEST(CliFrame, ColoursOnlyWhenAsked) {
  EXPECT_EQ(cli({"lst"}).err.find('\x1b'), std::string::npos);
  EXPECT_THAT(cli({"--color", "always", "lst"}).err, HasSubstr("\x1b[1;31m"));
  EXPECT_THAT(cli({"--color", "always", "help"}).out, HasSubstr("\x1b[1mExamples:\x1b[0m"));
  EXPECT_EQ(cli({"--color", "never", "help"}).out.find('\x1b'), std::string::npos);
  // A file's text cannot colour.
  EXPECT_EQ(cli({"--color", "always", "info", "\x1b[31mred"}).err.find("\x1b[31mred"), std::string::npos);
}

TEST(CliFrame, VerboseNamesTheTime) {
  EXPECT_THAT(cli({"-v", "list"}).err, HasSubstr("list: 0."));
  EXPECT_EQ(cli({"-q", "list"}).exit, 0);
}

}  // namespace
}  // namespace etb::tools
