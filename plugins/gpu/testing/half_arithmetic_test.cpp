// SPDX-License-Identifier: Apache-2.0
// Functions of single elements with the device's own numbers of float16, on the machine's device. Each graph is compared, bit by bit,
// with its results where kernels convert the bits of float16 themselves and compute in float32 (half_storage_test.cpp tests those).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {
namespace {

constexpr uint32_t kCount = 65536;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Halves = std::vector<uint16_t>;

// Zeros, subnormal numbers, ties, numbers around one, the largest ones, infinities and NaN; each with both signs.
constexpr uint16_t kSpecials[] = {0x0000, 0x0001, 0x0002, 0x0003, 0x01ff, 0x0200, 0x03fe, 0x03ff, 0x0400,
                                  0x0401, 0x07ff, 0x0800, 0x1400, 0x3555, 0x37ff, 0x3800, 0x3801, 0x3bff,
                                  0x3c00, 0x3c01, 0x3e00, 0x4000, 0x4100, 0x6400, 0x6bff, 0x6c01, 0x7800,
                                  0x7bfe, 0x7bff, 0x7c00, 0x7c01, 0x7dff, 0x7e00, 0x7fff};

Halves all_numbers() {
  Halves made(kCount);
  for (uint32_t i = 0; i < kCount; ++i) made[i] = static_cast<uint16_t>(i);
  return made;
}

// The second operands of a round: first the special numbers, then pseudo-random ones.
Halves partners(uint32_t round, size_t count) {
  constexpr uint32_t kRandomFrom = 3;
  constexpr size_t kSpecialCount = std::size(kSpecials);
  Halves made(count);
  uint32_t state = round + 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    const size_t special = (i * (2 * round + 1) + i / 4096 * 5) % (2 * kSpecialCount);
    made[i] = round < kRandomFrom
                  ? static_cast<uint16_t>(kSpecials[special / 2] | (special % 2 != 0 ? 0x8000u : 0u))
                  : static_cast<uint16_t>(state >> 16);
  }
  return made;
}

bool is_nan(uint16_t bits) { return (bits & 0x7fffu) > 0x7c00u; }
bool is_subnormal(uint16_t bits) { return (bits & 0x7c00u) == 0 && (bits & 0x3ffu) != 0; }

// A delegate whose arguments are float16.
class HalfRun {
 public:
  HalfRun(GpuGraph graph, const Shape& output, const char* float16, const char* fusion = "on") {
    for (const uint32_t id : graph.inputs) input_sizes_.push_back(graph.value(id).shape.numel());
    output_size_ = output.numel();
    run_ = std::make_unique<FloatRun>(graph, output, "auto", fusion, "off", &FloatRun::kHost, float16);
  }
  FloatRun& run() { return *run_; }
  Halves of(std::vector<Halves> inputs) {
    Halves out(output_size_);
    const auto call = run_->make_call();
    for (size_t i = 0; i < call->tensors.size(); ++i) {
      Halves& data = i < inputs.size() ? inputs[i] : out;
      call->tensors[i].dtype = ETB_DTYPE_FLOAT16;
      call->tensors[i].data = data.data();
      call->tensors[i].capacity_bytes = data.size() * 2;
    }
    EXPECT_TRUE(run_->run(call->args)) << run_->error();
    return out;
  }

 private:
  std::vector<size_t> input_sizes_;
  size_t output_size_ = 0;
  std::unique_ptr<FloatRun> run_;
};

// All values of the graph are float16, except for those in `wide`.
GpuGraph with_halves(GpuGraph graph, const std::set<uint32_t>& wide = {}) {
  for (uint32_t i = 0; i < graph.values.size(); ++i)
    if (wide.count(i) == 0 && graph.values[i].role != ValueRole::kInline)
      graph.values[i].host = HostNumbers::kHalves;
  return graph;
}

class HalfArithmetic : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device_with("float16")) GTEST_SKIP() << "no device computes in float16";
    GpuGraph graph;
    const uint32_t x = add_input(graph, shape_of({4}));
    graph.outputs = {add_binary(graph, BinaryFunction::kAdd, x, x)};
    HalfRun device(with_halves(graph), shape_of({4}), "arithmetic");
    if (!device.run().is_ready()) GTEST_SKIP() << device.run().error();
    keeps_subnormals_ = device.of({{1, 1, 1, 1}}) == Halves(4, 2);
  }

  // `inputs`: those of each round. Devices that flush subnormal numbers run only where their results must be the same.
  void expect_same(const GpuGraph& graph, const Shape& output,
                   const std::vector<std::vector<Halves>>& rounds) {
    for (const char* const fusion : {"on", "off"}) {
      SCOPED_TRACE(fusion);
      HalfRun storage(graph, output, "storage", fusion), arithmetic(graph, output, "arithmetic", fusion);
      ASSERT_TRUE(storage.run().is_ready()) << storage.run().error();
      ASSERT_TRUE(arithmetic.run().is_ready()) << arithmetic.run().error();
      for (size_t round = 0; round < rounds.size(); ++round) {
        SCOPED_TRACE(round);
        const Halves expected = storage.of(rounds[round]), found = arithmetic.of(rounds[round]);
        for (size_t i = 0; i < expected.size(); ++i) {
          if (is_nan(expected[i]) && is_nan(found[i])) continue;
          if (!keeps_subnormals_ && reads_subnormals(rounds[round], i, expected[i])) continue;
          ASSERT_EQ(found[i], expected[i]) << i << ": " << operands(rounds[round], i);
        }
      }
    }
  }

 private:
  static bool reads_subnormals(const std::vector<Halves>& inputs, size_t i, uint16_t result) {
    bool found = is_subnormal(result);
    for (const Halves& input : inputs) found = found || is_subnormal(input[i % input.size()]);
    return found;
  }
  static std::string operands(const std::vector<Halves>& inputs, size_t i) {
    std::string text;
    for (const Halves& input : inputs) text += " " + std::to_string(input[i % input.size()]);
    return text;
  }

  bool keeps_subnormals_ = true;
};

// Those in float16, also with limits that are no numbers of float16; and some whose operands and results are only converted.
TEST_F(HalfArithmetic, UnaryFunctionsHaveTheResultsOfFloat32ForAllNumbers) {
  using Function = UnaryFunction;
  struct Case {
    Function function;
    float p0 = 0, p1 = 0;
  };
  for (const Case& each : {Case{Function::kAbs}, Case{Function::kNeg}, Case{Function::kCeil},
                           Case{Function::kFloor}, Case{Function::kRound}, Case{Function::kTrunc},
                           Case{Function::kClamp, 0, kInfinity}, Case{Function::kClamp, 0, 6},
                           Case{Function::kClamp, -0.1f, 0.1f}, Case{Function::kClamp, 0x1p-24f, 65504},
                           Case{Function::kClamp, NAN, 1}, Case{Function::kClamp, 2, -2},
                           Case{Function::kSqrt}, Case{Function::kExp}, Case{Function::kRoundHalf}}) {
    SCOPED_TRACE(std::to_string(static_cast<int>(each.function)) + " " + std::to_string(each.p0));
    GpuGraph graph;
    const uint32_t x = add_input(graph, shape_of({kCount}));
    graph.outputs = {add_unary(graph, each.function, x)};
    graph.nodes.back().floats = {each.p0, each.p1};
    expect_same(with_halves(graph), shape_of({kCount}), {{all_numbers()}});
    if (HasFatalFailure()) return;
  }
}

TEST_F(HalfArithmetic, BinaryFunctionsHaveTheResultsOfFloat32ForManyPairs) {
  using Function = BinaryFunction;
  std::vector<std::vector<Halves>> rounds;
  for (uint32_t round = 0; round < 8; ++round) rounds.push_back({all_numbers(), partners(round, kCount)});
  for (const Function function :
       {Function::kAdd, Function::kSub, Function::kMul, Function::kDiv, Function::kMaximum,
        Function::kMinimum, Function::kEqual, Function::kLess, Function::kLessEqual}) {
    SCOPED_TRACE(static_cast<int>(function));
    GpuGraph graph;
    const uint32_t x = add_input(graph, shape_of({kCount})), y = add_input(graph, shape_of({kCount}));
    graph.outputs = {add_binary(graph, function, x, y)};
    expect_same(with_halves(graph), shape_of({kCount}), rounds);
    if (HasFatalFailure()) return;
  }
}

// A factor of the second operand has a rounding of its own in float32, so it stays there.
TEST_F(HalfArithmetic, SumsWithAFactorAreThoseOfFloat32) {
  for (const float alpha : {0.3f, 2.0f}) {
    GpuGraph graph;
    const uint32_t x = add_input(graph, shape_of({kCount})), y = add_input(graph, shape_of({kCount}));
    graph.outputs = {add_binary(graph, BinaryFunction::kAdd, x, y)};
    graph.nodes.back().floats = {alpha};
    expect_same(with_halves(graph), shape_of({kCount}), {{all_numbers(), partners(0, kCount)}});
  }
}

// Rows of 13 elements end within the four of an invocation.
TEST_F(HalfArithmetic, OperandsBroadcast) {
  const Shape rows = shape_of({kCount / 16, 13}), row = shape_of({13});
  Halves numbers = all_numbers();
  numbers.resize(rows.numel());
  for (const auto function : {BinaryFunction::kSub, BinaryFunction::kMaximum}) {
    for (const bool has_result_of_float32 : {false, true}) {
      GpuGraph graph;
      const uint32_t x = add_input(graph, rows), y = add_input(graph, row);
      const uint32_t made = add_binary(graph, function, x, y);
      graph.outputs = {has_result_of_float32 ? add_unary(graph, UnaryFunction::kNeg, made) : made};
      std::set<uint32_t> wide;
      if (has_result_of_float32) wide = {made};
      expect_same(with_halves(graph, wide), rows, {{numbers, partners(0, 13)}, {numbers, partners(5, 13)}});
      if (HasFatalFailure()) return;
    }
  }
}

// Steps in float16 and in float32 follow each other: exp is none of float16, nor is a product with 0.1, or with a value of float32.
TEST_F(HalfArithmetic, ChainsHaveStepsOfBothWidths) {
  for (const bool broadcasts : {false, true}) {
    SCOPED_TRACE(broadcasts);
    const Shape rows = shape_of({kCount / 16, 16}), other = broadcasts ? shape_of({16}) : rows;
    GpuGraph graph;
    const uint32_t x = add_input(graph, rows), y = add_input(graph, other);
    const uint32_t sum = add_binary(graph, BinaryFunction::kAdd, x, y);
    const uint32_t half = add_binary(graph, BinaryFunction::kMul, sum, add_number(graph, 0.5f));
    const uint32_t limited = add_unary(graph, UnaryFunction::kClamp, half);
    graph.nodes.back().floats = {-3, 6};
    const uint32_t scaled = add_binary(graph, BinaryFunction::kMul, limited, add_number(graph, 0.1f));
    const uint32_t is_less = add_binary(graph, BinaryFunction::kLess, scaled, y);
    const uint32_t product = add_binary(graph, BinaryFunction::kMul, is_less, half);
    const uint32_t power = add_unary(graph, UnaryFunction::kExp, product);
    graph.outputs = {add_binary(graph, BinaryFunction::kSub, power, x)};
    std::vector<std::vector<Halves>> rounds;
    for (const uint32_t round : {0u, 1u, 4u})
      rounds.push_back({all_numbers(), partners(round, other.numel())});
    expect_same(with_halves(graph, {is_less}), rows, rounds);
    if (HasFatalFailure()) return;
  }
}

TEST_F(HalfArithmetic, ChoicesAndCopiesKeepAllNumbers) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({kCount})), y = add_input(graph, shape_of({kCount}));
  const uint32_t is_less = add_binary(graph, BinaryFunction::kLess, x, y);
  const uint32_t chosen = add_node(graph, Operator::kWhere, {is_less, x, y}, {});
  graph.outputs = {add_node(graph, Operator::kFlip, {chosen}, {1})};
  expect_same(with_halves(graph, {is_less}), shape_of({kCount}), {{all_numbers(), partners(0, kCount)}});
}

}  // namespace
}  // namespace etb::gpu
