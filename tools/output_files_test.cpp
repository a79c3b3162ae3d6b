// SPDX-License-Identifier: Apache-2.0
// Tests the files and the standard output of every command that writes, after a failure, a signal, or on a
// full disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>

#include "tools/testing/program_process.hpp"

namespace etb::tools {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Args = std::vector<std::string>;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}

// Each writes `file`.
struct Writer {
  const char* name;
  Args (*args)(const std::string& file, const std::string& folder);
};

constexpr Writer kWriters[] = {
    {"Compile",
     [](const std::string& file, const std::string&) -> Args {
       return {"compile", archive_fixture("activations.pt2"), "-o", file};
     }},
    {"ExternalData",
     [](const std::string& file, const std::string& folder) -> Args {
       return {"compile", archive_fixture("autoencoder.pt2"), "-o", folder + "/x.pte", "--external-data",
               file};
     }},
    {"Record",
     [](const std::string& file, const std::string& folder) -> Args {
       return {"compile", archive_fixture("activations.pt2"), "-o", folder + "/x.pte", "--etrecord", file};
     }},
    {"ReportJson",
     [](const std::string& file, const std::string& folder) -> Args {
       return {"compile",
               archive_fixture("activations.pt2"),
               "-b",
               "xnnpack",
               "-o",
               folder + "/x.pte",
               "--report-json",
               file};
     }},
    {"ReportPage",
     [](const std::string& file, const std::string& folder) -> Args {
       return {"compile",
               archive_fixture("activations.pt2"),
               "-b",
               "xnnpack",
               "-o",
               folder + "/x.pte",
               "--report-html",
               file};
     }},
    {"Graph",
     [](const std::string& file, const std::string&) -> Args {
       return {"graph", archive_fixture("activations.pt2"), "-o", file};
     }},
    {"Bench",
     [](const std::string& file, const std::string&) -> Args {
       return {"bench", program_fixture("add.pte"), "--samples", "1", "--repeat", "1", "-o", file};
     }},
    {"InfoPage",
     [](const std::string& file, const std::string&) -> Args {
       return {"info", program_fixture("add.pte"), "--html", file};
     }},
    {"VerifyJunit",
     [](const std::string& file, const std::string&) -> Args {
       return {"verify", "portable", "--case", "abi.*", "--junit", file};
     }},
    {"VerifyResults",
     [](const std::string& file, const std::string&) -> Args {
       return {"verify", "portable", "--case", "abi.*", "--results", file};
     }},
};

class WrittenFile : public testing::TestWithParam<Writer> {
 protected:
  Ended write(const std::string& file) { return run_program(GetParam().args(file, work_.path())); }
  // The folder of the file only, without other output of the command.
  host::ScratchDir dir_;

 private:
  host::ScratchDir work_;
};

TEST_P(WrittenFile, IsWholeHasTheUmaskAndLeavesNothingBeside) {
  if (std::string_view(GetParam().name).starts_with("Report") && !fs::exists(ETB_XNNPACK_MANIFEST))
    GTEST_SKIP();
  const mode_t before = ::umask(027);
  const Ended ended = write(dir_.path("file"));
  ::umask(before);
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(names_in(dir_.path()), ElementsAre("file"));
  struct stat info {};
  ASSERT_EQ(::stat(dir_.path("file").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
  EXPECT_NE(info.st_size, 0);
}

// The same device as /dev/full, at a path where a program may replace it without harm.
TEST_P(WrittenFile, OnAFullDeviceIsAnErrorAndTheDeviceStays) {
  if (std::string_view(GetParam().name).starts_with("Report") && !fs::exists(ETB_XNNPACK_MANIFEST))
    GTEST_SKIP();
  std::string device = dir_.path("full");
  if (::mknod(device.c_str(), S_IFCHR | 0666, makedev(1, 7)) != 0) device = "/dev/full";
  const Ended ended = write(device);
  EXPECT_EQ(ended.exit, 6) << "signal " << ended.signal << ": " << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("No space left on device"));
  struct stat info {};
  ASSERT_EQ(::lstat(device.c_str(), &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
  EXPECT_THAT(names_in(dir_.path()), AnyOf(ElementsAre("full"), IsEmpty()));
}

TEST_P(WrittenFile, KeepsModeAndLinksOfWhatItReplaces) {
  if (std::string_view(GetParam().name).starts_with("Report") && !fs::exists(ETB_XNNPACK_MANIFEST))
    GTEST_SKIP();
  std::ofstream(dir_.path("real")) << "old";
  ASSERT_EQ(::chmod(dir_.path("real").c_str(), 0604), 0);
  fs::create_symlink("real", dir_.path("link"));
  const Ended ended = write(dir_.path("link"));
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_TRUE(fs::is_symlink(dir_.path("link")));
  struct stat info {};
  ASSERT_EQ(::lstat(dir_.path("real").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0604u);
  EXPECT_GT(info.st_size, 3);
}

TEST_P(WrittenFile, WhereNoneCanBeIsAnError) {
  if (std::string_view(GetParam().name).starts_with("Report") && !fs::exists(ETB_XNNPACK_MANIFEST))
    GTEST_SKIP();
  EXPECT_EQ(write(dir_.path("no/such/folder/file")).exit, 3);
  EXPECT_EQ(write(dir_.path()).exit, 4);
  fs::create_symlink(dir_.path("nothing"), dir_.path("dangling"));
  EXPECT_EQ(write(dir_.path("dangling")).exit, 4);
  EXPECT_THAT(names_in(dir_.path()), ElementsAre("dangling"));
}

INSTANTIATE_TEST_SUITE_P(Commands, WrittenFile, testing::ValuesIn(kWriters),
                         [](const auto& of) { return of.param.name; });

// Every command; "@" is a new name in a folder of the test.
const Args kSpeaking[] = {{"--help"},
                          {"--version"},
                          {"list"},
                          {"exit-codes"},
                          {"exit-codes", "--markdown"},
                          {"info", program_fixture("add.pte")},
                          {"info", program_fixture("add.pte"), "--json"},
                          {"graph", archive_fixture("activations.pt2")},
                          {"run", program_fixture("add.pte"), "--ones"},
                          {"run", program_fixture("add.pte"), "--ones", "--json"},
                          {"bench", program_fixture("add.pte"), "--samples", "1", "--repeat", "1"},
                          {"bench", program_fixture("add.pte"), "--samples", "1", "--repeat", "1", "--json"},
                          {"compile", archive_fixture("activations.pt2"), "-o", "@"},
                          {"verify", "--list"},
                          {"verify", "portable", "--case", "abi.*"},
                          {"new", "abc", "--dir", "@"}};

TEST(StandardOutput, AFullDiskIsAnErrorOfEveryCommand) {
  for (Args args : kSpeaking) {
    const host::ScratchDir dir;
    std::replace(args.begin(), args.end(), std::string("@"), dir.path("new"));
    const Ended ended = run_program(args, "/dev/null", "/dev/full");
    EXPECT_EQ(ended.exit, 6) << args[0] << ": " << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("cannot write to standard output: No space left on device"));
  }
}

TEST(StandardOutput, AClosedPipeEndsEveryCommandWithoutAMessage) {
  for (Args args : kSpeaking) {
    const host::ScratchDir dir;
    std::replace(args.begin(), args.end(), std::string("@"), dir.path("new"));
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ::close(ends[0]);
    ProgramProcess process(args, "/dev/null", "/dev/null", ends[1]);
    ::close(ends[1]);
    const Ended ended = process.wait();
    EXPECT_EQ(ended.exit, 6) << args[0] << ": signal " << ended.signal;
    EXPECT_EQ(ended.err, "") << args[0];
  }
}

// The first file that the program opens must not get the number of the closed stream.
TEST(StandardOutput, AClosedStreamIsAnErrorAndNoFileGetsItsText) {
  const host::ScratchDir dir;
  const std::string command = "exec '" + program_path() + "' compile '" + archive_fixture("activations.pt2") +
                              "' --dump-after all -o '" + dir.path("out.pte") + "' >&- 2>'" +
                              dir.path("err") + "'";
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 6);
  EXPECT_THAT(bytes_of(dir.path("err")), HasSubstr("cannot write to standard output: Bad file descriptor"));
  EXPECT_EQ(bytes_of(dir.path("out.pte")).substr(4, 4), "ET12");
}

// At any time of the signal, the file is complete or absent, and no other file remains.
TEST(Signals, LeaveNothingHalfDone) {
  const Args compile = {"compile", archive_fixture("autoencoder.pt2"), "-o"};
  const host::ScratchDir whole;
  Args args = compile;
  args.push_back(whole.path("whole.pte"));
  ASSERT_EQ(run_program(args).exit, 0);
  const std::string expected = bytes_of(whole.path("whole.pte"));
  size_t interrupted = 0;
  for (int i = 0; i < 40; ++i) {
    const host::ScratchDir dir;
    args.back() = dir.path("out.pte");
    ProgramProcess process(args);
    std::this_thread::sleep_for(std::chrono::milliseconds(2 * i));
    process.send(i % 2 == 0 ? SIGINT : SIGTERM);
    const Ended ended = process.wait();
    if (ended.exit != 0) {
      ++interrupted;
      EXPECT_EQ(ended.signal, i % 2 == 0 ? SIGINT : SIGTERM) << ended.err;
    }
    EXPECT_THAT(names_in(dir.path()), Each("out.pte"));
    if (fs::exists(dir.path("out.pte"))) {
      EXPECT_EQ(bytes_of(dir.path("out.pte")), expected);
    }
  }
  EXPECT_GT(interrupted, 0u);
}

// The temporary program for `run` never has a name.
TEST(Signals, LeaveNoTemporaryProgram) {
  const host::ScratchDir temporary;
  ::setenv("TMPDIR", temporary.path().c_str(), 1);
  for (int i = 0; i < 20; ++i) {
    ProgramProcess process({"run", archive_fixture("autoencoder.pt2"), "--ones", "--repeat", "10000"});
    std::this_thread::sleep_for(std::chrono::milliseconds(4 * i));
    EXPECT_EQ(names_in(temporary.path()).size(), 1u);  // only the test's own file
    process.send(SIGTERM);
    (void)process.wait();
  }
  ::unsetenv("TMPDIR");
  EXPECT_THAT(names_in(temporary.path()), IsEmpty());
}

TEST(TwoCompilers, NeverMixInOneFile) {
  const host::ScratchDir dir;
  const char* models[] = {"activations.pt2", "autoencoder.pt2"};
  std::vector<std::string> expected;
  for (const char* model : models) {
    ASSERT_EQ(run_program({"compile", archive_fixture(model), "-o", dir.path("alone.pte")}).exit, 0);
    expected.push_back(bytes_of(dir.path("alone.pte")));
  }
  ASSERT_NE(expected[0], expected[1]);
  for (int i = 0; i < 10; ++i) {
    const host::ScratchDir shared;
    ProgramProcess first({"compile", archive_fixture(models[0]), "-o", shared.path("out.pte")});
    ProgramProcess second({"compile", archive_fixture(models[1]), "-o", shared.path("out.pte")});
    EXPECT_EQ(first.wait().exit, 0);
    EXPECT_EQ(second.wait().exit, 0);
    EXPECT_THAT(bytes_of(shared.path("out.pte")), AnyOf(expected[0], expected[1]));
    EXPECT_THAT(names_in(shared.path()), ElementsAre("out.pte"));
  }
}

}  // namespace
}  // namespace etb::tools
