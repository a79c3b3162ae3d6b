// SPDX-License-Identifier: Apache-2.0
// Tests runs on the host's threads, and the events of a run.
#include <optional>

#include "plugins/xnnpack/testing/compile_fixture.hpp"
#include "plugins/xnnpack/testing/workers_fixture.hpp"

namespace etb::xnnpack {
namespace {

class XnnpackThreadPoolAdapter : public XnnpackCompile {
 protected:
  void SetUp() override {
    host_.ctx = &workers_.service;
    XnnpackCompile::SetUp();
  }

  // Builds two layers of `width`, the first with a relu, over 64 rows.
  void make(int64_t width) {
    model_.emplace();
    const uint32_t x = model_->input({64, width});
    input_ = random_tensor({64, width});
    const auto weight = [&] {
      const TestTensor made = random_tensor({width, width});
      return model_->constant(made.sizes, made.data);
    };
    const uint32_t first = weight(), second = weight();
    const auto layer = [&](uint32_t in, uint32_t by) {
      return model_->node("aten.linear.default", {arg(in, "input"), arg(by, "weight")}, {64, width});
    };
    const uint32_t relu = model_->node("aten.relu.default", {arg(layer(x, first), "self")}, {64, width});
    model_->output(layer(relu, second));
    output_ = {{64, width}, std::vector<float>(static_cast<size_t>(64 * width))};
  }
  std::vector<float> run_with(Workers::Temper temper) {
    workers_.temper = temper;
    run(*model_, {input_}, output_);
    return output_.data;
  }

  Workers workers_;
  std::optional<Model> model_;
  TestTensor input_, output_;
};

TEST_F(XnnpackThreadPoolAdapter, GivesTheSameWhateverTheHostDoesWithItsThreads) {
#if !ETB_PTHREADPOOL_HAS_EXECUTOR
  GTEST_SKIP() << "this pthreadpool runs on threads of its own";
#endif
  make(128);
  const auto busy = run_with(Workers::Temper::kBusy);
  EXPECT_EQ(workers_.call_count, 1);  // one for the whole run
  EXPECT_EQ(run_with(Workers::Temper::kBackwards), busy);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(run_with(Workers::Temper::kThreads), busy) << "run " << i;
  EXPECT_EQ(workers_.call_count, 52);
}

TEST_F(XnnpackThreadPoolAdapter, OneWorkerOrLittleWorkNeedsNoThread) {
  make(16);
  run_with(Workers::Temper::kThreads);
  EXPECT_EQ(workers_.call_count, 0) << "for little work";
  workers_.count = 1;
  make(128);
  run_with(Workers::Temper::kThreads);
  EXPECT_EQ(workers_.call_count, 0) << "with one worker";
}

TEST_F(XnnpackThreadPoolAdapter, LargeWeightsArePackedOnAllThreads) {
  make(768);
  workers_.count = 1;
  const auto alone = run_with(Workers::Temper::kThreads);
  EXPECT_EQ(workers_.call_count, 0);
  workers_.count = 4;
  for (const auto temper : {Workers::Temper::kBusy, Workers::Temper::kBackwards, Workers::Temper::kThreads}) {
    for (int i = 0; i < 5; ++i) {
      const auto together = run_with(temper);
      for (size_t e = 0; e < alone.size(); ++e) ASSERT_NEAR(together[e], alone[e], 1e-2f) << "seed " << kSeed;
    }
  }
  workers_.temper = Workers::Temper::kBusy;
  workers_.call_count = 0;
  run(*model_, {input_}, output_);
#if ETB_PTHREADPOOL_HAS_EXECUTOR
  EXPECT_EQ(workers_.call_count, 2) << "one packs, one runs";
#endif
}

TEST_F(XnnpackThreadPoolAdapter, EveryOperatorHasAnEventThatLeadsToItsSources) {
  make(128);
  Compiled made;
  ASSERT_EQ(compile(model_->image(), made), ETB_OK) << error_.text;
  std::vector<std::string> names;
  uint64_t last_ticks = 0;
  struct Seen {
    std::vector<std::string>& names;
    uint64_t& last_ticks;
  } seen{names, last_ticks};
  const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &seen,
                               [](void* ctx, const etb_event* event) -> etb_status {
                                 auto& all = *static_cast<Seen*>(ctx);
                                 EXPECT_LE(all.last_ticks, event->begin_ticks);
                                 EXPECT_LE(event->begin_ticks, event->end_ticks);
                                 all.last_ticks = event->end_ticks;
                                 all.names.push_back(event->name);
                                 return ETB_OK;
                               }};
  events_ = &sink;
  run(*model_, {input_}, output_);
  ASSERT_EQ(names, (std::vector<std::string>{"FullyConnected #0", "FullyConnected #1"}));
  EXPECT_THAT(made.sources.at(names[0]), ElementsAre(1, 2)) << "layer and relu";
  EXPECT_THAT(made.sources.at(names[1]), ElementsAre(3));
}

}  // namespace
}  // namespace etb::xnnpack
