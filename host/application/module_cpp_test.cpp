// SPDX-License-Identifier: Apache-2.0
// The C++ wrapper of the C API (etb/cpp/module.hpp).
#include "etb/cpp/module.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "api/format/etdump.hpp"
#include "api/format/etdump_program.hpp"
#include "api/testing/program_builder.hpp"
#include "host/testing/scratch_dir.hpp"
#include "host/testing/toy_application.hpp"

namespace etb::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string fixture(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/" + name;
}

std::span<const std::byte> span_of(const AlignedBytes& bytes) {
  return {static_cast<const std::byte*>(bytes.view().data), static_cast<size_t>(bytes.view().nbytes)};
}

TEST(ModuleCpp, RunsAProgram) {
  etb::Module module(fixture("add.pte"));
  EXPECT_THAT(module.method_names(), ElementsAre("forward"));
  const etb::Value x({2, 3}, {1.F, 2.F, 3.F, 4.F, 5.F, 6.F});
  const float borrowed[] = {10, 20, 30, 40, 50, 60};
  const int64_t sizes[] = {2, 3};
  const auto outputs = module.forward(x, etb::Value::view<float>(sizes, borrowed));
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_THAT(outputs[0].data<float>(), ElementsAre(11, 22, 33, 44, 55, 66));
  EXPECT_THAT(outputs[0].sizes(), ElementsAre(2, 3));
  EXPECT_THROW(outputs[0].data<double>(), std::invalid_argument);
  EXPECT_THROW(outputs[0].to_int(), std::invalid_argument);
  const auto again = module.execute("forward", std::vector<etb::Value>{x, x});
  EXPECT_THAT(again[0].data<float>(), ElementsAre(2, 4, 6, 8, 10, 12));
}

// Inputs in memory 1, the sum in memory 2.
AlignedBytes program_of_two_memories() {
  format::ProgramSpec spec = format::add_program(4);
  auto& sum = std::get<format::TensorSpec>(spec.methods[0].values[2]);
  sum.memory_id = 2;
  sum.memory_offset = 0;
  spec.methods[0].arena_sizes = {0, 32, 16};
  return AlignedBytes(format::build_program(spec));
}

TEST(ModuleCpp, PlannedMemoryComesFromTheAllocatorOfItsId) {
  alignas(64) std::byte fast[32], slow[16];
  etb::FixedMemory first({fast, sizeof fast}), second({slow, sizeof slow});
  etb::ModuleOptions options;
  options.memory_allocators = {first.service(), second.service()};
  const AlignedBytes program = program_of_two_memories();
  const etb::Value x({4}, {1.F, 2.F, 3.F, 4.F});
  const auto in = [](std::span<const std::byte> memory, const void* data) {
    return data >= memory.data() && data < memory.data() + memory.size();
  };
  for (int round = 0; round < 2; ++round) {  // the first module returns its memory
    etb::Module module(span_of(program), options);
    const auto outputs = module.forward(x, x);
    EXPECT_THAT(outputs[0].data<float>(), ElementsAre(2, 4, 6, 8));
    EXPECT_TRUE(in(slow, outputs[0].data<float>().data()));
    float kept = 0;
    std::memcpy(&kept, fast + 4, sizeof kept);
    EXPECT_EQ(kept, 2);
    etb::Module other(span_of(program), options);
    EXPECT_THROW(other.forward(x, x), etb::Failure) << "the memory is lent already";
  }
  options.memory_allocators = {nullptr, second.service()};
  etb::Module module(span_of(program), options);
  EXPECT_FALSE(in(fast, module.forward(x, x)[0].data<float>().data()));
}

TEST(ModuleCpp, AFixedMemoryThatIsTooSmallIsAnErrorWithTheSizeThatIsNeeded) {
  alignas(64) std::byte fast[31];
  etb::FixedMemory first(fast);
  etb::ModuleOptions options;
  options.memory_allocators = {first.service()};
  const AlignedBytes program = program_of_two_memories();
  etb::Module module(span_of(program), options);
  const etb::Value x({4}, {1.F, 2.F, 3.F, 4.F});
  try {
    module.forward(x, x);
    FAIL() << "ran";
  } catch (const etb::Failure& failure) {
    EXPECT_EQ(failure.code(), ETB_OUT_OF_MEMORY);
    EXPECT_THAT(failure.what(), HasSubstr("arena 0 of 32 bytes: its allocator has no memory"));
  }
}

TEST(ModuleCpp, ThrowsTheWholeError) {
  try {
    const etb::Module module("/nonexistent.pte");
    FAIL() << "opened";
  } catch (const etb::Failure& failure) {
    EXPECT_EQ(failure.code(), ETB_NOT_FOUND);
    EXPECT_THAT(failure.what(), HasSubstr("/nonexistent.pte"));
  }
  etb::Module module(fixture("add.pte"));
  EXPECT_THROW(module.forward(etb::Value(3)), etb::Failure);
  EXPECT_THROW(etb::Value({2, 3}, {1.F}), std::invalid_argument);
}

TEST(ModuleCpp, RunsDelegatesAndReportsThem) {
  const etb::Registry registry(toy_registry_options());
  ASSERT_EQ(registry.plugins().size(), 1U);
  EXPECT_THAT(registry.explain("ToyBackend"), HasSubstr(toy_plugin_id()));
  const AlignedBytes program = toy_program();
  etb::ModuleOptions options;
  options.registry = &registry;
  options.choices = {{"ToyBackend", toy_plugin_id(), "toy"}};
  options.settings = {{"ToyBackend", "bias", "0.5"}};
  etb::Module module(span_of(program), options);
  const auto outputs = module.forward(etb::Value({4}, {1.F, 2.F, 3.F, 4.F}));
  EXPECT_THAT(outputs[0].data<float>(), ElementsAre(2.5, 3.5, 4.5, 5.5));
  module.set_option("ToyBackend", "bias", "-1");
  EXPECT_THAT(module.forward(etb::Value({4}, {1.F, 2.F, 3.F, 4.F}))[0].data<float>(),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THROW(module.set_option("ToyBackend", "speed", "1"), etb::Failure);
  EXPECT_THAT(module.decisions(),
              ElementsAre(std::pair<std::string, std::string>("ToyBackend", toy_plugin_id())));
}

// overlapped_method_test shows that runs overlap.
TEST(ModuleCpp, RunsDelegatesBesideEachOther) {
  const etb::Registry registry(toy_registry_options());
  const AlignedBytes program = two_branch_program();
  for (const bool is_async : {false, true}) {
    etb::ModuleOptions options;
    options.registry = &registry;
    options.is_async = is_async;
    etb::Module module(span_of(program), options);
    for (int i = 0; i < 3; ++i) {
      const auto outputs = module.forward(etb::Value({4}, {1.F, 2.F, 3.F, 4.F}));
      EXPECT_THAT(outputs[0].data<float>(), ElementsAre(4, 6, 8, 10));
    }
  }
}

TEST(ModuleCpp, RecordsWhatItDoes) {
  etb::RecordingOptions wanted;
  wanted.values = ETB_RECORD_ALL_VALUES;
  wanted.has_allocations = true;
  etb::Recording recording(wanted);
  etb::ModuleOptions options;
  options.recording = &recording;
  etb::Module module(fixture("add.pte"), options);
  const etb::Value x({2, 3}, {1.F, 2.F, 3.F, 4.F, 5.F, 6.F});
  recording.set_input_index(4);
  module.forward(x, x);
  const auto blocks = format::read_etdump(recording.bytes());
  ASSERT_TRUE(blocks) << blocks.error().message;
  ASSERT_EQ(blocks->size(), 2U);
  EXPECT_FALSE((*blocks)[0].allocations.empty());
  EXPECT_EQ((*blocks)[1].bundled_input_index, 4);
  EXPECT_EQ((*blocks)[1].events.size(), 3U);
  ASSERT_EQ((*blocks)[1].values.size(), 2U);
  const auto debug = recording.debug_bytes();
  const auto elements = format::find_elements((*blocks)[1].values[0].value.tensors.at(0), debug);
  ASSERT_TRUE(elements) << elements.error().message;
  EXPECT_EQ(reinterpret_cast<const float*>(elements->data())[5], 12.F);
  EXPECT_EQ(recording.dropped_count(), 0U);
  recording.clear();
  EXPECT_TRUE(format::read_etdump(recording.bytes())->empty());
}

// The identity of the program that a recording carries; an empty one for none.
format::ProgramIdentity identity_of(const etb::Recording& recording) {
  const auto blocks = format::read_etdump(recording.bytes());
  EXPECT_TRUE(blocks);
  return format::find_program(*blocks).value_or(format::ProgramIdentity{});
}

TEST(ModuleCpp, ARecordingNamesItsProgram) {
  const auto add = format::identify_program(fixture("add.pte"));
  ASSERT_TRUE(add);
  const etb::Recording recording;
  etb::ModuleOptions options;
  options.recording = &recording;
  const etb::Value x({2, 3}, {1.F, 2.F, 3.F, 4.F, 5.F, 6.F});
  etb::Module(fixture("add.pte"), options).forward(x, x);
  EXPECT_EQ(identity_of(recording), *add);  // after the module was closed
  etb::Module again(fixture("add.pte"), options);
  again.forward(x, x);
  EXPECT_EQ(identity_of(recording), *add);
}

TEST(ModuleCpp, ARecordingOfAProgramInMemoryHasTheDigestOfItsBytes) {
  const auto add = format::identify_program(fixture("add.pte"));
  ASSERT_TRUE(add);
  std::ifstream in(fixture("add.pte"), std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(in)), {});
  alignas(16) static std::byte bytes[1 << 16];
  ASSERT_LE(file.size(), sizeof(bytes));
  std::memcpy(bytes, file.data(), file.size());
  const etb::Recording recording;
  etb::ModuleOptions options;
  options.recording = &recording;
  const etb::Value x({2, 3}, {1.F, 2.F, 3.F, 4.F, 5.F, 6.F});
  etb::Module(std::span<const std::byte>(bytes, file.size()), options).forward(x, x);
  EXPECT_EQ(identity_of(recording).sha256, add->sha256);
  EXPECT_EQ(identity_of(recording).name, "program in memory");
}

TEST(ModuleCpp, ARecordingOfTwoProgramsNamesNone) {
  const etb::Recording recording;
  etb::ModuleOptions options;
  options.recording = &recording;
  const etb::Value x({2, 3}, {1.F, 2.F, 3.F, 4.F, 5.F, 6.F});
  etb::Module(fixture("add.pte"), options).forward(x, x);
  EXPECT_NE(identity_of(recording).sha256, "");
  const etb::Module other(fixture("conv.pte"), options);
  EXPECT_EQ(identity_of(recording).sha256, "");
}

TEST(ModuleCpp, AClearedRecordingNamesTheProgramThatIsStillOpen) {
  etb::Recording recording;
  etb::ModuleOptions options;
  options.recording = &recording;
  const etb::Value x({2, 3}, {1.F, 2.F, 3.F, 4.F, 5.F, 6.F});
  etb::Module(fixture("conv.pte"), options).load();
  etb::Module module(fixture("add.pte"), options);
  recording.clear();
  module.forward(x, x);
  EXPECT_EQ(identity_of(recording).name, "add.pte");
}

TEST(ModuleCpp, ModulesOfARecordingAreClosedOnAnyThread) {
  const etb::Recording recording;
  etb::ModuleOptions options;
  options.recording = &recording;
  std::vector<std::unique_ptr<etb::Module>> modules;
  for (const char* name : {"add.pte", "conv.pte", "add.pte", "conv.pte"})
    modules.push_back(std::make_unique<etb::Module>(fixture(name), options));
  std::vector<std::thread> threads;
  for (auto& module : modules) threads.emplace_back([&module] { module.reset(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(recording.bytes().empty());
}

TEST(ModuleCpp, ARecordingMayChooseAndWritesItsFiles) {
  const ScratchDir dir;
  etb::RecordingOptions wanted;
  wanted.has_instructions = false;
  wanted.values = ETB_RECORD_ALL_VALUES;
  wanted.value_filter.pattern = "no such operator";
  wanted.debug_path = dir.path("run.bin");
  const etb::Recording recording(wanted);
  etb::ModuleOptions options;
  options.recording = &recording;
  etb::Module module(fixture("add.pte"), options);
  const etb::Value x({2, 3}, {1.F, 2.F, 3.F, 4.F, 5.F, 6.F});
  module.forward(x, x);
  recording.write(dir.path("run.etdp"));
  EXPECT_EQ(std::filesystem::file_size(dir.path("run.bin")), 24U);  // the output alone
  const auto blocks = format::read_etdump(recording.bytes());
  ASSERT_TRUE(blocks) << blocks.error().message;
  EXPECT_EQ((*blocks)[1].events.size(), 1U);
  EXPECT_EQ(std::filesystem::file_size(dir.path("run.etdp")), recording.bytes().size());
  module.forward(x, x);
  recording.write(dir.path("run.etdp"));
  EXPECT_EQ(recording.dropped_count(), 1U);  // the debug buffer was complete
}

TEST(ModuleCpp, RecordingsRefuseWhatTheyCannotDo) {
  etb::RecordingOptions wanted;
  wanted.event_filter.pattern = "(";
  EXPECT_THROW(etb::Recording{wanted}, etb::Failure);
  wanted = {};
  wanted.values = 9;
  EXPECT_THROW(etb::Recording{wanted}, etb::Failure);
  wanted = {};
  wanted.debug_path = "/no/such/folder/run.bin";
  EXPECT_THROW(etb::Recording{wanted}, etb::Failure);
  const etb::Recording recording;
  EXPECT_THROW(recording.write("/no/such/folder/run.etdp"), etb::Failure);
  EXPECT_EQ(etb_recording_write(nullptr, "x", nullptr), ETB_INVALID_ARGUMENT);
  etb_trace_sink trace{};
  trace.struct_size = ETB_INIT_SIZE(etb_trace_sink);
  trace.put = [](void*, const etb_trace_event*) -> etb_status { return ETB_OK; };
  etb::ModuleOptions options;
  options.recording = &recording;
  options.trace = &trace;
  EXPECT_THROW(etb::Module(fixture("add.pte"), options), etb::Failure);
}

TEST(ModuleCpp, DescribesAProgramBeforeItIsLoaded) {
  const AlignedBytes program = toy_program("NoSuchBackend");
  const etb::Module module(span_of(program));
  EXPECT_THAT(module.delegates(), ElementsAre("NoSuchBackend"));
  ASSERT_EQ(module.inputs().size(), 1U);
  EXPECT_EQ(module.inputs()[0].kind, ETB_VALUE_TENSOR);
  EXPECT_EQ(module.inputs()[0].dtype, ETB_DTYPE_FLOAT32);
  EXPECT_THAT(module.inputs()[0].sizes, ElementsAre(4));
  EXPECT_FALSE(module.inputs()[0].is_dynamic);
  EXPECT_EQ(module.outputs()[0].nbytes, 16U);
  EXPECT_TRUE(etb::Module(fixture("dynamic.pte")).inputs()[0].is_dynamic);
  EXPECT_THAT(etb::Module(fixture("add.pte")).delegates(), testing::IsEmpty());
  EXPECT_THROW(module.inputs("backward"), etb::Failure);
  EXPECT_THROW(module.delegates("backward"), etb::Failure);
}

TEST(ModuleCpp, RunsInSteps) {
  etb::Module module(fixture("add.pte"));
  const etb::Value x({2, 3}, {1.F, 2.F, 3.F, 4.F, 5.F, 6.F});
  EXPECT_THROW(module.run(), etb::Failure);
  module.set_input(0, x);
  module.set_input(1, x);
  module.run();
  EXPECT_THAT(module.output(0).data<float>(), ElementsAre(2, 4, 6, 8, 10, 12));
  module.start();
  EXPECT_TRUE(module.wait());
  EXPECT_THAT(module.output(0).data<float>(), ElementsAre(2, 4, 6, 8, 10, 12));
  etb::Module second = module.again();
  EXPECT_THAT(second.forward(x, x)[0].data<float>(), ElementsAre(2, 4, 6, 8, 10, 12));
  module.unload();
  EXPECT_THROW(module.output(0), etb::Failure);
}

TEST(ModuleCpp, ARunThatEndsStartsTheNext) {
  etb::Module module(fixture("add.pte"));
  const etb::Value x({2, 3}, {1.F, 2.F, 3.F, 4.F, 5.F, 6.F});
  EXPECT_THROW(module.start([](const etb_error*) { FAIL() << "the run did not start"; }), etb::Failure);
  module.set_input(0, x);
  module.set_input(1, x);
  std::promise<int> all_ended;
  int ended_count = 0;
  std::function<void(const etb_error*)> next = [&](const etb_error* error) {
    EXPECT_EQ(error, nullptr);
    if (++ended_count == 3) return all_ended.set_value(ended_count);
    module.start(next);
  };
  module.start(next);
  EXPECT_EQ(all_ended.get_future().get(), 3);
  EXPECT_TRUE(module.wait());
  EXPECT_THAT(module.output(0).data<float>(), ElementsAre(2, 4, 6, 8, 10, 12));
}

TEST(ModuleCpp, ARunThatFailsSaysSo) {
  const AlignedBytes program = endless_program();
  etb::Module module(span_of(program));
  std::promise<etb_status> ended;
  module.start([&](const etb_error* error) { ended.set_value(error == nullptr ? ETB_OK : error->code); });
  module.cancel();
  EXPECT_EQ(ended.get_future().get(), ETB_CANCELLED);
}

TEST(ModuleCpp, AModuleThatIsOpenedAgainUsesTheDelegatesOfTheFirst) {
  const etb::Registry registry(toy_registry_options());
  etb::ModuleOptions options;
  options.registry = &registry;
  const AlignedBytes program = toy_program();
  const ToyCounts before = toy_counts();
  auto first = std::make_unique<etb::Module>(span_of(program), options);
  etb::Module second = first->again(options);
  const etb::Value x({4}, {1.F, 2.F, 3.F, 4.F});
  for (etb::Module* const module : {first.get(), &second})
    EXPECT_THAT(module->forward(x)[0].data<float>(), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(toy_counts().delegates_made - before.delegates_made, 1);
  EXPECT_EQ(toy_counts().contexts_made - before.contexts_made, 2);
  first.reset();
  EXPECT_EQ(toy_counts().delegates_alive - before.delegates_alive, 1);
  EXPECT_THAT(second.forward(x)[0].data<float>(), ElementsAre(2, 3, 4, 5));
}

TEST(ModuleCpp, WaitsForARunAndCancelsIt) {
  const AlignedBytes program = endless_program();
  etb::Module module(span_of(program));
  etb_run_limits limits = ETB_RUN_LIMITS_INIT;
  limits.max_instructions = UINT64_MAX;
  module.start({}, &limits);
  EXPECT_FALSE(module.wait(1));
  module.cancel();
  try {
    module.wait();
    FAIL() << "ended";
  } catch (const etb::Failure& failure) {
    EXPECT_EQ(failure.code(), ETB_CANCELLED);
  }
}

TEST(ModuleCpp, ListsDevicesAndReceivesTheLog) {
  const etb::Registry registry(toy_registry_options());
  const auto devices = registry.devices("ToyBackend");
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].name, "toy");
  std::vector<std::string> lines;
  {
    const etb::Log log([&](uint32_t, const char* text) { lines.emplace_back(text); }, ETB_LOG_DEBUG);
    etb::Module module(fixture("add.pte"));
    module.load();
  }
  const size_t count = lines.size();
  etb::Module(fixture("add.pte")).load();
  EXPECT_EQ(lines.size(), count);
}

}  // namespace
}  // namespace etb::host
