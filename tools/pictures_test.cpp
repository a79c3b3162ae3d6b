// SPDX-License-Identifier: Apache-2.0
// Tests the pictures of terminals, and writes those of the documentation: docs/images/help.svg is compared with the
// present help. ETB_REBASE=1 writes it, and docs/images/bench.svg, whose times differ from run to run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tools/testing/cli_run.hpp"
#include "tools/testing/terminal_picture.hpp"

namespace etb::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string picture_path(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/docs/images/" + name;
}
bool rebases() { return std::getenv("ETB_REBASE") != nullptr; }
std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(TerminalPicture, StylesBecomeElements) {
  const std::string picture = terminal_picture("$ a <b> & c\n\x1b[1mTITLE\x1b[0m and \x1b[32mok\x1b[0m\n");
  EXPECT_THAT(picture, HasSubstr(">$ a &lt;b&gt; &amp; c</text>"));
  EXPECT_THAT(picture, HasSubstr("fill=\"#fff\">TITLE</tspan> and <tspan fill=\"#7c7\">ok</tspan></text>"));
  EXPECT_EQ(picture.find('\x1b'), std::string::npos);
}

TEST(TerminalPicture, ALineWithoutAnEndStaysWellFormed) {
  EXPECT_THAT(terminal_picture("\x1b[1;31mwrong"), HasSubstr("\">wrong</tspan></text>"));
  EXPECT_THAT(terminal_picture("cut \x1b["), AllOf(HasSubstr("cut "), Not(HasSubstr("<tspan"))));
}

TEST(Pictures, HelpIsThePresentHelp) {
  const CliRun run = cli({"--color", "always", "help"});
  ASSERT_EQ(run.exit, 0);
  const std::string picture = terminal_picture("$ etbackend help\n" + run.out);
  if (rebases()) std::ofstream(picture_path("help.svg")) << picture;
  EXPECT_EQ(read(picture_path("help.svg")), picture) << "ETB_REBASE=1 writes docs/images/help.svg";
}

TEST(Pictures, BenchShowsAComparison) {
  const bool has_xnnpack = std::filesystem::exists(std::string(ETB_PLUGIN_DIR) + "/xnnpack.json");
  if (rebases() && has_xnnpack) {
    const std::string model = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/zoo/mobilenet_v2.pt2";
    const CliRun run = cli({"--plugin-path", ETB_PLUGIN_DIR, "--color", "always", "bench", model, "-b",
                            "portable,xnnpack", "--against", "portable", "--profile", "--profile-rows", "4"});
    ASSERT_EQ(run.exit, 0) << run.err;
    const std::string command =
        "$ etbackend bench mobilenet_v2.pt2 -b portable,xnnpack --against portable --profile "
        "--profile-rows 4\n";
    std::string text = run.out;
    // The paths of this machine are no part of the picture.
    if (const size_t at = text.find("command  "); at != std::string::npos)
      text.erase(at, text.find('\n', at) + 1 - at);
    std::ofstream(picture_path("bench.svg")) << terminal_picture(command + text);
  }
  EXPECT_THAT(read(picture_path("bench.svg")),
              AllOf(HasSubstr(">Comparison<"), HasSubstr(">Times of a run<"), HasSubstr("mobilenet_v2.pt2")));
}

}  // namespace
}  // namespace etb::tools
