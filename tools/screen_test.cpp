// SPDX-License-Identifier: Apache-2.0
// Tests output streams: escaping, progress lines, write errors.
#include "tools/screen.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

std::string passed_on(const std::vector<std::string>& pieces, bool allows_redraw = false) {
  std::ostringstream to;
  PrintableBuffer buffer(*to.rdbuf());
  if (allows_redraw) buffer.allow_redraw();
  std::ostream out(&buffer);
  for (const std::string& piece : pieces) out << piece << std::flush;
  EXPECT_TRUE(buffer.finish());
  return to.str();
}

TEST(PrintableBuffer, PassesTextAndEscapesTheRest) {
  EXPECT_EQ(passed_on({"a\tb\n", "Größe 模型\n"}), "a\tb\nGröße 模型\n");
  EXPECT_EQ(passed_on({"\x1b[2J", "\r", "\xe2\x80\xae", std::string("\0", 1)}),
            "\\x1b[2J\\x0d\\xe2\\x80\\xae\\x00");
  EXPECT_EQ(passed_on({"\xff", "x", "\xe6"}), "\\xffx\\xe6");
}

TEST(PrintableBuffer, ACharacterMayComeInPieces) {
  EXPECT_EQ(passed_on({"\xe6", "\xa8", "\xa1"}), "模");
  EXPECT_EQ(passed_on({"\xe6\xa8", "x"}), "\\xe6\\xa8x");
  std::string text;  // across the buffer's end
  for (int i = 0; i < 5000; ++i) text += "x模";
  EXPECT_EQ(passed_on({text}), text);
}

TEST(PrintableBuffer, AProgressLineMayBeDrawnAgainWhereThatIsAllowed) {
  EXPECT_EQ(passed_on({"\r1/2\x1b[K"}, true), "\r1/2\x1b[K");
  EXPECT_EQ(passed_on({"\r1/2\x1b[K"}), "\\x0d1/2\\x1b[K");
  EXPECT_EQ(passed_on({"\x1b[2J"}, true), "\\x1b[2J");
}

TEST(DescriptorBuffer, KeepsTheFirstError) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  DescriptorBuffer buffer(full);
  std::ostream out(&buffer);
  out << "x" << std::flush;
  EXPECT_FALSE(out);
  EXPECT_EQ(buffer.error_number(), ENOSPC);
  EXPECT_FALSE(buffer.is_terminal());
  ::close(full);
}

TEST(DescriptorBuffer, ACommandThatCannotWriteIsUnavailable) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  DescriptorBuffer buffer(full);
  std::ostream out(&buffer);
  std::ostringstream err;
  const char* argv[] = {"etbackend", "exit-codes"};
  EXPECT_EQ(run_cli(2, argv, out, err), static_cast<int>(ExitCode::UNAVAILABLE));
  EXPECT_EQ(err.str(), "etbackend: cannot write to standard output: No space left on device\n");
  ::close(full);
}

}  // namespace
}  // namespace etb::tools
