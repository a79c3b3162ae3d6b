// SPDX-License-Identifier: Apache-2.0
// Sides whose process fails: its errors are not deaths, and what was found before them stays.
#include "tools/diff/side.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "host/testing/scratch_dir.hpp"
#include "tools/diff/program_side.hpp"
#include "tools/run/method_inputs.hpp"

namespace etb::diff {
namespace {

using testing::HasSubstr;

class SideTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Model::open(std::string(ETB_SOURCE_DIR) + "/docs/examples/digits/digits.pt2", {});
    ASSERT_TRUE(opened) << opened.error().message;
    model_.emplace(std::move(*opened));
    const Status ran = model_->run([&](const host::MethodMeta& meta) -> Result<std::vector<host::EValue>> {
      inputs_ = std::make_unique<tools::MethodInputs>(meta);
      ETB_TRY(inputs_->fill_random(7));
      return std::vector<host::EValue>(inputs_->values().begin(), inputs_->values().end());
    });
    ASSERT_TRUE(ran) << ran.error().message;
    auto eager = Side::open("eager", {});
    ASSERT_TRUE(eager);
    eager_ = std::move(*eager);
  }

  // The output of the run, with another first element.
  TensorData wrong_output() const {
    const ir::Output& output = model_->module().main().outputs[0];
    TensorData out = *model_->find_value(ir::get_if<ir::ValueRef>(output.value)->id);
    conformance::store_element(out.shape.dtype, out.bytes.data(), 0, 1e6);
    return out;
  }

  Result<SearchResult> search_with(const Side& program) {
    comparison_ = std::make_unique<Comparison>(*model_, *eager_, program, CompareOptions{});
    return search(*comparison_, {});
  }

  std::unique_ptr<tools::MethodInputs> inputs_;
  std::optional<Model> model_;
  std::unique_ptr<Side> eager_;
  std::unique_ptr<Comparison> comparison_;
};

TEST_F(SideTest, AnErrorUnavailableIsNoDeath) {
  const auto program =
      Side::of_program("m.pte", {}, [](const std::vector<host::EValue>&) -> Result<MethodOutputs> {
        return make_error(Code::UNAVAILABLE, "no device");
      });
  const auto found = search_with(*program);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("no device"));
}

TEST_F(SideTest, ADeathIsAWrongResult) {
  const auto program =
      Side::of_program("m.pte", {}, [](const std::vector<host::EValue>&) -> Result<MethodOutputs> {
        return MethodOutputs{{}, "its process ended"};
      });
  const auto found = search_with(*program);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->has_divergence());
  EXPECT_TRUE(found->blocks[0].has_death);
}

TEST_F(SideTest, AnOutputWithoutBytesIsRejected) {
  const auto program =
      Side::of_program("m.pte", {}, [](const std::vector<host::EValue>&) -> Result<MethodOutputs> {
        return MethodOutputs{{TensorData{}}, {}};
      });
  const auto found = search_with(*program);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("is no tensor"));
}

TEST_F(SideTest, AFailedSecondRunOfAProgramIsANote) {
  const TensorData wrong = wrong_output();
  const auto program = Side::of_program(
      "/no/such/program.pte", {}, [&](const std::vector<host::EValue>&) -> Result<MethodOutputs> {
        return MethodOutputs{{wrong}, {}};
      });
  auto found = search_with(*program);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_TRUE(found->has_divergence());
  locate_in_program(*model_, *comparison_, *found);
  EXPECT_TRUE(found->has_divergence());
  ASSERT_EQ(found->notes.size(), 2u);
  EXPECT_THAT(found->notes[0], HasSubstr("the tensors of its instructions were not compared"));
  EXPECT_THAT(found->notes[1], HasSubstr("the nodes of its plugins were not compared"));
}

// A process that cannot open its plugin says so at each request.
TEST_F(SideTest, APluginThatIsGoneIsAnErrorEachTime) {
  namespace fs = std::filesystem;
  host::ScratchDir folder;
  for (const char* const file : {"portable_library.json", "portable_library.so"})
    fs::copy_file(std::string(ETB_PORTABLE_PLUGIN_DIR) + "/" + file, folder.path(file));
  SideOptions options;
  options.is_isolated = true;
  const auto side = Side::open(folder.path("portable_library.json"), options);
  ASSERT_TRUE(side) << side.error().message;
  fs::remove(folder.path("portable_library.so"));
  EXPECT_FALSE((*side)->find_regions(*model_));  // its process starts again, with the model
  EXPECT_FALSE((*side)->find_regions(*model_));
  fs::copy_file(std::string(ETB_PORTABLE_PLUGIN_DIR) + "/portable_library.so",
                folder.path("portable_library.so"));
  const auto regions = (*side)->find_regions(*model_);
  ASSERT_TRUE(regions) << regions.error().message;
  EXPECT_FALSE(regions->empty());
}

}  // namespace
}  // namespace etb::diff
