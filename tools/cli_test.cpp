// SPDX-License-Identifier: Apache-2.0
// Tests rules of the whole program: exit codes, usage errors, shared options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Cli, HelpIsAnAnswerAndNamesTheExitCodes) {
  const CliRun help = cli({"--help"});
  EXPECT_EQ(help.exit, 0);
  EXPECT_THAT(help.out, HasSubstr("etbackend exit-codes"));
  const CliRun codes = cli({"exit-codes"});
  for (const ExitCodeRow& row : exit_code_rows()) EXPECT_THAT(codes.out, HasSubstr(std::string(row.text)));
}

// The commands in the groups of the help.
std::set<std::string> command_names() {
  const std::string help = cli({"--help"}).out;
  const std::string list = help.substr(help.find("\n\n"), help.find("Examples:") - help.find("\n\n"));
  const std::regex row("\n  ([a-z][a-z-]+) ");
  std::set<std::string> names;
  for (std::sregex_iterator it(list.begin(), list.end(), row), end; it != end; ++it) names.insert((*it)[1]);
  EXPECT_EQ(names.count("run"), 1u) << help;
  return names;
}

TEST(Cli, HelpNamesNoCommandThatDoesNotExist) {
  const std::set<std::string> names = command_names();
  const std::regex mention("`etbackend ([a-z-]+)");
  for (const std::string& name : names) {
    const std::string help = cli({name, "--help"}).out;
    EXPECT_THAT(help, HasSubstr("etbackend " + name));
    for (std::sregex_iterator it(help.begin(), help.end(), mention), end; it != end; ++it)
      EXPECT_EQ(names.count((*it)[1]), 1u) << name << " --help names " << it->str();
  }
}

TEST(Cli, HelpSaysWhatToWriteInsteadOfCxxTypes) {
  const std::string help = cli({"run", "--help"}).out;
  EXPECT_THAT(help, HasSubstr("--print-output,--print_output {none,summary,all}"));
  EXPECT_THAT(help, HasSubstr("--warmup N=0"));
  EXPECT_THAT(help, HasSubstr("--backend-option ID:KEY=VALUE"));
  EXPECT_THAT(help, Not(HasSubstr("REQUIRED")));
}

TEST(Cli, VersionNamesTheAbi) {
  const CliRun version = cli({"--version"});
  EXPECT_EQ(version.exit, 0);
  EXPECT_THAT(version.out, HasSubstr("C ABI 1."));
}

TEST(Cli, UnknownCommandOrOptionIsUsage) {
  EXPECT_EQ(cli({"no-such-command"}).exit, static_cast<int>(ExitCode::USAGE));
  EXPECT_EQ(cli({"exit-codes", "--no-such-option"}).exit, static_cast<int>(ExitCode::USAGE));
  EXPECT_EQ(cli({}).exit, static_cast<int>(ExitCode::USAGE));
  EXPECT_THAT(cli({"exit-codes", "--no-such-option"}).err, HasSubstr("--no-such-option"));
}

TEST(Cli, SharedOptionsMayFollowTheCommand) {
  EXPECT_EQ(cli({"--plugin-path", "/", "exit-codes"}).exit, 0);
  EXPECT_EQ(cli({"exit-codes", "--plugin-path", "/", "--plugin-path", "/tmp", "--secure"}).exit, 0);
}

TEST(ExitCode, ValuesAreTheirPositions) {
  int expected = 0;
  for (const ExitCodeRow& row : exit_code_rows())
    EXPECT_EQ(static_cast<int>(row.code), expected++) << row.name;
}

TEST(ExitCode, EveryStatusLeadsToOneAndOnlySuccessToZero) {
  std::set<ExitCode> reached;
#define ETB_STATUS(name, value, text)       \
  reached.insert(to_exit_code(Code::name)); \
  EXPECT_EQ(to_exit_code(Code::name) == ExitCode::OK, Code::name == Code::OK) << #name;
#include "etb/status.def"
#undef ETB_STATUS
  // NEGATIVE is no error: a command returns it.
  EXPECT_EQ(reached.size(), exit_code_rows().size() - 1);
}

TEST(ExitCode, DocumentationPageIsThePrintedOne) {
  std::ifstream page(ETB_SOURCE_DIR "/docs/exit_codes.md");
  const std::string text((std::istreambuf_iterator<char>(page)), std::istreambuf_iterator<char>());
  EXPECT_EQ(text, cli({"exit-codes", "--markdown"}).out)
      << "rewrite it: etbackend exit-codes --markdown > docs/exit_codes.md";
}

}  // namespace
}  // namespace etb::tools
