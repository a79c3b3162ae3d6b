// SPDX-License-Identifier: Apache-2.0
#include "host/profile/etdump_tracer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/module/module.hpp"
#include "host/profile/etdump_recording.hpp"

namespace etb::host {
namespace {

using testing::ElementsAre;

const std::string kPrograms = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/";

std::unique_ptr<EtdumpRecording> record(const RecordingOptions& options = {}) {
  auto recording = EtdumpRecording::make(options);
  EXPECT_TRUE(recording) << recording.error().message;
  return recording ? *std::move(recording) : nullptr;
}

std::vector<format::EtdumpBlock> blocks_of(const EtdumpRecording& recording) {
  auto blocks = recording.to_blocks();
  EXPECT_TRUE(blocks) << blocks.error().message;
  return blocks ? *std::move(blocks) : std::vector<format::EtdumpBlock>();
}

std::vector<std::string> names_of(const format::EtdumpBlock& block) {
  std::vector<std::string> names;
  for (const format::EtdumpEvent& event : block.events) names.push_back(event.name);
  return names;
}

Module add_module(EtdumpRecording& recording) {
  ModuleOptions options;
  options.tracer = &recording.tracer();
  return Module::open(kPrograms + "add.pte", options).value();
}

void run(Module& module) {
  auto x = OwnedTensor::make<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(module.forward({x.value(), x.value()}));
}

// The rows that the official run time writes for the same program.
TEST(EtdumpTracer, RecordsWhatTheOfficialRunTimeRecords) {
  const auto recording = record();
  Module module = add_module(*recording);
  run(module);
  recording->tracer().set_bundled_input_index(3);
  run(module);
  const auto blocks = blocks_of(*recording);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0].name, "Default");
  EXPECT_THAT(names_of(blocks[0]), ElementsAre("Method::init", "Program::load_method"));
  EXPECT_LE(blocks[0].events[1].begin_ns, blocks[0].events[0].begin_ns);
  EXPECT_GE(blocks[0].events[1].end_ns, blocks[0].events[0].end_ns);
  for (size_t i : {1, 2}) {
    EXPECT_EQ(blocks[i].name, "Execute");
    EXPECT_EQ(blocks[i].bundled_input_index, i == 1 ? -1 : 3);
    EXPECT_THAT(names_of(blocks[i]), ElementsAre("native_call_add.out", "OPERATOR_CALL", "Method::execute"));
    EXPECT_EQ(blocks[i].events[1].instruction_index, 0);
    EXPECT_LE(blocks[i].events[2].begin_ns, blocks[i].events[1].begin_ns);
    EXPECT_GE(blocks[i].events[2].end_ns, blocks[i].events[1].end_ns);
    EXPECT_TRUE(blocks[i].values.empty());
    EXPECT_TRUE(blocks[i].allocations.empty());
  }
}

TEST(EtdumpTracer, OperatorsOnNumbersHaveNoNativeCall) {
  const auto recording = record();
  EtdumpTracer& tracer = recording->tracer();
  tracer.on_begin(EventKind::kExecute);
  tracer.on_event({EventKind::kKernel, "aten::sym_size.int", 0, 0, 1, 2, true});
  tracer.on_event({EventKind::kKernel, "aten::add.out", 0, 1, 3, 4});
  EXPECT_THAT(names_of(blocks_of(*recording).at(0)),
              ElementsAre("OPERATOR_CALL", "native_call_add.out", "OPERATOR_CALL"));
}

TEST(EtdumpTracer, EventsOfADelegateBelongToItsCall) {
  const auto recording = record();
  EtdumpTracer& tracer = recording->tracer();
  tracer.on_begin(EventKind::kExecute);
  const etb_event_sink* const sink = tracer.delegate_events(0, 4);
  const char metadata[] = {1, 2, 3};
  etb_event event{};
  event.struct_size = ETB_INIT_SIZE(etb_event);
  event.name = "conv";
  event.debug_id = -1;
  event.begin_ticks = 10;
  event.end_ticks = 12;
  event.ns_numerator = 1000;
  event.ns_denominator = 4;
  event.metadata = {metadata, sizeof(metadata)};
  ASSERT_EQ(sink->put(sink->ctx, &event), ETB_OK);
  event.name = nullptr;
  event.debug_id = 9;
  ASSERT_EQ(sink->put(sink->ctx, &event), ETB_OK);
  event.debug_id = -1;
  ASSERT_EQ(sink->put(sink->ctx, &event), ETB_OK);
  tracer.on_event({EventKind::kDelegate, "XnnpackBackend", 0, 4, 1, 20});
  const auto blocks = blocks_of(*recording);
  ASSERT_EQ(blocks.size(), 1u);
  const auto& events = blocks[0].events;
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].delegate_debug_name, "conv");
  EXPECT_EQ(events[0].instruction_index, 4);
  EXPECT_EQ(events[0].end_ns - events[0].begin_ns, 500u);
  EXPECT_EQ(events[0].metadata.size(), 3u);
  EXPECT_EQ(events[1].delegate_debug_id, 9);
  EXPECT_EQ(events[1].delegate_debug_name, "");
  EXPECT_EQ(events[2].delegate_debug_name, "(unnamed)");
  EXPECT_EQ(events[3].name, "DELEGATE_CALL");
}

TEST(EtdumpTracer, TheMethodLevelHasOnlyTheMethod) {
  RecordingOptions options;
  options.profile_level = ProfileLevel::kMethod;
  const auto recording = record(options);
  EXPECT_FALSE(recording->tracer().wants().instructions);
  Module module = add_module(*recording);
  run(module);
  EXPECT_THAT(names_of(blocks_of(*recording).at(1)), ElementsAre("Method::execute"));
  EXPECT_EQ(recording->tracer().delegate_events(0, 0), nullptr);
}

TEST(EtdumpTracer, ProgramOutputsAreALevel) {
  RecordingOptions options;
  options.debug_level = DebugLevel::kProgramOutputs;
  const auto recording = record(options);
  Module module = add_module(*recording);
  run(module);
  const auto blocks = blocks_of(*recording);
  ASSERT_EQ(blocks.at(1).values.size(), 1u);
  const format::EtdumpDebugEvent& output = blocks[1].values[0];
  EXPECT_TRUE(output.is_output);
  EXPECT_EQ(output.chain_index, -1);
  EXPECT_EQ(output.instruction_index, 0);
  EXPECT_EQ(output.position, 3u);  // after Method::execute
}

TEST(EtdumpTracer, FiltersChooseByNameAndIndex) {
  const auto names = [](const FilterText& filter) {
    RecordingOptions options;
    options.event_filter = filter;
    const auto recording = record(options);
    EtdumpTracer& tracer = recording->tracer();
    tracer.on_begin(EventKind::kExecute);
    for (int run = 0; run < 2; ++run) {
      tracer.on_event({EventKind::kKernel, "aten::add.out", 0, 1, 3, 4});
      tracer.on_event({EventKind::kKernel, "aten::mul.out", 0, 2, 3, 4});
      const etb_event_sink* const sink = tracer.delegate_events(0, 3);
      etb_event event{};
      event.struct_size = ETB_INIT_SIZE(etb_event);
      event.name = "conv";
      event.debug_id = -1;
      EXPECT_EQ(sink->put(sink->ctx, &event), ETB_OK);
      event.name = nullptr;
      event.debug_id = 77;
      EXPECT_EQ(sink->put(sink->ctx, &event), ETB_OK);
      tracer.on_event({EventKind::kDelegate, "XnnpackBackend", 0, 3, 1, 20});
      tracer.on_event({EventKind::kExecute, "execute", -1, -1, 1, 30});
    }
    std::vector<std::string> found;
    const auto events = blocks_of(*recording).at(0).events;
    for (size_t i = 0; i < events.size() / 2; ++i) {
      const format::EtdumpEvent &event = events[i], &again = events[i + events.size() / 2];
      EXPECT_EQ(event.name, again.name);
      if (event.name == "OPERATOR_CALL") continue;
      found.push_back(event.delegate_debug_id >= 0 ? std::to_string(event.delegate_debug_id)
                                                   : event.name + event.delegate_debug_name);
    }
    return found;
  };
  EXPECT_THAT(names({}), ElementsAre("native_call_add.out", "native_call_mul.out", "conv", "77",
                                     "DELEGATE_CALL", "Method::execute"));
  // A pattern does not apply to what has no name.
  EXPECT_THAT(names({"^mul|conv", INT64_MIN, INT64_MAX}),
              ElementsAre("native_call_mul.out", "conv", "77", "Method::execute"));
  EXPECT_THAT(names({"Xnnpack", INT64_MIN, 3}), ElementsAre("DELEGATE_CALL", "Method::execute"));
  EXPECT_THAT(names({"", 2, 2}), ElementsAre("native_call_mul.out", "Method::execute"));
  EXPECT_THAT(names({"", 50, 80}), ElementsAre("77", "Method::execute"));
}

TEST(EtdumpTracer, ValuesOfEachKindAreRecorded) {
  RecordingOptions options;
  options.debug_level = DebugLevel::kIntermediateOutputs;
  const auto recording = record(options);
  EtdumpTracer& tracer = recording->tracer();
  tracer.on_begin(EventKind::kExecute);
  const Event call{EventKind::kDelegate, "XnnpackBackend", 0, 3, 1, 20};
  uint16_t elements[4] = {0x3F80, 0x4000, 0x4040, 0x4080};  // bfloat16 1, 2, 3, 4
  TensorStorage storage;
  Tensor tensor = storage.make(Dtype::BFLOAT16, std::vector<int64_t>{2, 2}, elements, sizeof(elements));
  EValue value(&tensor), none;
  EValue* items[] = {&value, &none, &value};
  tracer.on_value(call, value);
  tracer.on_value(call, EValue::optional_tensor_list(items));
  tracer.on_value(call, EValue(int64_t{-3}));
  tracer.on_value(call, EValue(true));
  tracer.on_value(call, EValue(0.5));
  tracer.on_value(call, none);
  const auto values = blocks_of(*recording).at(0).values;
  ASSERT_EQ(values.size(), 5u);
  EXPECT_EQ(values[0].value.tensors.at(0).dtype, static_cast<uint8_t>(Dtype::BFLOAT16));
  EXPECT_EQ(values[1].value.kind, format::EtdumpValueKind::kTensorList);
  ASSERT_EQ(values[1].value.tensors.size(), 2u);
  for (const auto& found : values[1].value.tensors) {
    const auto bytes = format::find_elements(found, recording->debug_bytes());
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_EQ(std::memcmp(bytes->data(), elements, sizeof(elements)), 0);
    EXPECT_EQ(found.offset % 64, 0);
  }
  EXPECT_EQ(values[2].value.integer, -3);
  EXPECT_TRUE(values[3].value.boolean);
  EXPECT_EQ(values[4].value.real, 0.5);
}

TEST(EtdumpTracer, Bfloat16IsRecordedAsFloat32OnRequest) {
  RecordingOptions options;
  options.debug_level = DebugLevel::kIntermediateOutputs;
  options.widens_bfloat16 = true;
  const auto recording = record(options);
  recording->tracer().on_begin(EventKind::kExecute);
  std::vector<uint16_t> elements(700);  // more than one piece
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<uint16_t>(0x3F80 + i);
  TensorStorage storage;
  Tensor tensor = storage.make(Dtype::BFLOAT16, std::vector<int64_t>{7, 100}, elements.data(), 1400);
  const EValue value(&tensor);
  const Event call{EventKind::kDelegate, "XnnpackBackend", 0, 3, 1, 20};
  recording->tracer().on_value(call, value);
  recording->tracer().on_value(call, value);
  const auto values = blocks_of(*recording).at(0).values;
  ASSERT_EQ(values.size(), 2u);
  for (const auto& each : values) {
    const auto& found = each.value.tensors.at(0);
    EXPECT_EQ(found.dtype, static_cast<uint8_t>(Dtype::FLOAT32));
    const auto bytes = format::find_elements(found, recording->debug_bytes());
    ASSERT_TRUE(bytes) << bytes.error().message;
    ASSERT_EQ(bytes->size(), 2800u);
    for (size_t i = 0; i < elements.size(); ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, bytes->data() + 4 * i, 4);
      ASSERT_EQ(bits, uint32_t{elements[i]} << 16) << i;
    }
  }
}

// Reports a value as a plugin does.
struct InnerValue {
  explicit InnerValue(const char* name, int64_t debug_id, std::vector<float> floats)
      : elements(std::move(floats)) {
    sizes[0] = static_cast<int64_t>(elements.size());
    tensor.struct_size = ETB_INIT_SIZE(etb_tensor);
    tensor.dtype = ETB_DTYPE_FLOAT32;
    tensor.rank = 1;
    tensor.sizes = sizes;
    tensor.data = elements.data();
    tensor.capacity_bytes = elements.size() * sizeof(float);
    value.struct_size = ETB_INIT_SIZE(etb_inner_value);
    value.name = name;
    value.debug_id = debug_id;
    value.tensor_count = 1;
    value.tensors = &tensor;
  }
  etb_status put(const etb_value_sink* sink) const { return sink->put_value(sink->events.ctx, &value); }

  std::vector<float> elements;
  int64_t sizes[1];
  etb_tensor tensor{};
  etb_inner_value value{};
};

TEST(EtdumpTracer, PluginsReportValuesInsideOfADelegate) {
  RecordingOptions options;
  options.debug_level = DebugLevel::kIntermediateOutputs;
  options.profile_level = ProfileLevel::kMethod;
  options.value_filter = {"conv", INT64_MIN, INT64_MAX};
  const auto recording = record(options);
  EtdumpTracer& tracer = recording->tracer();
  tracer.on_begin(EventKind::kExecute);
  const etb_value_sink* const sink = etb_values_of(tracer.delegate_events(0, 4));
  ASSERT_NE(sink, nullptr);
  EXPECT_EQ(sink->wants(sink->events.ctx, "conv1", -1), 1u);
  EXPECT_EQ(sink->wants(sink->events.ctx, "relu", -1), 0u);
  EXPECT_EQ(sink->wants(sink->events.ctx, nullptr, 7), 1u);
  ASSERT_EQ(InnerValue("conv1", -1, {1, 2, 3}).put(sink), ETB_OK);
  ASSERT_EQ(InnerValue("relu", -1, {4}).put(sink), ETB_OK);
  InnerValue numbered(nullptr, 7, {5, 6});
  ASSERT_EQ(numbered.put(sink), ETB_OK);
  numbered.value.kind = ETB_INNER_DOUBLE;
  numbered.value.real = 0.25;
  ASSERT_EQ(numbered.put(sink), ETB_OK);
  const auto values = blocks_of(*recording).at(0).values;
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[0].delegate_debug_name, "conv1");
  EXPECT_EQ(values[0].instruction_index, 4);
  const auto elements = format::find_elements(values[0].value.tensors.at(0), recording->debug_bytes());
  ASSERT_TRUE(elements) << elements.error().message;
  EXPECT_EQ(reinterpret_cast<const float*>(elements->data())[2], 3.F);
  EXPECT_EQ(values[1].delegate_debug_id, 7);
  EXPECT_EQ(values[2].value.real, 0.25);
}

TEST(EtdumpTracer, RefusesValuesThatAPluginReportsWrongly) {
  RecordingOptions options;
  options.debug_level = DebugLevel::kIntermediateOutputs;
  const auto recording = record(options);
  EtdumpTracer& tracer = recording->tracer();
  tracer.on_begin(EventKind::kExecute);
  const etb_value_sink* const sink = etb_values_of(tracer.delegate_events(0, 4));
  const auto refused = [&](auto change) {
    InnerValue made("conv", -1, {1, 2, 3});
    change(made);
    return made.put(sink) == ETB_INVALID_ARGUMENT;
  };
  static constexpr int64_t kStrides[1] = {2};
  static const etb_buffer_desc kBuffer{};
  EXPECT_TRUE(refused([](InnerValue& made) { made.sizes[0] = 4; }));
  EXPECT_TRUE(refused([](InnerValue& made) { made.sizes[0] = -1; }));
  EXPECT_TRUE(refused([](InnerValue& made) { made.tensor.rank = 40; }));
  EXPECT_TRUE(refused([](InnerValue& made) { made.tensor.dtype = 99; }));
  EXPECT_TRUE(refused([](InnerValue& made) { made.tensor.strides = kStrides; }));
  EXPECT_TRUE(refused([](InnerValue& made) { made.tensor.buffer = &kBuffer; }));
  EXPECT_TRUE(refused([](InnerValue& made) { made.value.tensor_count = 0; }));
  EXPECT_TRUE(refused([](InnerValue& made) { made.value.kind = 9; }));
  EXPECT_FALSE(refused([](InnerValue&) {}));
  EXPECT_EQ(blocks_of(*recording).at(0).values.size(), 1u);
}

TEST(EtdumpTracer, OffersNoValueSinkWhenNoValuesAreWanted) {
  const auto recording = record();
  EXPECT_EQ(etb_values_of(recording->tracer().delegate_events(0, 0)), nullptr);
  EXPECT_EQ(etb_values_of(nullptr), nullptr);
}

TEST(EtdumpTracer, MemoryIsRecordedByAllocator) {
  RecordingOptions options;
  options.allocations = true;
  const auto recording = record(options);
  Module module = add_module(*recording);
  run(module);
  const auto blocks = blocks_of(*recording);
  const MethodMeta meta = module.method_meta("forward").value();
  EXPECT_THAT(blocks.at(0).allocators, ElementsAre("planned memory 0", "method allocator"));
  ASSERT_EQ(blocks[0].allocations.size(), 2u);
  EXPECT_EQ(blocks[0].allocations[0].nbytes, meta.arena_nbytes(0));
  EXPECT_EQ(blocks[0].allocations[1].nbytes, meta.state_nbytes());
  EXPECT_TRUE(blocks.at(1).allocations.empty());
}

}  // namespace
}  // namespace etb::host
