// SPDX-License-Identifier: Apache-2.0
#include "host/layers/fault/fault.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/testing/every_function.hpp"

namespace etb::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A toy plugin behind faults, with the lines that the layer prints.
struct FaultWorld {
  explicit FaultWorld(const std::string& text)
      : faults(*fault::parse_rules(text), [this](const std::string& line) { lines.push_back(line); }),
        fixture(std::vector<Layer>{faults.layer()}) {}
  std::vector<std::string> lines;
  Faults faults;
  LayerFixture fixture;
};

TEST(Faults, WithoutRulesTheLayerChangesNothing) {
  for (const bool is_outside : {true, false}) {
    Faults faults({}, [](const std::string& line) { ADD_FAILURE() << line; });
    ValidateOptions options;
    options.strict = true;
    Validation validation(options);
    std::vector<Layer> layers{faults.layer(), validation.layer()};
    if (!is_outside) std::swap(layers[0], layers[1]);
    LayerFixture fixture(layers);
    ASSERT_EQ(fixture.start(), ETB_OK) << fixture.error.text;
    call_every_function(fixture);
    for (const Violation& violation : validation.take()) ADD_FAILURE() << format_violation(violation);
    EXPECT_EQ(faults.fault_count(), 0u);
  }
}

TEST(Faults, HappenAtTheCallsOfTheirRule) {
  FaultWorld world("out-of-memory,at=delegate.execute,nth=2+seed=1");
  ASSERT_EQ(world.fixture.start(), ETB_OK);
  EXPECT_EQ(world.fixture.execute(), ETB_OK);
  EXPECT_EQ(world.fixture.execute(), ETB_OUT_OF_MEMORY);
  EXPECT_STREQ(world.fixture.error.text, "no memory (a fault of the fault layer)");
  EXPECT_EQ(world.fixture.execute(), ETB_OK);
  EXPECT_EQ(world.fixture.stop(), ETB_OK) << "nothing leaks";
  EXPECT_THAT(world.lines, ElementsAre("fault: 1 rule, seed 1; seed=1 repeats these faults",
                                       "fault: out-of-memory in delegate.execute(context 1)"));
}

TEST(Faults, ALostDeviceStaysLost) {
  FaultWorld world("device-lost,nth=2");
  ASSERT_EQ(world.fixture.start(), ETB_OK);
  EXPECT_EQ(world.fixture.execute(), ETB_OK);
  EXPECT_EQ(world.fixture.execute(), ETB_UNAVAILABLE);
  EXPECT_STREQ(world.fixture.error.reason, "fault.device-lost");
  EXPECT_EQ(world.fixture.execute(), ETB_UNAVAILABLE);
  etb_delegate* other = nullptr;
  EXPECT_EQ(world.fixture.create(&other), ETB_UNAVAILABLE);
  EXPECT_EQ(world.fixture.stop(), ETB_OK) << "objects can still be ended";
}

TEST(Faults, ReturnAnyStatus) {
  FaultWorld world("status,status=deadline-exceeded,every=2");
  ASSERT_EQ(world.fixture.start(), ETB_OK);
  EXPECT_EQ(world.fixture.execute(), ETB_OK);
  EXPECT_EQ(world.fixture.execute(), ETB_DEADLINE_EXCEEDED);
  EXPECT_EQ(world.fixture.execute(), ETB_OK);
}

TEST(Faults, Delay) {
  FaultWorld world("delay,ms=30");
  ASSERT_EQ(world.fixture.start(), ETB_OK);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(world.fixture.execute(), ETB_OK);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(30));
}

// The payload as the plugin received it.
struct Seen {
  static std::vector<std::byte>& payload() {
    static std::vector<std::byte> bytes;
    return bytes;
  }
  static etb_status create(etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                           etb_error* error) {
    const auto* const data = static_cast<const std::byte*>(args->payload->data);
    payload().assign(data, data + args->payload->nbytes);
    return toy_tables().delegate.create(plugin, args, out, error);
  }
};

std::vector<std::byte> payload_behind(const std::string& rules, etb_status* out_status) {
  FaultWorld world(rules);
  world.fixture.toy.delegate.create = Seen::create;
  EXPECT_EQ(world.fixture.start(), ETB_OK);
  etb_delegate* made = nullptr;
  *out_status = world.fixture.create(&made);
  if (made != nullptr) world.fixture.delegates().destroy(made, nullptr);
  EXPECT_EQ(world.fixture.stop(), ETB_OK);
  return Seen::payload();
}

TEST(Faults, DamagePayloadsAndRepeatBySeed) {
  etb_status status = ETB_OK;
  const std::vector<std::byte> whole = payload_behind("", &status);
  ASSERT_EQ(status, ETB_OK);
  const std::vector<std::byte> one = payload_behind("flip-payload,bits=3+seed=5", &status);
  ASSERT_EQ(one.size(), whole.size());
  EXPECT_NE(one, whole);
  EXPECT_EQ(payload_behind("flip-payload,bits=3+seed=5", &status), one);
  EXPECT_NE(payload_behind("flip-payload,bits=3+seed=6", &status), one);
  const std::vector<std::byte> cut = payload_behind("cut-payload,bytes=14", &status);
  EXPECT_EQ(cut.size(), 2u);
  EXPECT_EQ(status, ETB_INVALID_DATA) << "the toy's own message for a payload of 2 bytes";
  EXPECT_EQ(payload_behind("cut-payload", &status).size(), whole.size() / 2);
}

TEST(Faults, FlipBitsOfOutputs) {
  FaultWorld world("flip-output,bits=1,nth=1+seed=3");
  ASSERT_EQ(world.fixture.start(), ETB_OK);
  EXPECT_EQ(world.fixture.execute(), ETB_OK);
  EXPECT_THAT(world.fixture.run.out, ::testing::Not(::testing::Each(2.0F)));
  EXPECT_THAT(world.lines.back(),
              HasSubstr("fault: flip-output in delegate.execute(context 1): output 0, bit "));
  EXPECT_EQ(world.fixture.execute(), ETB_OK);
  EXPECT_THAT(world.fixture.run.out, ::testing::Each(2.0F));
}

TEST(Faults, ByChanceAreAsFrequentAsTheirNumber) {
  FaultWorld world("status,status=busy,chance=0.25+seed=11");
  ASSERT_EQ(world.fixture.start(), ETB_OK);
  std::string first;
  for (int i = 0; i < 400; ++i) first += world.fixture.execute() == ETB_OK ? '.' : 'x';
  const auto count = std::count(first.begin(), first.end(), 'x');
  EXPECT_GT(count, 60);
  EXPECT_LT(count, 140);
  FaultWorld again("status,status=busy,chance=0.25+seed=11");
  ASSERT_EQ(again.fixture.start(), ETB_OK);
  std::string second;
  for (int i = 0; i < 400; ++i) second += again.fixture.execute() == ETB_OK ? '.' : 'x';
  EXPECT_EQ(second, first);
}

// Each function fails in turn. Nothing crashes, and every object can be ended.
TEST(Faults, InAnyFunctionLeaveThePluginWhole) {
#define ETB_REQUIRED(table, function) \
  if (std::string(#function) != "init") functions.push_back(#table "." #function);
#define ETB_OPTIONAL(table, function, cap) functions.push_back(#table "." #function);
  std::vector<std::string> functions;
#include "host/plugin/table_functions.def"
#undef ETB_REQUIRED
#undef ETB_OPTIONAL
  for (const std::string& function : functions) {
    FaultWorld world("out-of-memory,nth=1,at=" + function);
    ASSERT_EQ(world.fixture.start(), ETB_OK);
    etb_delegate* delegate = nullptr;
    etb_context* context = nullptr;
    const etb_delegate_table& table = world.fixture.delegates();
    for (int i = 0; i < 2 && delegate == nullptr; ++i) world.fixture.create(&delegate);
    ASSERT_NE(delegate, nullptr) << function;
    for (int i = 0; i < 2 && context == nullptr; ++i)
      table.context_create(delegate, nullptr, 0, &context, nullptr);
    ASSERT_NE(context, nullptr) << function;
    for (int i = 0; i < 2; ++i) table.execute(context, &world.fixture.run.args, nullptr);
    while (table.context_destroy(context, nullptr) != ETB_OK) continue;
    while (table.destroy(delegate, nullptr) != ETB_OK) continue;
    while (world.fixture.table().deinit(world.fixture.plugin, nullptr) != ETB_OK) continue;
    world.fixture.plugin = nullptr;
  }
  FaultWorld init("out-of-memory,at=plugin.init");
  EXPECT_EQ(init.fixture.start(), ETB_OUT_OF_MEMORY);
}

}  // namespace
}  // namespace etb::host
