// SPDX-License-Identifier: Apache-2.0
// Methods: inputs, runs, state, dynamic sizes, delegates, and error messages.
#include "host/runtime/method.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "host/testing/method_fixture.hpp"

namespace etb::host {
namespace {

using format::BoolListSpec;
using format::IntListSpec;
using format::MethodSpec;
using format::ProgramSpec;
using format::TensorSpec;
using testing::ElementsAre;
using testing::HasSubstr;
using TestFixture = AddFixture;

constexpr uint8_t kKernel = 1, kDelegate = 2, kFree = 5;

TEST(Method, AddsTwoVectors) {
  TestFixture fixture(format::add_program(3));
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  FloatVector x({1, 2, 3});
  FloatVector y({10, 20, 30});
  ASSERT_EQ(fixture.method.set_input(0, x.value(), &fixture.error), ETB_OK) << fixture.error.text;
  ASSERT_EQ(fixture.method.set_input(1, y.value(), &fixture.error), ETB_OK) << fixture.error.text;
  ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
  EXPECT_THAT(floats(fixture.method.output(0)), ElementsAre(11, 22, 33));
}

TEST(Method, NeedsTheStateThatItsMetaSays) {
  TestFixture fixture(format::add_program(3));
  ASSERT_EQ(fixture.load(), ETB_OK);  // with exactly that many bytes
  const auto fewer = std::span(fixture.state_memory).first(fixture.state_memory.size() - 512);
  BumpAllocator state(fewer);
  Method method;
  EXPECT_EQ(method.load(fixture.program, "forward", {&state, fixture.arenas, fixture.scratch},
                        fixture.options, &fixture.error),
            ETB_OUT_OF_MEMORY);
}

TEST(Method, NamesWhatIsWrongWithAnInput) {
  TestFixture fixture(format::add_program(3));
  ASSERT_EQ(fixture.load(), ETB_OK);
  const auto refusal = [&](uint32_t index, const EValue& value) {
    EXPECT_EQ(fixture.method.set_input(index, value, &fixture.error), ETB_INVALID_ARGUMENT);
    return std::string(fixture.error.text);
  };
  FloatVector four({1, 2, 3, 4});
  EXPECT_EQ(refusal(1, four.value()), "input 1: sizes: found float32 [4], expected float32 [3]");
  int64_t ints[3] = {};
  TensorStorage storage;
  Tensor whole = storage.make(Dtype::INT64, std::array<int64_t, 1>{3}, ints, sizeof(ints));
  EXPECT_EQ(refusal(0, EValue(&whole)), "input 0: dtype: found int64 [3], expected float32 [3]");
  float elements[3] = {};
  Tensor matrix = storage.make(Dtype::FLOAT32, std::array<int64_t, 2>{3, 1}, elements, sizeof(elements));
  EXPECT_EQ(refusal(0, EValue(&matrix)), "input 0: rank: found float32 [3, 1], expected float32 [3]");
  FloatVector three({1, 2, 3});
  int64_t strides[] = {2};
  int64_t sizes[] = {3};
  const uint8_t order[] = {0};
  Tensor sparse(Dtype::FLOAT32, 1, sizes, order, strides, three.elements.data(), sizeof(elements));
  std::fill(strides, strides + 1, 2);
  EXPECT_EQ(refusal(0, EValue(&sparse)), "input 0: dim order: found strides [2], expected [1]");
  EXPECT_EQ(refusal(0, EValue(int64_t{3})), "input 0: kind: found int 3, expected float32 [3]");
  EXPECT_EQ(refusal(2, four.value()), "input 2: the method has 2 inputs");
}

// Log lines go to standard error only with these hooks.
TEST(Method, LogsToStandardErrorWhenAsked) {
  ProgramSpec spec = format::add_program(3);
  spec.methods[0].operators[0] = {"my::op", ""};
  for (const PlatformHooks* hooks : {&kDefaultPlatformHooks, &kLoggingPlatformHooks}) {
    TestFixture fixture(spec);
    fixture.options.platform = hooks;
    testing::internal::CaptureStderr();
    EXPECT_EQ(fixture.load(), ETB_OPERATOR_MISSING);
    const std::string logged = testing::internal::GetCapturedStderr();
    EXPECT_EQ(logged.find("etbackend error: no kernel for my::op") != std::string::npos,
              hooks == &kLoggingPlatformHooks);
  }
}

TEST(Method, ListsAllMissingKernelsAtLoad) {
  ProgramSpec spec = format::add_program(3);
  spec.methods[0].operators.push_back({"aten::sort", "values"});
  spec.methods[0].operators.push_back({"my::op", ""});
  spec.methods[0].instructions.push_back({kKernel, 1, 0, {0, 2}});
  spec.methods[0].instructions.push_back({kKernel, 2, 0, {3}});
  spec.methods[0].instructions.push_back({kKernel, 1, 0, {1, 2}});
  TestFixture fixture(spec);
  PlatformHooks quiet = kDefaultPlatformHooks;
  static std::string logged;
  logged.clear();
  quiet.log = [](void*, LogLevel, const char* text) { logged += std::string(text) + "\n"; };
  fixture.options.platform = &quiet;
  ASSERT_EQ(fixture.load_program(), ETB_OK);
  EXPECT_EQ(fixture.load_method(), ETB_OPERATOR_MISSING);
  EXPECT_STREQ(
      fixture.error.text,
      "method 'forward': no kernel for 2 of 3 operators: aten::sort.values(float32 float32), my::op()");
  EXPECT_EQ(logged, "no kernel for aten::sort.values(float32 float32)\nno kernel for my::op()\n");
}

// Specialised kernels: one dtype and dim order each.
TEST(Method, RunsTheKernelMadeForItsTensors) {
  static const Kernel kSpecial[] = {{"aten::add.out", "T=T=ST!",
                                     [](KernelContext&, EValue** args) -> etb_status {
                                       args[3]->tensor().data_as<float>()[0] = 77;
                                       return ETB_OK;
                                     },
                                     "6;0|6;0|6;0"}};
  const KernelRows table(kSpecial);
  TestFixture fixture(format::add_program(1));
  ASSERT_EQ(fixture.registry.add(table), ETB_OK);
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK);
  EXPECT_THAT(floats(fixture.method.output(0)), ElementsAre(77));
}

TEST(Method, NamesTheDtypesThatNoKernelWasMadeFor) {
  static const Kernel kDouble[] = {{"aten::add.out", "T=T=ST!", &add_floats, "7;0|7;0|7;0"}};
  const KernelRows table(kDouble);
  TestFixture fixture(format::add_program(1));
  PlatformHooks quiet = kDefaultPlatformHooks;
  quiet.log = nullptr;
  fixture.options.platform = &quiet;
  KernelRegistry registry;
  ASSERT_EQ(registry.add(table), ETB_OK);
  fixture.options.kernels = &registry;
  ASSERT_EQ(fixture.load_program(), ETB_OK);
  EXPECT_EQ(fixture.load_method(), ETB_OPERATOR_MISSING);
  EXPECT_THAT(fixture.error.text, HasSubstr("aten::add.out(float32 float32"));
}

TEST(Method, NamesTheMethodsThereAre) {
  ProgramSpec spec = format::add_program(3);
  spec.methods.push_back(spec.methods[0]);
  spec.methods[1].name = "encode";
  TestFixture fixture(spec);
  ASSERT_EQ(fixture.load_program(), ETB_OK);
  EXPECT_EQ(fixture.load_method("decode"), ETB_NOT_FOUND);
  EXPECT_STREQ(fixture.error.text, "no method 'decode'; the program has 2: forward, encode");
}

TEST(Method, RefusesTooLittleMemory) {
  TestFixture fixture(format::add_program(3));
  ASSERT_EQ(fixture.load_program(), ETB_OK);
  MethodMeta meta;
  ASSERT_EQ(fixture.program.find_method("forward", &meta, nullptr), ETB_OK);
  fixture.make_memory(meta);
  BumpAllocator small(std::span(fixture.state_memory).first(meta.state_nbytes() / 2));
  EXPECT_EQ(fixture.method.load(fixture.program, "forward", {&small, fixture.arenas, {}}, fixture.options,
                                &fixture.error),
            ETB_OUT_OF_MEMORY);
  EXPECT_THAT(fixture.error.text, HasSubstr("expected " + std::to_string(meta.state_nbytes())));
  fixture.arenas[0] = fixture.arenas[0].first(47);
  EXPECT_EQ(fixture.method.load(fixture.program, "forward", {&fixture.state, fixture.arenas, {}},
                                fixture.options, &fixture.error),
            ETB_OUT_OF_MEMORY);
  EXPECT_STREQ(fixture.error.text, "method 'forward': arena 0 of 47 bytes, expected 48");
}

// ---- Memory

TEST(Method, BorrowsWhatTheProgramDidNotPlan) {
  ProgramSpec spec = format::add_program(3);
  for (size_t i : {0U, 1U, 2U}) std::get<TensorSpec>(spec.methods[0].values[i]).memory_id = 0;
  spec.methods[0].arena_sizes = {0};
  TestFixture fixture(spec);
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  EXPECT_EQ(fixture.method.execute(&fixture.error), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(fixture.error.text, HasSubstr("argument 0: the tensor has no memory"));
  FloatVector x({1, 2, 3});
  FloatVector y({10, 20, 30});
  std::array<float, 3> out{};
  ASSERT_EQ(fixture.method.set_input(0, x.value(), &fixture.error), ETB_OK) << fixture.error.text;
  ASSERT_EQ(fixture.method.set_input(1, y.value(), &fixture.error), ETB_OK);
  EXPECT_EQ(
      fixture.method.set_output_memory(0, std::as_writable_bytes(std::span(out)).first(8), &fixture.error),
      ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(fixture.error.text, "output 0: 8 bytes given, expected 12");
  ASSERT_EQ(fixture.method.set_output_memory(0, std::as_writable_bytes(std::span(out)), &fixture.error),
            ETB_OK);
  ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
  EXPECT_THAT(out, ElementsAre(11, 22, 33));
}

TEST(Method, RefusesMemoryForAPlannedOutput) {
  TestFixture fixture(format::add_program(3));
  ASSERT_EQ(fixture.load(), ETB_OK);
  std::array<float, 3> out{};
  EXPECT_EQ(fixture.method.set_output_memory(0, std::as_writable_bytes(std::span(out)), &fixture.error),
            ETB_INVALID_ARGUMENT);
  EXPECT_THAT(fixture.error.text, HasSubstr("the program planned its memory"));
}

TEST(Method, AcceptsOnlyTheValueOfAFixedInput) {
  ProgramSpec spec = format::add_program(1);
  auto& method = spec.methods[0];
  const auto first = static_cast<int32_t>(method.values.size());
  method.values.insert(method.values.end(), {int64_t{3}, true, 0.5, std::monostate{}});
  for (int32_t i = 0; i < 4; ++i) method.inputs.push_back(first + i);
  const auto fixed = static_cast<uint32_t>(method.inputs.size()) - 4;
  TestFixture fixture(spec);
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  const EValue right[] = {EValue(int64_t{3}), EValue(true), EValue(0.5), EValue()};
  const EValue wrong[] = {EValue(int64_t{4}), EValue(false), EValue(0.25), EValue(int64_t{0})};
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(fixture.method.meta().is_fixed_input(fixed + i));
    EXPECT_EQ(fixture.method.set_input(fixed + i, right[i], &fixture.error), ETB_OK) << fixture.error.text;
    EXPECT_EQ(fixture.method.set_input(fixed + i, wrong[i], &fixture.error), ETB_INVALID_ARGUMENT) << i;
  }
  EXPECT_FALSE(fixture.method.meta().is_fixed_input(0));
  EXPECT_EQ(fixture.method.set_input(fixed, wrong[0], &fixture.error), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(fixture.error.text, HasSubstr("fixes: found int 4, expected int 3"));
}

TEST(Method, TakesAnyValueOfANumberThatAnInstructionReads) {
  ProgramSpec spec = format::add_program(1);
  auto& method = spec.methods[0];
  const int32_t alpha = method.instructions[0].args[2];
  method.inputs.push_back(alpha);
  TestFixture fixture(spec);
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  const auto index = static_cast<uint32_t>(method.inputs.size()) - 1;
  EXPECT_FALSE(fixture.method.meta().is_fixed_input(index));
  EXPECT_EQ(fixture.method.set_input(index, EValue(int64_t{7}), &fixture.error), ETB_OK)
      << fixture.error.text;
}

TEST(Method, KeepsStateBetweenRunsFromItsInitialValue) {
  ProgramSpec spec = format::add_program(2);  // state = x + state
  const float initial[2] = {5, 6};
  spec.segments = {std::string(reinterpret_cast<const char*>(initial), sizeof(initial))};
  spec.mutable_offsets = {0, 0};
  std::get<TensorSpec>(spec.methods[0].values[1]).data_index = 1;
  spec.methods[0].inputs = {0};
  spec.methods[0].outputs = {1};
  spec.methods[0].instructions[0].args = {0, 1, 3, 1, 1};
  TestFixture fixture(spec);
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  FloatVector x({1, 10});
  ASSERT_EQ(fixture.method.set_input(0, x.value(), &fixture.error), ETB_OK);
  ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK);
  EXPECT_THAT(floats(fixture.method.output(0)), ElementsAre(6, 16));
  ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK);
  EXPECT_THAT(floats(fixture.method.output(0)), ElementsAre(7, 26));
}

TEST(Method, NeverWritesAConstant) {
  ProgramSpec spec = format::add_program(2);  // constant = x + y
  spec.segments = {std::string(8, 'c')};
  spec.constant_offsets = {0, 0};
  auto& out = std::get<TensorSpec>(spec.methods[0].values[2]);
  out.memory_id = 0;
  out.data_index = 1;
  TestFixture fixture(spec);
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  FloatVector x({1, 10});
  ASSERT_EQ(fixture.method.set_input(0, x.value(), &fixture.error), ETB_OK);
  ASSERT_EQ(fixture.method.set_input(1, x.value(), &fixture.error), ETB_OK);
  EXPECT_EQ(fixture.method.execute(&fixture.error), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(fixture.error.text, HasSubstr("out does not fit"));
}

TEST(Method, TakesSizesWithinTheBoundAndRefusesMore) {
  for (const bool is_planned : {true, false}) {
    ProgramSpec spec = format::add_program(4);
    for (size_t i : {0U, 1U, 2U}) {
      auto& tensor = std::get<TensorSpec>(spec.methods[0].values[i]);
      tensor.dynamism = 1;
      if (!is_planned && i < 2) tensor.memory_id = 0;
    }
    TestFixture fixture(spec);
    ASSERT_EQ(fixture.load(), ETB_OK);
    for (const size_t count : {3U, 1U, 4U}) {
      FloatVector x(std::vector<float>(count, 1));
      FloatVector y(std::vector<float>(count, 2));
      ASSERT_EQ(fixture.method.set_input(0, x.value(), &fixture.error), ETB_OK) << fixture.error.text;
      ASSERT_EQ(fixture.method.set_input(1, y.value(), &fixture.error), ETB_OK) << fixture.error.text;
      ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
      EXPECT_EQ(floats(fixture.method.output(0)), std::vector<float>(count, 3));
    }
    FloatVector five({1, 2, 3, 4, 5});
    EXPECT_EQ(fixture.method.set_input(0, five.value(), &fixture.error), ETB_INVALID_ARGUMENT);
    EXPECT_STREQ(fixture.error.text,
                 "input 0: sizes beyond the upper bound: found float32 [5], expected float32 [4]");
  }
}

TEST(Method, RefusesUnboundedTensors) {
  ProgramSpec spec = format::add_program(4);
  std::get<TensorSpec>(spec.methods[0].values[2]).dynamism = 2;
  TestFixture fixture(spec);
  EXPECT_EQ(fixture.load(), ETB_NOT_SUPPORTED);
  EXPECT_THAT(fixture.error.text, HasSubstr("value 2: tensor of unbounded size"));
}

TEST(Method, SurvivesAFreedInputTensor) {
  ProgramSpec spec = format::add_program(4);
  spec.methods[0].instructions.push_back({kFree, 0, 0, {}});
  TestFixture fixture(spec);
  ASSERT_EQ(fixture.load(), ETB_OK);
  ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK);
  EXPECT_EQ(fixture.method.execute(&fixture.error), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(fixture.error.text, HasSubstr("no memory"));
  FloatVector x({1, 2, 3, 4});
  EXPECT_EQ(fixture.method.set_input(0, x.value(), &fixture.error), ETB_INVALID_PROGRAM);
}

// ---- Delegates and tracing

struct Negate final : MethodDelegate, DelegateResolver {
  etb_status create(const DelegateRequest& request, MethodDelegate** out,
                    etb_error* error) noexcept override {
    if (request.id != "Negate") return fail(error, ETB_NOT_FOUND, "nobody serves it");
    payload.assign(reinterpret_cast<const char*>(request.payload->bytes().data()),
                   request.payload->bytes().size());
    spec = request.compile_specs.compile_spec(0).key;
    etb_status status = request.named_data->find("weights", &weights, nullptr, error);
    *out = this;
    return status;
  }
  etb_status execute(const DelegateRun& run) noexcept override {
    const Tensor& x = run.arguments[0]->tensor();
    Tensor& y = run.arguments[1]->tensor();
    if (x.data_as<float>()[0] == 0) return fail(run.error, ETB_UNAVAILABLE, "device lost");
    for (int64_t i = 0; i < x.numel(); ++i) y.data_as<float>()[i] = -x.data_as<float>()[i];
    return ETB_OK;
  }
  void destroy() noexcept override { ++destroyed_count; }

  std::string payload, spec;
  DataBlock weights;
  int destroyed_count = 0;
};

ProgramSpec delegate_program(const char* id) {
  MethodSpec method;
  method.values = {vector_spec(2, 0), vector_spec(2, 16)};
  method.inputs = {0};
  method.outputs = {1};
  method.arena_sizes = {0, 32};
  method.delegates = {{id, 1, 0, {{"level", "3"}}}};
  method.instructions = {{kDelegate, 0, 0, {0, 1}}};
  ProgramSpec program;
  program.methods = {method};
  program.segments = {"the payload", "the weights"};
  program.named_data = {{"weights", 1}};
  return program;
}

// The delegate asks for a key that the table does not have until the map answers something else than "not found".
struct AsksForMissingKeys final : MethodDelegate, DelegateResolver {
  etb_status create(const DelegateRequest& request, MethodDelegate**, etb_error* error) noexcept override {
    DataBlock block;
    etb_status status = ETB_NOT_FOUND;
    for (; status == ETB_NOT_FOUND; ++count)
      status = request.named_data->find("none", &block, nullptr, error);
    return status;
  }
  etb_status execute(const DelegateRun&) noexcept override { return ETB_OK; }
  void destroy() noexcept override {}

  uint64_t count = 0;
};

TEST(Method, SearchesOfNamedDataAreBounded) {
  AsksForMissingKeys asks;
  ProgramSpec program = delegate_program("Any");
  constexpr uint64_t kKeys = 4096;
  program.named_data.clear();
  for (uint64_t i = 0; i < kKeys; ++i) program.named_data.push_back({"key" + std::to_string(i), 1});
  TestFixture fixture(program);
  fixture.options.delegates = &asks;
  EXPECT_EQ(fixture.load(), ETB_OUT_OF_RESOURCES);
  EXPECT_THAT(fixture.error.text, HasSubstr("'none': 4096 entries in the program"));
  EXPECT_EQ(asks.count, NamedDataMap::kMaxComparisons / kKeys + 1);
}

TEST(Method, RunsADelegateByName) {
  Negate negate;
  {
    TestFixture fixture(delegate_program("Negate"));
    fixture.options.delegates = &negate;
    ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
    EXPECT_EQ(negate.payload, "the payload");
    EXPECT_EQ(negate.spec, "level");
    EXPECT_EQ(negate.weights.bytes().size(), 11U);
    FloatVector x({1, 2});
    ASSERT_EQ(fixture.method.set_input(0, x.value(), &fixture.error), ETB_OK);
    ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
    EXPECT_THAT(floats(fixture.method.output(0)), ElementsAre(-1, -2));
    FloatVector zero({0, 0});
    ASSERT_EQ(fixture.method.set_input(0, zero.value(), &fixture.error), ETB_OK);
    EXPECT_EQ(fixture.method.execute(&fixture.error), ETB_UNAVAILABLE);
    EXPECT_STREQ(fixture.error.text,
                 "method 'forward', chain 0, instruction 0: delegate 'Negate': device lost");
  }
  EXPECT_EQ(negate.destroyed_count, 1);
}

TEST(Method, NamesADelegateThatNobodyServes) {
  Negate negate;
  TestFixture fixture(delegate_program("Unknown"));
  fixture.options.delegates = &negate;
  EXPECT_EQ(fixture.load(), ETB_NOT_FOUND);
  EXPECT_STREQ(fixture.error.text, "method 'forward': delegate 0 'Unknown': nobody serves it");
  EXPECT_EQ(negate.destroyed_count, 0);
}

struct Recorder final : EventTracer {
  void on_event(const Event& event) noexcept override {
    names.push_back(event.name + std::string("@") + std::to_string(event.instruction_index));
    EXPECT_LE(event.begin_ns, event.end_ns);
  }
  void on_begin(EventKind kind) noexcept override {
    names.push_back(kind == EventKind::kExecute ? "begin execute" : "begin load");
  }
  void on_value(const Event& call, const EValue& value) noexcept override {
    EXPECT_TRUE(value.is_tensor());
    names.push_back("value of " + std::string(call.name));
  }
  void on_output(const EValue& value) noexcept override {
    EXPECT_TRUE(value.is_tensor());
    names.push_back("output");
  }
  void on_allocation(const Allocation& allocation) noexcept override { allocations.push_back(allocation); }
  using EventTracer::wants_;
  std::vector<std::string> names;
  std::vector<Allocation> allocations;
};

TEST(Method, ReportsItsEvents) {
  Recorder recorder;
  TestFixture fixture(format::add_program(3));
  fixture.options.tracer = &recorder;
  ASSERT_EQ(fixture.load(), ETB_OK);
  ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
  EXPECT_THAT(recorder.names, ElementsAre("begin load", "init@-1", "load_method@-1", "begin execute",
                                          "aten::add.out@0", "execute@-1"));
  EXPECT_TRUE(recorder.allocations.empty());
}

TEST(Method, ReportsValuesAndAllocationsThatATracerWants) {
  Recorder recorder;
  recorder.wants_ = {true, true, true, true};
  TestFixture fixture(format::add_program(3));
  fixture.options.tracer = &recorder;
  ASSERT_EQ(fixture.load(), ETB_OK);
  ASSERT_EQ(recorder.allocations.size(), fixture.arenas.size() + 1);
  EXPECT_EQ(recorder.allocations.back().allocator, AllocatorKind::kMethod);
  EXPECT_EQ(recorder.allocations.back().nbytes, fixture.method.meta().state_nbytes());
  recorder.names.clear();
  ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
  EXPECT_THAT(recorder.names, ElementsAre("begin execute", "value of aten::add.out", "aten::add.out@0",
                                          "execute@-1", "output"));
}

TEST(Method, ReportsOnlyItselfToATracerThatWantsNoInstructions) {
  Recorder recorder;
  recorder.wants_.instructions = false;
  TestFixture fixture(format::add_program(3));
  fixture.options.tracer = &recorder;
  ASSERT_EQ(fixture.load(), ETB_OK);
  recorder.names.clear();
  ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
  EXPECT_THAT(recorder.names, ElementsAre("begin execute", "execute@-1"));
}

}  // namespace
}  // namespace etb::host
