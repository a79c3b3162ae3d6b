// SPDX-License-Identifier: Apache-2.0
// Plans of delegates for new sizes of inputs.
#include "host/module/input_reservations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "etb/cpp/fail.hpp"
#include "host/delegates/plugin_delegates.hpp"
#include "host/module/loaded_method.hpp"
#include "host/module/module.hpp"
#include "host/testing/delegate_program.hpp"
#include "host/testing/heap_calls.hpp"
#include "host/testing/linked_only.hpp"

namespace etb::host {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int64_t> planned;  // elements of the input, by call of context_reserve
size_t plans_before_run = 0;   // when the latest run of a delegate began
int64_t refused = -1;          // number of elements that the plugin does not plan for

const etb_plugin_table* ETB_CALL query(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin toy;
  toy.delegate.context_reserve = [](etb_context*, const etb_tensor* inputs, uint32_t,
                                    etb_error* error) -> etb_status {
    EXPECT_EQ(inputs[0].data, nullptr);
    planned.push_back(inputs[0].sizes[0]);
    return planned.back() == refused ? fail(error, ETB_OUT_OF_MEMORY, "refused") : ETB_OK;
  };
  toy.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) -> etb_status {
    plans_before_run = planned.size();
    return toy_tables().delegate.execute(context, args, error);
  };
  return &toy.plugin;
}

const etb_static_plugin kPlugins[] = {{ETB_INIT_SIZE(etb_static_plugin), 0, &query, kToyBackend}};

// Vectors of at most 4 elements.
DelegateProgram dynamic_program(size_t delegate_count) {
  DelegateProgram made({delegate_count, {kToyBackend, 1, 0, {}}});
  for (const size_t i : {0U, 1U, 2U}) std::get<format::TensorSpec>(made.method().values[i]).dynamism = 1;
  return made;
}

class InputReservationsTest : public testing::Test {
 protected:
  void load(DelegateProgram& program) {
    planned.clear();
    plans_before_run = 0;
    refused = -1;
    planned.reserve(1000);  // the tests count calls of the heap
    bytes_ = format::build_program(program.program);
    ModuleOptions options;
    options.delegates = &delegates_;
    auto opened = Module::from_bytes(bytes_, options);
    ASSERT_TRUE(opened) << opened.error().message;
    module_.emplace(*std::move(opened));
    const Status loaded = module_->load_method("forward");
    ASSERT_TRUE(loaded) << loaded.error().message;
  }
  // y = delegate(x)
  void load_one() {
    DelegateProgram program = dynamic_program(1);
    program.call(0, 0, 1);
    program.method().outputs = {1};
    load(program);
  }
  void forward(size_t count) {
    OwnedTensor x = vector_of(count);
    const auto outputs = module_->forward({x.value()});
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_EQ((*outputs)[0].tensor().numel(), static_cast<int64_t>(count));
  }
  static OwnedTensor vector_of(size_t count) {
    const int64_t sizes[] = {static_cast<int64_t>(count)};
    return OwnedTensor::make<float>(sizes, std::vector<float>(count, 1));
  }

  std::vector<std::byte> bytes_;
  Registry registry_{linked_only(kPlugins)};
  PluginDelegates delegates_{registry_};
  std::optional<Module> module_;
};

TEST_F(InputReservationsTest, ADelegatePlansOnceForTheSizesOfNewInputs) {
  load_one();
  EXPECT_THAT(planned, ElementsAre(4)) << "the largest sizes, at load";
  forward(4);
  EXPECT_THAT(planned, ElementsAre(4)) << "these are planned for";
  forward(2);
  EXPECT_THAT(planned, ElementsAre(4, 2));
  EXPECT_EQ(plans_before_run, 2u) << "before the run";
  for (int i = 0; i < 5; ++i) forward(2);
  EXPECT_TRUE(module_->run("forward"));
  EXPECT_THAT(planned, ElementsAre(4, 2)) << "the sizes stay";
  forward(3);
  forward(4);
  EXPECT_THAT(planned, ElementsAre(4, 2, 3, 4));
}

TEST_F(InputReservationsTest, ThePlanIsMadeWhenTheInputIsSetNotInTheRun) {
  load_one();
  OwnedTensor x = vector_of(1);
  ASSERT_TRUE(module_->set_input("forward", 0, x.value()));
  EXPECT_THAT(planned, ElementsAre(4, 1));
  ASSERT_TRUE(module_->run("forward"));
  EXPECT_THAT(planned, ElementsAre(4, 1));
}

TEST_F(InputReservationsTest, APlanThatFailsIsNoErrorOfTheRun) {
  load_one();
  refused = 3;
  forward(3);
  forward(3);
  EXPECT_THAT(planned, ElementsAre(4, 3)) << "nor is it tried again for the same sizes";
}

// u = first(x), y = second(u): only the run knows the sizes of u.
TEST_F(InputReservationsTest, ADelegateOfOtherValuesKeepsItsPlanForTheLargestSizes) {
  DelegateProgram program = dynamic_program(2);
  program.call(0, 0, 1);
  program.call(1, 1, 2);
  program.method().outputs = {2};
  load(program);
  EXPECT_THAT(planned, ElementsAre(4, 4));
  forward(2);
  EXPECT_THAT(planned, ElementsAre(4, 4, 2)) << "the first delegate's";
}

// A delegate that is called twice has arguments that change from call to call.
TEST_F(InputReservationsTest, ADelegateThatIsCalledTwiceKeepsItsPlan) {
  DelegateProgram program = dynamic_program(1);
  program.call(0, 0, 1);
  program.call(0, 0, 2);
  program.method().outputs = {2};
  load(program);
  forward(2);
  EXPECT_THAT(planned, ElementsAre(4));
}

TEST_F(InputReservationsTest, FixedSizesAreNotPlannedForAgain) {
  DelegateProgram program({{kToyBackend, 1, 0, {}}});
  program.call(0, 0, 1);
  program.method().outputs = {1};
  load(program);
  forward(4);
  EXPECT_THAT(planned, ElementsAre(4));
}

#if ETB_COUNTS_HEAP
TEST_F(InputReservationsTest, NewSizesDoNotUseTheHeap) {
  load_one();
  OwnedTensor small = vector_of(2), large = vector_of(4);
  const EValue values[][1] = {{small.value()}, {large.value()}};
  LoadedMethod& method = **module_->loaded("forward");
  for (const auto& each : values) {
    ASSERT_TRUE(method.set_inputs(each));
    ASSERT_TRUE(method.run({}));
  }
  const int before = heap_calls;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(method.set_inputs(values[i % 2]));
    ASSERT_TRUE(method.run({}));
  }
  EXPECT_EQ(heap_calls, before);
  EXPECT_EQ(planned.size(), 1u + 1 + 1 + 20);
}
#endif

}  // namespace
}  // namespace etb::host
