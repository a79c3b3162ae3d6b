// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/layers/compare/comparison.hpp"
#include "host/testing/every_function.hpp"

namespace etb::host {
namespace {

using ::testing::HasSubstr;

// A comparison with `other`, which no layer wraps.
ComparisonOptions with(const ToyPlugin& other, Tolerance tolerance = {}) {
  ComparisonOptions options;
  options.name = "other";
  options.tolerance = tolerance;
  options.open = [&other]() -> Result<std::shared_ptr<const PluginContext>> {
    ETB_ASSIGN(PluginContext context, start_plugin(nullptr, other.plugin, {}));
    return std::make_shared<const PluginContext>(std::move(context));
  };
  return options;
}

// Adds 0.25 to element 1 of the second run.
etb_status different_in_run_two(etb_context* context, const etb_exec_args* args, etb_error* error) {
  static int run = 0;
  const etb_status status = toy_tables().delegate.execute(context, args, error);
  if (++run % 3 == 2) static_cast<float*>(args->outputs->data)[1] += 0.25F;
  return status;
}

TEST(Compare, OfEqualPluginsHasNoDifference) {
  for (const bool is_outside : {true, false}) {
    ToyPlugin other;
    Comparison comparison(with(other));
    ValidateOptions validate;
    validate.strict = true;
    Validation validation(validate);
    std::vector<Layer> layers{comparison.layer(), validation.layer()};
    if (!is_outside) std::swap(layers[0], layers[1]);
    LayerFixture fixture(layers);
    ASSERT_EQ(fixture.start(), ETB_OK) << fixture.error.text;
    // The gain of the original is changed by call_every_function: the alternative would differ.
    ASSERT_EQ(fixture.execute(), ETB_OK);
    EXPECT_EQ(fixture.stop(), ETB_OK);
    for (const Violation& violation : validation.take()) ADD_FAILURE() << format_violation(violation);
    EXPECT_FALSE(comparison.has_differences());
    ASSERT_EQ(comparison.outputs().size(), 1u);
    EXPECT_EQ(describe_output(comparison.outputs()[0]), "delegate 1 (forward), output 0: equal in 1 run");
    EXPECT_TRUE(comparison.notes().empty());
  }
}

TEST(Compare, PassesEveryFunctionOn) {
  ToyPlugin other;
  Comparison comparison(with(other));
  LayerFixture fixture(std::vector<Layer>{comparison.layer()});
  ASSERT_EQ(fixture.start(), ETB_OK);
  call_every_function(fixture);
  // The option of the plugin, which the alternative has not.
  EXPECT_TRUE(comparison.has_differences());
  EXPECT_EQ(comparison.notes(), std::vector<std::string>{"asynchronous runs are not compared"});
}

TEST(Compare, ReportsTheFirstPlaceAndTheLargestDifference) {
  ToyPlugin other;
  Comparison comparison(with(other));
  LayerFixture fixture(std::vector<Layer>{comparison.layer()});
  fixture.toy.delegate.execute = different_in_run_two;
  ASSERT_EQ(fixture.start(), ETB_OK);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(fixture.execute(), ETB_OK);
    EXPECT_EQ(fixture.run.out[1], i == 1 ? 2.25F : 2.0F)
        << "the application receives the plugin's own output";
  }
  EXPECT_TRUE(comparison.has_differences());
  EXPECT_EQ(
      describe_output(comparison.outputs().at(0)),
      "delegate 1 (forward), output 0: 1 of 3 runs differ, at most 0.25 (0.125 relative); first in run 2: "
      "1 of 3 elements differ, at most 0.25 (0.125 relative), first at 1: 2.25, expected 2");
}

TEST(Compare, AcceptsWhatTheToleranceAllows) {
  ToyPlugin other;
  other.delegate.execute = [](etb_context* context, const etb_exec_args* args,
                              etb_error* error) -> etb_status {
    const etb_status status = toy_tables().delegate.execute(context, args, error);
    static_cast<float*>(args->outputs->data)[2] += 1e-6F;
    return status;
  };
  Comparison comparison(with(other, {0, 1e-5}));
  LayerFixture fixture(std::vector<Layer>{comparison.layer()});
  ASSERT_EQ(fixture.start(), ETB_OK);
  ASSERT_EQ(fixture.execute(), ETB_OK);
  EXPECT_FALSE(comparison.has_differences());
  EXPECT_THAT(describe_output(comparison.outputs().at(0)),
              HasSubstr("1 of 1 run differs within the tolerance"));
}

TEST(Compare, AnAlternativeThatFailsIsReportedAndHarmless) {
  ToyPlugin other;
  other.delegate.create = [](etb_plugin*, const etb_delegate_args*, etb_delegate**,
                             etb_error* error) -> etb_status {
    std::snprintf(error->text, sizeof error->text, "another format");
    return ETB_INCOMPATIBLE;
  };
  Comparison comparison(with(other));
  LayerFixture fixture(std::vector<Layer>{comparison.layer()});
  ASSERT_EQ(fixture.start(), ETB_OK);
  EXPECT_EQ(fixture.execute(), ETB_OK);
  EXPECT_THAT(comparison.notes(),
              ::testing::ElementsAre("delegate 1 is not compared: other: another format"));
  EXPECT_FALSE(comparison.has_differences());
}

// The host plans memory by the answers of query.
TEST(Compare, MemoryOfTheAlternativeIsInTheAnswersOfQuery) {
  static constexpr uint64_t kResident = 1000, kContext = 70;
  ToyPlugin other;
  other.delegate.query = [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) -> etb_status {
    const etb_status status = toy_tables().delegate.query(delegate, info, error);
    info->resident_bytes = kResident;
    info->context_bytes = kContext;
    return status;
  };
  const auto query = [](LayerFixture& fixture) {
    EXPECT_EQ(fixture.start(), ETB_OK);
    EXPECT_EQ(fixture.execute(), ETB_OK);
    etb_delegate_info info{};
    info.struct_size = sizeof(info);
    EXPECT_EQ(fixture.delegates().query(fixture.delegate(), &info, nullptr), ETB_OK);
    return info;
  };
  LayerFixture alone(std::vector<Layer>{});
  const etb_delegate_info own = query(alone);
  Comparison comparison(with(other));
  LayerFixture fixture(std::vector<Layer>{comparison.layer()});
  const etb_delegate_info both = query(fixture);
  EXPECT_EQ(both.context_bytes, own.context_bytes + kContext);
  EXPECT_GT(both.resident_bytes, own.resident_bytes + kResident) << "and the copied payload";
  EXPECT_EQ(both.scratch_bytes, own.scratch_bytes);
}

TEST(Compare, OtherStatusesAndSizesAreDifferences) {
  ToyPlugin other;
  other.delegate.execute = [](etb_context*, const etb_exec_args*, etb_error* error) -> etb_status {
    std::snprintf(error->text, sizeof error->text, "no");
    return ETB_NOT_SUPPORTED;
  };
  Comparison comparison(with(other));
  LayerFixture fixture(std::vector<Layer>{comparison.layer()});
  ASSERT_EQ(fixture.start(), ETB_OK);
  EXPECT_EQ(fixture.execute(), ETB_OK);
  EXPECT_TRUE(comparison.has_differences());
  EXPECT_THAT(comparison.notes(),
              ::testing::ElementsAre("delegate 1: the plugin returned success, other returned no"));
}

TEST(Compare, TwoContextsOnTwoThreads) {
  ToyPlugin other;
  Comparison comparison(with(other));
  LayerFixture fixture(std::vector<Layer>{comparison.layer()});
  ASSERT_EQ(fixture.start(), ETB_OK);
  etb_context* contexts[2] = {};
  for (etb_context*& context : contexts)
    ASSERT_EQ(fixture.delegates().context_create(fixture.delegate(), nullptr, 0, &context, nullptr), ETB_OK);
  const auto work = [&](etb_context* context) {
    ToyRun run;
    for (int i = 0; i < 30; ++i)
      if (fixture.delegates().execute(context, &run.args, nullptr) != ETB_OK) ADD_FAILURE();
  };
  std::thread second(work, contexts[0]);
  work(contexts[1]);
  second.join();
  for (etb_context* context : contexts) fixture.delegates().context_destroy(context, nullptr);
  EXPECT_EQ(fixture.stop(), ETB_OK);
  EXPECT_EQ(comparison.outputs().at(0).run_count, 60u);
  EXPECT_FALSE(comparison.has_differences());
}

}  // namespace
}  // namespace etb::host
