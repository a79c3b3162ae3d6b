// SPDX-License-Identifier: Apache-2.0
// Tests `etbackend run --serve` as a long-lived process, with invalid requests and changing files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/testing/program_process.hpp"

namespace etb::tools {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Json = nlohmann::json;

class Serve : public testing::Test {
 protected:
  Serve() { dir_.write("in.bin", std::string(12, '\0')); }

  // Returns the answers to these lines; "@" is replaced by the test's folder.
  std::vector<Json> ask(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += in_folder(line) + '\n';
    ended_ = run_program({"run", program_fixture("counter.pte"), "--serve"}, dir_.write("requests", text));
    EXPECT_EQ(ended_.exit, 0) << "signal " << ended_.signal << ": " << ended_.err;
    std::vector<Json> answers;
    for (size_t begin = 0; begin < ended_.out.size();) {
      const size_t end = std::min(ended_.out.find('\n', begin), ended_.out.size());
      answers.push_back(Json::parse(ended_.out.substr(begin, end - begin), nullptr, false));
      begin = end + 1;
    }
    return answers;
  }
  // Returns the error message for one invalid request. A valid request must succeed after it.
  std::string refusal_of(const std::string& line) {
    const auto answers = ask({line, kRight});
    if (answers.size() != 2 || !answers[1].contains("outputs")) return "no second answer: " + ended_.out;
    return answers[0].contains("error") ? answers[0]["error"]["message"].get<std::string>() : "no error";
  }
  std::string in_folder(std::string text) const {
    for (size_t at = text.find('@'); at != std::string::npos; at = text.find('@'))
      text.replace(at, 1, dir_.path());
    return text;
  }

  static constexpr const char* kRight = R"({"inputs": [{"file": "@/in.bin"}], "output_dir": "@/out"})";
  host::ScratchDir dir_;
  Ended ended_;
};

TEST_F(Serve, MakesTheOutputFolder) {
  const auto answers = ask({R"({"inputs": [{"file": "@/in.bin"}], "output_dir": "@/not/there/yet"})"});
  ASSERT_EQ(answers.size(), 1u);
  ASSERT_TRUE(answers[0].contains("outputs")) << answers[0];
  EXPECT_TRUE(fs::exists(dir_.path("not/there/yet/0.bin")));
  EXPECT_THAT(refusal_of(R"({"inputs": [{"file": "@/in.bin"}], "output_dir": "@/in.bin"})"),
              HasSubstr("output_dir"));
}

TEST_F(Serve, ManyKeysTakeLinearTime) {
  std::string keys;
  for (int i = 0; i < 80000; ++i) keys += "\"" + std::to_string(i) + "\":1,";
  const auto answers = ask({"{" + keys + std::string(kRight).substr(1), kRight});
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_TRUE(answers[0].contains("outputs")) << answers[0];
  EXPECT_LT(ended_.seconds, 5);  // it was 20
}

TEST_F(Serve, RequestsHaveALimitThatIsNamed) {
  EXPECT_THAT(refusal_of(std::string(3 << 20, ' ')), HasSubstr("the line has more than 1048576 bytes"));
  EXPECT_THAT(refusal_of(std::string(1000, '[')), HasSubstr("nested deeper than 16 levels"));
}

TEST_F(Serve, AnInputThatNeverEndsIsAnError) {
  const Ended ended = run_program({"run", program_fixture("counter.pte"), "--serve"}, "/dev/zero");
  EXPECT_EQ(ended.exit, 4) << "signal " << ended.signal;
}

TEST_F(Serve, WrongRequestsAreAnswered) {
  EXPECT_THAT(refusal_of("\xef\xbb\xbf" + std::string(kRight)), HasSubstr("byte order mark"));
  EXPECT_THAT(refusal_of(std::string("{}\0{}", 5)), HasSubstr("NUL"));
  EXPECT_THAT(refusal_of(R"({"inputs": [], "inputs": []})"), HasSubstr("there twice"));
  EXPECT_THAT(refusal_of("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal_of(R"({"inputs": ["@/in.bin\u0000.npy"]})"), HasSubstr("NUL"));
  EXPECT_THAT(refusal_of(R"({"inputs": [{"file": "@"}]})"), HasSubstr("found a folder"));
  EXPECT_THAT(refusal_of(R"({"inputs": [{"file": "/dev/zero"}]})"), HasSubstr("found a device"));
  EXPECT_THAT(refusal_of(R"({"inputs": [{"file": "@/in.bin", "shape": [9000000000000]}]})"),
              HasSubstr("expected at most"));
  EXPECT_THAT(refusal_of(R"({"inputs": [{"file": "@/in.bin", "offset": 18446744073709551615}]})"),
              HasSubstr("found 12 bytes"));
  ASSERT_EQ(::mkfifo(dir_.path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal_of(R"({"inputs": [{"file": "@/pipe"}]})"), HasSubstr("found a named pipe"));
  EXPECT_THAT(refusal_of(R"({"inputs": ["@/pipe"]})"), HasSubstr("found a named pipe"));
}

// A server outlives updates of its program: it has a copy, unless the user requests a mapping.
TEST_F(Serve, AProgramThatBecomesShorterMeanwhileGoesOn) {
  const std::string program = dir_.path("conv.pte"), pipe = dir_.path("requests");
  const std::string request =
      in_folder(R"({"inputs": [{"file": "@/image.bin"}], "output_dir": "@/out"})") + "\n";
  dir_.write("image.bin", std::string(3 * 8 * 8 * 4, '\0'));
  for (const char* mode : {"", "mmap"}) {
    fs::copy_file(program_fixture("conv.pte"), program, fs::copy_options::overwrite_existing);
    fs::remove(pipe);
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const int requests = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
    std::vector<std::string> args = {"run", program, "--serve"};
    if (*mode != '\0') args.insert(args.end(), {"--load-mode", mode});
    fs::remove_all(dir_.path("out"));
    ProgramProcess process(args, pipe);
    const auto write_request = [&] { return ::write(requests, request.data(), request.size()); };
    ASSERT_GT(write_request(), 0);
    for (int i = 0; i < 1000 && !fs::exists(dir_.path("out/0.bin")); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    fs::resize_file(program, 0);
    ASSERT_GT(write_request(), 0);
    ASSERT_GT(::write(requests, "\x01\n", 2), 0);  // answered with an error, in order
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    ::close(requests);  // the end of its input
    const Ended ended = process.wait();
    EXPECT_EQ(ended.signal, 0);
    if (*mode == '\0') {
      EXPECT_EQ(ended.exit, 0) << ended.err;
      EXPECT_EQ(std::count(ended.out.begin(), ended.out.end(), '\n'), 3) << ended.out;
    } else {
      EXPECT_EQ(ended.exit, 4) << ended.out;
      EXPECT_THAT(ended.err, HasSubstr("became shorter while it was in use"));
    }
  }
}

}  // namespace
}  // namespace etb::tools
