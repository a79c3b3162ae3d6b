// SPDX-License-Identifier: Apache-2.0
// Generates with tiny language models of ExecuTorch's own operators (tests/fixtures/make_language_models.py): compiles an archive
// and runs the program several times, while its caches keep the state. PyTorch's logits are stored beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "api/format/input_file.hpp"
#include "host/module/module.hpp"
#include "host/testing/scratch_dir.hpp"
#include "tools/run/npy.hpp"
#include "tools/run/serve.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

std::string fixture(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/language_models/" + name;
}

std::vector<float> to_floats(const void* bytes, size_t nbytes) {
  std::vector<float> values(nbytes / sizeof(float));
  std::memcpy(values.data(), bytes, values.size() * sizeof(float));
  return values;
}

class LanguageModel : public testing::Test {
 protected:
  void compile(const std::string& archive) {
    const CliRun run = cli({"compile", fixture(archive), "-o", dir_.path("model.pte")});
    ASSERT_EQ(run.exit, 0) << run.err;
  }

  // Runs all requests on one module; answers have "outputs" or "error".
  std::vector<Json> run(const std::vector<Json>& requests) {
    auto module = host::Module::open(dir_.path("model.pte"));
    EXPECT_TRUE(module);
    std::string text;
    for (const Json& request : requests) text += request.dump() + "\n";
    std::istringstream in(text);
    std::ostringstream out;
    EXPECT_TRUE(serve(*module, "forward", {}, in, out));
    std::vector<Json> answers;
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);) answers.push_back(Json::parse(line));
    return answers;
  }

  // A prompt of 4 tokens, then one token at a time.
  void generates(const std::string& name) {
    constexpr int kSteps = 4;
    std::vector<Json> requests;
    for (int step = 0; step < kSteps; ++step) {
      const std::string input = fixture(name) + "." + std::to_string(step) + ".in.";
      requests.push_back(
          {{"inputs", {input + "0.npy", input + "1.npy"}}, {"output_dir", dir_.path(std::to_string(step))}});
    }
    const std::vector<Json> answers = run(requests);
    ASSERT_EQ(answers.size(), static_cast<size_t>(kSteps));
    for (int step = 0; step < kSteps; ++step) {
      ASSERT_TRUE(answers[static_cast<size_t>(step)].contains("outputs"))
          << answers[static_cast<size_t>(step)];
      const auto bytes = format::read_file_text(dir_.path(std::to_string(step) + "/0.bin"), 1 << 20);
      const auto stored = read_npy(fixture(name) + "." + std::to_string(step) + ".out.0.npy");
      ASSERT_TRUE(bytes && stored);
      const std::vector<float> found = to_floats(bytes->data(), bytes->size());
      const std::vector<float> expected = to_floats(stored->bytes.data(), stored->bytes.size());
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 2e-5) << "step " << step << ", logit " << i;
    }
  }

  host::ScratchDir dir_;
};

TEST_F(LanguageModel, GeneratesWithCustomAttentionAndCaches) {
  compile("decoder.pt2");
  generates("decoder");
}

TEST_F(LanguageModel, GeneratesFromAnArchiveWithAutoFunctionalizedUpdates) {
  compile("decoder_functional.pt2");
  generates("decoder");
}

TEST_F(LanguageModel, GeneratesWith4BitsAndInt8Caches) {
  compile("decoder_8da4w.pt2");
  generates("decoder_8da4w");
}

// New rows are written into the caches; no cache is copied.
TEST_F(LanguageModel, CachesAreWrittenInPlace) {
  for (const char* archive : {"decoder.pt2", "decoder_functional.pt2"}) {
    compile(archive);
    const CliRun info = cli({"info", dir_.path("model.pte")});
    EXPECT_THAT(info.out, HasSubstr("2 x aten::index_put_\n")) << archive;
    EXPECT_THAT(info.out, HasSubstr("1 x llama::custom_sdpa.out")) << archive;
    EXPECT_THAT(info.out, Not(HasSubstr("aten::copy_"))) << archive;
  }
}

TEST_F(LanguageModel, APositionOutsideTheCacheIsAnError) {
  compile("decoder.pt2");
  const std::string tokens = fixture("decoder.1.in.0.npy");
  for (const char* position : {"12", "-1", "4611686018427387904"}) {
    std::vector<int64_t> value = {std::stoll(position)};
    const std::string file =
        dir_.write("position.bin", std::string(reinterpret_cast<const char*>(value.data()), 8));
    const auto answers = run({{{"inputs", {tokens, {{"file", file}}}}, {"output_dir", dir_.path("out")}}});
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_TRUE(answers[0].contains("error")) << position << ": " << answers[0];
  }
}

}  // namespace
}  // namespace etb::tools
