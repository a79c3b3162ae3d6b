// SPDX-License-Identifier: Apache-2.0
#include "host/profile/etdump_tracer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/module/module.hpp"

namespace etb::host {
namespace {

const std::string kPrograms = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/";

std::vector<std::string> names_of(const format::EtdumpBlock& block) {
  std::vector<std::string> names;
  for (const format::EtdumpEvent& event : block.events) names.push_back(event.name);
  return names;
}

Module add_module(EtdumpTracer& tracer) {
  ModuleOptions options;
  options.tracer = &tracer;
  return Module::open(kPrograms + "add.pte", options).value();
}

void run(Module& module) {
  auto x = OwnedTensor::make<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(module.forward({x.value(), x.value()}));
}

// The rows that the official run time writes for the same program, but Method::init, which is a part of loading.
TEST(EtdumpTracer, RecordsWhatTheOfficialRunTimeRecords) {
  EtdumpTracer tracer;
  Module module = add_module(tracer);
  run(module);
  run(module);
  const auto blocks = tracer.blocks();
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0].name, "Default");
  EXPECT_THAT(names_of(blocks[0]), testing::ElementsAre("Program::load_method"));
  for (size_t i : {1, 2}) {
    EXPECT_EQ(blocks[i].name, "Execute");
    EXPECT_THAT(names_of(blocks[i]),
                testing::ElementsAre("native_call_add.out", "OPERATOR_CALL", "Method::execute"));
    EXPECT_EQ(blocks[i].events[1].instruction_index, 0);
    EXPECT_LE(blocks[i].events[2].begin_ns, blocks[i].events[1].begin_ns);
    EXPECT_GE(blocks[i].events[2].end_ns, blocks[i].events[1].end_ns);
  }
}

TEST(EtdumpTracer, OperatorsOnNumbersHaveNoNativeCall) {
  EtdumpTracer tracer;
  tracer.on_event({EventKind::kKernel, "executorch_prim::add.Scalar", 0, 0, 1, 2});
  tracer.on_event({EventKind::kKernel, "aten::add.out", 0, 1, 3, 4});
  EXPECT_THAT(names_of(tracer.blocks().at(0)),
              testing::ElementsAre("OPERATOR_CALL", "native_call_add.out", "OPERATOR_CALL"));
}

TEST(EtdumpTracer, StoresNoMoreThanItsLimit) {
  EtdumpTracer tracer(3);
  Module module = add_module(tracer);
  run(module);
  run(module);
  EXPECT_EQ(tracer.dropped_count(), 2u);  // of a load and two runs with two events each
  EXPECT_EQ(tracer.blocks().size(), 2u);
}

TEST(EtdumpTracer, EventsOfADelegateBelongToItsCall) {
  EtdumpTracer tracer;
  const etb_event_sink* const sink = tracer.delegate_events(0, 4);
  etb_event event{};
  event.struct_size = ETB_INIT_SIZE(etb_event);
  event.name = "conv";
  event.debug_id = -1;
  event.begin_ticks = 10;
  event.end_ticks = 12;
  event.ns_numerator = 1000;
  event.ns_denominator = 4;
  ASSERT_EQ(sink->put(sink->ctx, &event), ETB_OK);
  event.name = nullptr;
  event.debug_id = 9;
  ASSERT_EQ(sink->put(sink->ctx, &event), ETB_OK);
  tracer.on_event({EventKind::kDelegate, "XnnpackBackend", 0, 4, 1, 20});
  const auto blocks = tracer.blocks();
  ASSERT_EQ(blocks.size(), 1u);
  const auto& events = blocks[0].events;
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].delegate_debug_name, "conv");
  EXPECT_EQ(events[0].instruction_index, 4);
  EXPECT_EQ(events[0].end_ns - events[0].begin_ns, 500u);
  EXPECT_EQ(events[1].delegate_debug_id, 9);
  EXPECT_EQ(events[1].delegate_debug_name, "");
  EXPECT_EQ(events[2].name, "DELEGATE_CALL");
}

}  // namespace
}  // namespace etb::host
