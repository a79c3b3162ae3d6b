// SPDX-License-Identifier: Apache-2.0
// Runs a method's delegates on a plugin over the C ABI, chosen by name from a table of linked plugins.
#include "host/delegates/plugin_delegates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "host/layers/trace/trace.hpp"
#include "host/layers/validate/validation.hpp"
#include "host/testing/linked_only.hpp"
#include "host/testing/method_fixture.hpp"
#include "host/testing/toy_plugin.hpp"

namespace etb::host {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const etb_plugin_table* ETB_CALL query_toy(const etb_host*, uint32_t, uint32_t) {
  return &toy_tables().plugin;
}

const etb_static_plugin kPlugins[] = {{ETB_INIT_SIZE(etb_static_plugin), 0, &query_toy, kToyBackend}};

// y = delegate(x) for vectors of up to 4 floats.
format::ProgramSpec program_with(const std::string& id, const std::string& payload, bool is_dynamic) {
  format::ProgramSpec program = format::add_program(4);
  auto& method = program.methods[0];
  for (const size_t i : {0U, 1U}) {
    std::get<format::TensorSpec>(method.values[i]).dynamism = is_dynamic ? 1 : 0;
  }
  method.inputs = {0};
  method.outputs = {1};
  method.delegates = {{id, 1, 0, {{"level", "3"}}}};
  method.instructions = {{2, 0, 0, {0, 1}}};
  program.segments = {payload};
  return program;
}

TEST(PluginDelegates, RunTheNamedPlugin) {
  Registry registry(linked_only(kPlugins));
  PluginDelegates delegates(registry);
  MethodFixture fixture(program_with(kToyBackend, kToyPayload, false));
  fixture.options.delegates = &delegates;
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  FloatVector x({1, 2, 3, 4});
  ASSERT_EQ(fixture.method.set_input(0, x.value(), &fixture.error), ETB_OK) << fixture.error.text;
  ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
  EXPECT_THAT(floats(fixture.method.output(0)), ElementsAre(2, 3, 4, 5));
  ASSERT_EQ(delegates.decisions().size(), 1U);
  EXPECT_EQ(delegates.decisions()[0]->name, kToyBackend);
  EXPECT_NE(delegates.decisions()[0]->winner(), nullptr);
}

TEST(PluginDelegates, CarrySizesThatChange) {
  Registry registry(linked_only(kPlugins));
  PluginDelegates delegates(registry);
  MethodFixture fixture(program_with(kToyBackend, kToyPayload, true));
  fixture.options.delegates = &delegates;
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  for (const size_t count : {2U, 4U, 1U}) {
    FloatVector x(std::vector<float>(count, 1));
    ASSERT_EQ(fixture.method.set_input(0, x.value(), &fixture.error), ETB_OK) << fixture.error.text;
    ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
    EXPECT_EQ(floats(fixture.method.output(0)), std::vector<float>(count, 2));
  }
}

// Writes the number of elements of its input as an integer.
const etb_plugin_table* ETB_CALL query_counting(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin toy;
  toy.delegate.execute = [](etb_context*, const etb_exec_args* args, etb_error*) -> etb_status {
    const etb_tensor& out = args->outputs[0];
    if (out.dtype != ETB_DTYPE_INT64 || out.rank != 0 || out.capacity_bytes < sizeof(int64_t))
      return ETB_INVALID_ARGUMENT;
    *static_cast<int64_t*>(out.data) = 100 + args->inputs[0].sizes[0];
    return ETB_OK;
  };
  return &toy.plugin;
}

TEST(PluginDelegates, CarryIntegersThatThePluginComputes) {
  const etb_static_plugin plugins[] = {{ETB_INIT_SIZE(etb_static_plugin), 0, query_counting, kToyBackend}};
  Registry registry(linked_only(plugins));
  PluginDelegates delegates(registry);
  auto program = program_with(kToyBackend, kToyPayload, true);
  constexpr int32_t kInteger = 3;  // alpha of add_program()
  program.methods[0].outputs = {kInteger};
  program.methods[0].instructions = {{2, 0, 0, {0, kInteger}}};
  MethodFixture fixture(program);
  fixture.options.delegates = &delegates;
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  for (const int64_t count : {2, 4}) {
    FloatVector x(std::vector<float>(static_cast<size_t>(count), 1));
    ASSERT_EQ(fixture.method.set_input(0, x.value(), &fixture.error), ETB_OK) << fixture.error.text;
    ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
    ASSERT_TRUE(fixture.method.output(0).is_int());
    EXPECT_EQ(fixture.method.output(0).to_int(), 100 + count);
  }
}

// ---- Deadlines

std::atomic<bool> was_asked = false;
std::atomic<int> ask_count = 0;

constexpr auto kLongest = std::chrono::seconds(20);  // ends a failing test

// Sleeps until `done` is true, or long after every deadline of these tests.
template <class Done>
bool sleep_until(Done done) {
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (!done() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return std::chrono::steady_clock::now() < end;
}

// Runs for 200 ms and checks no deadline.
const etb_plugin_table* ETB_CALL query_deaf(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin toy;
  toy.delegate.caps &= ~ETB_DELEGATE_CAP_CANCEL;
  toy.delegate.cancel = nullptr;
  toy.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) -> etb_status {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return toy_tables().delegate.execute(context, args, error);
  };
  return &toy.plugin;
}

// Runs until its cancel function is called.
const etb_plugin_table* ETB_CALL query_cancellable(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin toy;
  toy.delegate.execute = [](etb_context*, const etb_exec_args*, etb_error* error) -> etb_status {
    was_asked = false;
    sleep_until([] { return was_asked.load(); });
    error->code = ETB_CANCELLED;
    std::strcpy(error->text, "asked to stop");
    return ETB_CANCELLED;
  };
  toy.delegate.cancel = [](etb_context*, etb_error*) -> etb_status {
    return ++ask_count, was_asked = true, ETB_OK;
  };
  return &toy.plugin;
}

// Runs until the token is set.
const etb_plugin_table* ETB_CALL query_polling(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin toy;
  toy.delegate.caps &= ~ETB_DELEGATE_CAP_CANCEL;
  toy.delegate.cancel = nullptr;
  toy.delegate.execute = [](etb_context*, const etb_exec_args* args, etb_error* error) -> etb_status {
    sleep_until([args] { return args->cancel->is_cancelled(args->cancel->ctx) != 0; });
    error->code = ETB_CANCELLED;
    return ETB_CANCELLED;
  };
  return &toy.plugin;
}

struct SlowFixture {
  explicit SlowFixture(etb_plugin_query_fn query)
      : plugins{{ETB_INIT_SIZE(etb_static_plugin), 0, query, kToyBackend}},
        registry(linked_only(plugins)),
        delegates(registry),
        fixture(program_with(kToyBackend, kToyPayload, false)),
        x({1, 2, 3, 4}) {
    fixture.options.delegates = &delegates;
    EXPECT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
    EXPECT_EQ(fixture.method.set_input(0, x.value(), &fixture.error), ETB_OK) << fixture.error.text;
  }

  etb_static_plugin plugins[1];
  Registry registry;
  PluginDelegates delegates;
  MethodFixture fixture;
  FloatVector x;
};

RunLimits deadline_in(std::chrono::nanoseconds time) {
  RunLimits limits;
  limits.deadline_ns = kDefaultPlatformHooks.now_ns(nullptr) + static_cast<uint64_t>(time.count());
  return limits;
}

TEST(PluginDelegates, ACallThatOutlivesTheDeadlineFails) {
  SlowFixture slow(query_deaf);
  EXPECT_EQ(slow.fixture.method.execute(&slow.fixture.error, deadline_in(std::chrono::milliseconds(20))),
            ETB_DEADLINE_EXCEEDED);
  EXPECT_THAT(slow.fixture.error.text, HasSubstr("deadline passed after 1 instructions"));
  EXPECT_EQ(slow.fixture.method.execute(&slow.fixture.error, deadline_in(kLongest)), ETB_OK)
      << slow.fixture.error.text;
  EXPECT_THAT(floats(slow.fixture.method.output(0)), ElementsAre(2, 3, 4, 5));
}

TEST(PluginDelegates, APluginThatCanCancelIsAskedToAtTheDeadline) {
  SlowFixture slow(query_cancellable);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 1; i <= 3; ++i) {
    ask_count = 0;
    EXPECT_EQ(slow.fixture.method.execute(&slow.fixture.error, deadline_in(std::chrono::milliseconds(20))),
              ETB_DEADLINE_EXCEEDED);
    EXPECT_GE(ask_count, 1);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLongest / 2);

  std::atomic<bool> cancel = false;
  RunLimits limits;
  limits.cancel = &cancel;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancel = true;
  });
  EXPECT_EQ(slow.fixture.method.execute(&slow.fixture.error, limits), ETB_CANCELLED);
  other.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLongest / 2);
}

TEST(PluginDelegates, TheCancelTokenSaysWhenTheDeadlineHasPassed) {
  SlowFixture slow(query_polling);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(slow.fixture.method.execute(&slow.fixture.error, deadline_in(std::chrono::milliseconds(20))),
            ETB_DEADLINE_EXCEEDED);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLongest / 2);
}

// The runtime keeps the rules of the C ABI: a validating layer between both sides reports nothing.
TEST(PluginDelegates, RunBehindLayersWithoutAReport) {
  for (const auto memory : {ValidateOptions::Memory::CANARIES, ValidateOptions::Memory::GUARD_PAGES}) {
    std::vector<std::string> calls;
    Trace trace([&](const TracedCall& call) { calls.emplace_back(call.function); });
    ValidateOptions validate;
    validate.strict = true;
    validate.memory = memory;
    Validation validation(validate);
    {
      RegistryOptions options = linked_only(kPlugins);
      options.layers = {trace.layer(), validation.layer()};
      Registry registry(options);
      PluginDelegates delegates(registry);
      MethodFixture fixture(program_with(kToyBackend, kToyPayload, true));
      fixture.options.delegates = &delegates;
      ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
      for (const size_t count : {2U, 4U, 1U}) {
        FloatVector x(std::vector<float>(count, 1));
        ASSERT_EQ(fixture.method.set_input(0, x.value(), &fixture.error), ETB_OK) << fixture.error.text;
        ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
        EXPECT_EQ(floats(fixture.method.output(0)), std::vector<float>(count, 2));
      }
    }
    EXPECT_THAT(calls, Contains("delegate.execute"));
    EXPECT_EQ(calls.back(), "plugin.deinit");
    for (const Violation& violation : validation.take()) ADD_FAILURE() << format_violation(violation);
  }
}

const etb_plugin_table* ETB_CALL query_asking_toy(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin toy;
  toy.delegate.query_io = [](etb_delegate*, const etb_io_req_sink* sink, etb_error*) -> etb_status {
    etb_io_req req{};
    req.struct_size = ETB_INIT_SIZE(etb_io_req);
    req.alignment = 64;
    req.role = ETB_ROLE_INPUT;
    req.padding_bytes = 32;
    if (const etb_status status = sink->put(sink->ctx, &req); status != ETB_OK) return status;
    req.role = ETB_ROLE_OUTPUT;
    req.padding_bytes = 16;
    return sink->put(sink->ctx, &req);
  };
  return &toy.plugin;
}

// proves: ABI-EXEC-04
// The host copies tensors that do not meet the plugin's requirements: planned at the very end of an arena, a
// caller's with another alignment, a caller's that are shorter than the upper bound.
TEST(PluginDelegates, GiveMemoryAsThePluginAsked) {
  const etb_static_plugin plugins[] = {{ETB_INIT_SIZE(etb_static_plugin), 0, &query_asking_toy, kToyBackend}};
  for (const bool is_planned : {true, false}) {
    ValidateOptions validate;
    validate.strict = true;
    Validation validation(validate);
    {
      RegistryOptions options = linked_only(plugins);
      options.layers = {validation.layer()};
      Registry registry(options);
      PluginDelegates delegates(registry);
      format::ProgramSpec program = program_with(kToyBackend, kToyPayload, true);
      auto& input = std::get<format::TensorSpec>(program.methods[0].values[0]);
      input.memory_offset = 32;  // the last of the arena
      if (!is_planned) input.memory_id = 0;
      MethodFixture fixture(program);
      fixture.options.delegates = &delegates;
      ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
      alignas(64) float memory[5] = {0, 1, 2, 3, 4};
      for (const int64_t count : {2, 0, 4, 1}) {  // an output has its full size again after an empty one
        TensorStorage storage;
        Tensor x = storage.make(Dtype::FLOAT32, std::span(&count, 1), memory + 1,
                                static_cast<uint64_t>(count) * sizeof(float));
        ASSERT_EQ(fixture.method.set_input(0, EValue(&x), &fixture.error), ETB_OK) << fixture.error.text;
        ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
        std::vector<float> expected(memory + 1, memory + 1 + count);
        for (float& number : expected) number += 1;
        EXPECT_EQ(floats(fixture.method.output(0)), expected) << is_planned;
      }
    }
    for (const Violation& violation : validation.take()) ADD_FAILURE() << format_violation(violation);
  }
}

// Address of the output that the plugin below received.
const void* scribbled_behind = nullptr;

// Asks for padding after its output and writes there.
const etb_plugin_table* ETB_CALL query_scribbling_toy(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin toy;
  toy.delegate.query_io = [](etb_delegate*, const etb_io_req_sink* sink, etb_error*) -> etb_status {
    etb_io_req req{};
    req.struct_size = ETB_INIT_SIZE(etb_io_req);
    req.alignment = 4;
    req.role = ETB_ROLE_OUTPUT;
    req.padding_bytes = 16;
    return sink->put(sink->ctx, &req);
  };
  toy.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    scribbled_behind = args->outputs[0].data;
    std::memset(static_cast<float*>(args->outputs[0].data) + 4, 0xEE, 16);
    return toy_tables().delegate.execute(context, args, error);
  };
  return &toy.plugin;
}

// proves: ABI-EXEC-04
// The plugin writes an output in an arena in place, and the bytes after it are restored. Where these bytes
// belong to the call's own input, the host copies the output.
TEST(PluginDelegates, KeepWhatStandsBehindAnOutput) {
  const etb_static_plugin plugins[] = {
      {ETB_INIT_SIZE(etb_static_plugin), 0, &query_scribbling_toy, kToyBackend}};
  for (const int64_t input_offset : {64, 28}) {
    Registry registry(linked_only(plugins));
    PluginDelegates delegates(registry);
    format::ProgramSpec program = program_with(kToyBackend, kToyPayload, false);
    auto& method = program.methods[0];
    method.arena_sizes = {0, 128};
    std::get<format::TensorSpec>(method.values[0]).memory_offset = static_cast<uint64_t>(input_offset);
    std::get<format::TensorSpec>(method.values[1]).memory_offset = 0;
    MethodFixture fixture(program);
    fixture.options.delegates = &delegates;
    ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
    const std::span<std::byte> arena = fixture.arenas[0];
    FloatVector x({1, 2, 3, 4});
    ASSERT_EQ(fixture.method.set_input(0, x.value(), &fixture.error), ETB_OK) << fixture.error.text;
    for (size_t i = 16; i < 28; ++i) arena[i] = std::byte{0xAB};
    const std::vector<std::byte> before(arena.begin() + 16, arena.end());
    ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
    EXPECT_THAT(floats(fixture.method.output(0)), ElementsAre(2, 3, 4, 5)) << input_offset;
    EXPECT_EQ(scribbled_behind == arena.data(), input_offset == 64) << input_offset;
    EXPECT_EQ(std::vector<std::byte>(arena.begin() + 16, arena.end()), before) << input_offset;
  }
}

const etb_plugin_table* ETB_CALL query_greedy_toy(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin toy;
  toy.delegate.query_io = [](etb_delegate*, const etb_io_req_sink* sink, etb_error*) -> etb_status {
    etb_io_req req{};
    req.struct_size = ETB_INIT_SIZE(etb_io_req);
    req.alignment = 1 << 20;
    req.role = ETB_ROLE_OUTPUT;
    return sink->put(sink->ctx, &req);
  };
  return &toy.plugin;
}

TEST(PluginDelegates, RefuseWhatNoHostCouldGive) {
  const etb_static_plugin plugins[] = {{ETB_INIT_SIZE(etb_static_plugin), 0, &query_greedy_toy, kToyBackend}};
  Registry registry(linked_only(plugins));
  PluginDelegates delegates(registry);
  MethodFixture fixture(program_with(kToyBackend, kToyPayload, false));
  fixture.options.delegates = &delegates;
  EXPECT_EQ(fixture.load(), ETB_NOT_SUPPORTED);
  EXPECT_THAT(fixture.error.text, HasSubstr("output 0: alignment 1048576 and 0 bytes of padding requested"));
}

// Compile specs that the plugin below received in create.
std::vector<std::pair<std::string, std::string>> created_with;

const etb_plugin_table* ETB_CALL query_recording_toy(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin toy;
  toy.delegate.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                           etb_error* error) {
    created_with.clear();
    for (uint64_t i = 0; i < args->spec_count; ++i) {
      const etb_compile_spec& spec = *ETB_AT(etb_compile_spec, args->specs, i);
      created_with.emplace_back(spec.key,
                                std::string(static_cast<const char*>(spec.value.data), spec.value.nbytes));
    }
    return toy_tables().delegate.create(plugin, args, out, error);
  };
  return &toy.plugin;
}

// proves: ABI-SPEC-01
TEST(PluginDelegates, PassCompileSpecsOnByteForByte) {
  const etb_static_plugin plugins[] = {
      {ETB_INIT_SIZE(etb_static_plugin), 0, &query_recording_toy, kToyBackend}};
  Registry registry(linked_only(plugins));
  PluginDelegates delegates(registry);
  const std::string binary("\0\xff zero and all\0", 16);
  format::ProgramSpec program = program_with(kToyBackend, kToyPayload, false);
  program.methods[0].delegates[0].compile_specs = {{"level", "3"}, {"binary", binary}, {"empty", ""}};
  MethodFixture fixture(program);
  fixture.options.delegates = &delegates;
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  EXPECT_THAT(created_with, ElementsAre(std::pair<std::string, std::string>("level", "3"),
                                        std::pair<std::string, std::string>("binary", binary),
                                        std::pair<std::string, std::string>("empty", "")));
}

TEST(PluginDelegates, NameAnIdThatNobodyServes) {
  Registry registry(linked_only(kPlugins));
  PluginDelegates delegates(registry);
  MethodFixture fixture(program_with("NobodysBackend", kToyPayload, false));
  fixture.options.delegates = &delegates;
  EXPECT_EQ(fixture.load(), ETB_NOT_FOUND);
  EXPECT_THAT(fixture.error.text, HasSubstr("delegate 0 'NobodysBackend'"));
}

TEST(PluginDelegates, RefuseAPayloadThatThePluginRefuses) {
  Registry registry(linked_only(kPlugins));
  PluginDelegates delegates(registry);
  MethodFixture fixture(program_with(kToyBackend, "no toy", false));
  fixture.options.delegates = &delegates;
  EXPECT_NE(fixture.load(), ETB_OK);
  EXPECT_THAT(fixture.error.text, HasSubstr(kToyBackend));
}

TEST(PluginDelegates, CountTheArgumentsOfTheProgram) {
  Registry registry(linked_only(kPlugins));
  PluginDelegates delegates(registry);
  auto program = program_with(kToyBackend, kToyPayload, false);
  program.methods[0].instructions[0].args = {0, 1, 2};
  MethodFixture fixture(program);
  fixture.options.delegates = &delegates;
  EXPECT_EQ(fixture.load(), ETB_INCOMPATIBLE);
  EXPECT_THAT(fixture.error.text,
              HasSubstr("the program passes 3 arguments, the plugin expects 1 inputs and 1 outputs"));
}

}  // namespace
}  // namespace etb::host
