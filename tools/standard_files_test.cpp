// SPDX-License-Identifier: Apache-2.0
// Tests "-" as standard input and standard output of every command that reads or writes files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/testing/program_process.hpp"

namespace etb::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Args = std::vector<std::string>;

const std::string kArchive = archive_fixture("activations.pt2");
const std::string kProgram = program_fixture("add.pte");

// Standard input as a pipe, which cannot be mapped.
class Pipe {
 public:
  explicit Pipe(const std::string& bytes) {
    EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0);
    writer_ = std::thread([this, bytes] {
      for (size_t done = 0; done < bytes.size();) {
        const ssize_t count = ::write(ends_[1], bytes.data() + done, bytes.size() - done);
        if (count <= 0) break;
        done += static_cast<size_t>(count);
      }
      ::close(ends_[1]);
    });
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    ::close(ends_[0]);
    writer_.join();
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(ends_[0]); }

 private:
  int ends_[2] = {-1, -1};
  std::thread writer_;
};

Ended run_piped(const Args& args, const std::string& bytes) {
  const Pipe pipe(bytes);
  return run_program(args, pipe.path());
}

TEST(StandardFiles, ArchiveInAndProgramOut) {
  const host::ScratchDir dir;
  ASSERT_EQ(run_program({"compile", kArchive, "-o", dir.path("out.pte")}).exit, 0);
  const std::string expected = bytes_of(dir.path("out.pte"));
  const Ended from_file = run_program({"compile", "-", "-o", "-"}, kArchive);
  EXPECT_EQ(from_file.exit, 0) << from_file.err;
  EXPECT_EQ(from_file.out, expected);
  EXPECT_THAT(from_file.err, HasSubstr("wrote the program to standard output"));
  const Ended from_pipe =
      run_piped({"compile", "-", "-o", "-", "--times", "--dump-after", "import"}, bytes_of(kArchive));
  EXPECT_EQ(from_pipe.exit, 0) << from_pipe.err;
  EXPECT_EQ(from_pipe.out, expected);
  EXPECT_THAT(from_pipe.err, AllOf(HasSubstr("# after import"), HasSubstr(" ms  import")));
}

TEST(StandardFiles, ProgramsArraysAndGraphsIn) {
  const std::string program = bytes_of(kProgram);
  const Ended info = run_piped({"info", "-"}, program);
  EXPECT_EQ(info.exit, 0) << info.err;
  EXPECT_THAT(info.out, AllOf(HasSubstr("standard input: program of"), Not(HasSubstr("/proc/"))));
  EXPECT_THAT(run_piped({"info", "-"}, bytes_of(kArchive)).out, HasSubstr("standard input: archive"));
  const Ended run = run_piped({"run", "-", "--ones"}, program);
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("output 0: float32 [2, 3]: 2, 2, 2, 2, 2, 2"));
  EXPECT_EQ(nlohmann::json::parse(run_piped({"run", "-", "--json"}, program).out)["file"], "standard input");
  const std::string x = program_fixture("add.forward.0.in.0.npy"),
                    y = program_fixture("add.forward.0.in.1.npy");
  const auto first_line = [](const Ended& ended) { return ended.out.substr(0, ended.out.find('\n')); };
  const Ended expected = run_program({"run", kProgram, "--input", x, "--input", y});
  ASSERT_EQ(expected.exit, 0) << expected.err;
  EXPECT_EQ(first_line(run_piped({"run", kProgram, "--input", x, "--input", "-"}, bytes_of(y))),
            first_line(expected));
  const Ended graph = run_piped({"graph", "-", "-o", "-"}, bytes_of(kArchive));
  EXPECT_EQ(graph.exit, 0) << graph.err;
  EXPECT_EQ(graph.out, run_program({"graph", kArchive}).out);
}

TEST(StandardFiles, ReportsOut) {
  const host::ScratchDir dir;
  const Ended html = run_program({"info", kProgram, "--html", "-"});
  EXPECT_EQ(html.exit, 0);
  EXPECT_EQ(html.out.rfind("<!doctype html>", 0), 0u);
  const Ended junit = run_program({"verify", "portable", "--case", "abi.*", "--junit", "-"});
  EXPECT_EQ(junit.exit, 0) << junit.err;
  EXPECT_EQ(junit.out.rfind("<?xml", 0), 0u) << junit.out.substr(0, 100);
  if (!std::filesystem::exists(ETB_XNNPACK_MANIFEST)) return;
  const Ended report =
      run_program({"compile", kArchive, "-b", "xnnpack", "-o", dir.path("x.pte"), "--report-json", "-"});
  EXPECT_EQ(report.exit, 0) << report.err;
  EXPECT_EQ(nlohmann::json::parse(report.out)["report_version"], 1);
}

TEST(StandardFiles, BenchmarksAndResults) {
  const Ended bench =
      run_piped({"bench", "-", "--samples", "2", "--repeat", "2", "--warmup", "1"}, bytes_of(kProgram));
  EXPECT_EQ(bench.exit, 0) << bench.err;
  EXPECT_THAT(bench.out, AllOf(HasSubstr("\nstandard input "), Not(HasSubstr("/proc/"))));
  const Ended against = run_piped({"bench", "-", kArchive, "--against", "-", "--samples", "2", "--repeat",
                                   "2", "--warmup", "1", "--json"},
                                  bytes_of(kProgram));
  EXPECT_EQ(against.exit, 0) << against.err;
  EXPECT_EQ(nlohmann::json::parse(against.out)["variants"][0]["file"], "standard input");
  const Ended wrong = run_piped({"bench", "-"}, "hello\n");
  EXPECT_EQ(wrong.exit, 4);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("standard input"), Not(HasSubstr("/proc/"))));
  const Ended results = run_program({"verify", "portable", "--case", "abi.*", "--results", "-"});
  EXPECT_EQ(results.exit, 0) << results.err;
  std::istringstream lines(results.out);
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  EXPECT_GT(count, 5u);
  EXPECT_THAT(results.err, HasSubstr("PASS"));
}

TEST(StandardFiles, AreUsedOnce) {
  const auto expect_usage = [](const Args& args, const std::string& text) {
    const Ended ended = run_program(args, kProgram);
    EXPECT_EQ(ended.exit, 2) << testing::PrintToString(args) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(text)) << testing::PrintToString(args);
    EXPECT_EQ(ended.out, "");
  };
  expect_usage({"run", "-", "--input", "-", "--input", "-"}, "standard input is read once");
  expect_usage({"run", "-", "--serve"}, "--serve");
  expect_usage({"compile", kArchive, "-o", "-", "--json"}, "both write to standard output");
  expect_usage({"info", kProgram, "--html", "-", "--json"}, "both write to standard output");
  expect_usage({"compile", kArchive, "-o", "/dev/null", "--etrecord", "-"}, "--etrecord");
  expect_usage({"bench", kProgram, "--against", "-"}, "expected '-' among the files");
  expect_usage({"verify", "portable", "--results", "-", "--json"}, "both write to standard output");
  expect_usage({"verify", "portable", "--results", "-", "--resume"}, "--resume needs --results FILE");
  const Ended unnamed = run_program({"compile", "-"}, kArchive);
  EXPECT_EQ(unnamed.exit, 2);
  EXPECT_THAT(unnamed.err, HasSubstr("hint: -o FILE"));
}

TEST(StandardFiles, ErrorsNameThem) {
  const Ended ended = run_piped({"run", "-"}, "hello\n");
  EXPECT_EQ(ended.exit, 4);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("standard input: found a text file"), Not(HasSubstr("/proc/"))));
}

// Binary data would control the terminal.
TEST(StandardFiles, ATerminalGetsNoProgram) {
  int main_end = -1, terminal = -1;
  if (::openpty(&main_end, &terminal, nullptr, nullptr, nullptr) != 0) GTEST_SKIP() << "no terminals here";
  ProgramProcess compile({"compile", kArchive, "-o", "-"}, "/dev/null", "/dev/null", ::dup(terminal));
  const Ended ended = compile.wait();
  EXPECT_EQ(ended.exit, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("standard output is a terminal"));
  char name[64] = {};
  ASSERT_EQ(::ttyname_r(terminal, name, sizeof(name)), 0);
  const Ended read = run_program({"info", "-"}, name);
  EXPECT_EQ(read.exit, 2);
  EXPECT_THAT(read.err, HasSubstr("standard input is a terminal"));
  ::close(terminal);
  ::close(main_end);
}

}  // namespace
}  // namespace etb::tools
