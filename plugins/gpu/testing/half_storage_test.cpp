// SPDX-License-Identifier: Apache-2.0
// Values of float16 as numbers of 16 bits on the machine's device. Each graph is compared, bit by bit, with its twin: the same graph
// of float32, with a node after each result that rounds it to float16.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

#include "plugins/gpu/run/context.hpp"
#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const std::vector<const char*> kFamilies = {"registers", "groups"};

// Builds a graph of float16 and its twin. Values are indices of `values_`.
class Twins {
 public:
  uint32_t input(const Shape& shape) {
    const uint32_t made = add_input(half_, shape);
    half_.values[made].host = HostNumbers::kHalves;
    return add(made, rounded(add_input(twin_, shape)));
  }
  uint32_t input_of_floats(const Shape& shape) {
    return add(add_input(half_, shape), add_input(twin_, shape));
  }
  // Both have the numbers of float16.
  uint32_t constant(const Shape& shape) {
    const auto made = [&](GpuGraph& graph) {
      const uint32_t id = add_constant(graph, shape, "0/" + std::to_string(shape.numel()));
      graph.values[id].host = HostNumbers::kHalves;
      return id;
    };
    return add(made(half_), made(twin_));
  }
  uint32_t number(float of) { return add(add_number(half_, of), add_number(twin_, of)); }
  uint32_t node(Operator op, const std::vector<uint32_t>& inputs, const std::vector<int32_t>& ints,
                const std::vector<float>& floats = {}) {
    const uint32_t made = add_node(half_, op, of_half(inputs), ints, floats);
    half_.values[made].host = HostNumbers::kHalves;
    return add(made, rounded(add_node(twin_, op, of_twin(inputs), ints, floats)));
  }
  // A result of float32, such as a bool or a position; a step: one that no node of the model has.
  uint32_t wide_node(Operator op, const std::vector<uint32_t>& inputs, const std::vector<int32_t>& ints,
                     const std::vector<float>& floats = {}, bool is_step = false) {
    const uint32_t made = add_node(half_, op, of_half(inputs), ints, floats);
    half_.values[made].is_step = is_step;
    return add(made, add_node(twin_, op, of_twin(inputs), ints, floats));
  }
  uint32_t unary(UnaryFunction function, uint32_t x, float p0 = 0, float p1 = 0) {
    return node(Operator::kUnary, {x}, {static_cast<int32_t>(function)}, {p0, p1});
  }
  uint32_t binary(BinaryFunction function, uint32_t a, uint32_t b, float alpha = 1) {
    return node(Operator::kBinary, {a, b}, {static_cast<int32_t>(function)}, {alpha});
  }

  // Runs both for the output `value`, and compares them. Only products have kernels of several families.
  void expect_same(uint32_t value, const Shape& output, std::vector<const char*> families = {"registers"}) {
    half_.outputs = {values_[value].first};
    twin_.outputs = {values_[value].second};
    for (const char* const kernels : families) {
      SCOPED_TRACE(kernels);
      FloatRun twin(twin_, output, kernels, "off", "off", &FloatRun::kHost, "wide");
      if (!twin.run()) GTEST_SKIP() << twin.error();
      if (!has_device_with("storage_16bit")) GTEST_SKIP() << "no device has numbers of 16 bits in memory";
      // Drivers take long to compile products, so one of the four is left out.
      std::vector<std::pair<const char*, const char*>> options = {{"on", "storage"}, {"off", "storage"}};
      if (has_device_with("float16")) options.emplace_back("on", "arithmetic");
      for (const auto& [fusion, float16] : options) {
        SCOPED_TRACE(std::string(fusion) + " " + float16);
        FloatRun half(half_, output, kernels, fusion, "off", &FloatRun::kHost, float16);
        ASSERT_TRUE(half.run()) << half.error();
        expect_same_bits(half.output(), twin.output());
      }
    }
  }
  GpuGraph& half() { return half_; }

 private:
  static void expect_same_bits(const std::vector<float>& all_found, const std::vector<float>& all_expected) {
    ASSERT_EQ(all_found.size(), all_expected.size());
    for (size_t i = 0; i < all_found.size(); ++i) {
      const float found = all_found[i], expected = all_expected[i];
      if (std::isnan(found) && std::isnan(expected)) continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(found), std::bit_cast<uint32_t>(expected))
          << i << ": " << found << ", expected " << expected;
    }
  }
  uint32_t add(uint32_t half, uint32_t twin) {
    values_.emplace_back(half, twin);
    return static_cast<uint32_t>(values_.size() - 1);
  }
  uint32_t rounded(uint32_t id) { return add_unary(twin_, UnaryFunction::kRoundHalf, id); }
  std::vector<uint32_t> of_half(std::vector<uint32_t> ids) const {
    for (uint32_t& id : ids) id = values_[id].first;
    return ids;
  }
  std::vector<uint32_t> of_twin(std::vector<uint32_t> ids) const {
    for (uint32_t& id : ids) id = values_[id].second;
    return ids;
  }

  GpuGraph half_, twin_;
  std::vector<std::pair<uint32_t, uint32_t>> values_;  // ids in both
};

// All functions are called by the same lines.
TEST(HalfStorage, HasTheFunctionsOfFloat32Rounded) {
  const Shape shape = shape_of({7, 9});
  for (const auto function : {UnaryFunction::kExp, UnaryFunction::kClamp, UnaryFunction::kRsqrt}) {
    SCOPED_TRACE(static_cast<int>(function));
    Twins twins;
    const uint32_t x = twins.input(shape);
    twins.expect_same(twins.unary(function, x, -0.2f, 0.7f), shape);
    if (IsSkipped() || HasFatalFailure()) return;
  }
  for (const auto function : {BinaryFunction::kAdd, BinaryFunction::kDiv}) {
    for (const bool broadcasts : {false, true}) {
      SCOPED_TRACE(static_cast<int>(function));
      Twins twins;
      const uint32_t x = twins.input(shape), y = twins.constant(broadcasts ? shape_of({9}) : shape);
      twins.expect_same(twins.binary(function, x, y, 0.3f), shape);
      if (HasFatalFailure()) return;
    }
  }
}

// A chain rounds after each step, also beside steps of float32 and numbers.
TEST(HalfStorage, ChainsRoundAfterEachStep) {
  const Shape shape = shape_of({5, 12});
  for (const bool broadcasts : {false, true}) {
    SCOPED_TRACE(broadcasts);
    Twins twins;
    const uint32_t a = twins.input(shape), b = twins.constant(broadcasts ? shape_of({12}) : shape),
                   wide = twins.input_of_floats(shape);
    const uint32_t sum = twins.binary(BinaryFunction::kAdd, a, b, 0.37f);
    const uint32_t scaled = twins.binary(BinaryFunction::kMul, sum, twins.number(0.1f));
    const uint32_t step = twins.wide_node(Operator::kBinary, {scaled, wide},
                                          {static_cast<int32_t>(BinaryFunction::kMul)}, {1}, true);
    const uint32_t power = twins.unary(UnaryFunction::kExp, step);
    twins.expect_same(twins.binary(BinaryFunction::kDiv, sum, power), shape);
  }
}

TEST(HalfStorage, ProductsAddResidualsToRoundedNumbers) {
  for (const auto& [rows, depth, columns] :
       {std::array{9u, 40u, 48u}, {3u, 33u, 21u}, {1u, 64u, 40u}, {70u, 20u, 36u}}) {
    SCOPED_TRACE(std::to_string(rows) + " " + std::to_string(depth) + " " + std::to_string(columns));
    Twins twins;
    const uint32_t x = twins.input(shape_of({rows, depth})),
                   weight = twins.constant(shape_of({columns, depth})),
                   bias = twins.constant(shape_of({columns})), added = twins.input(shape_of({rows, columns}));
    const uint32_t product =
        twins.node(Operator::kMatmul, {x, weight, bias}, {1}, {1, 1, -kInfinity, kInfinity});
    const uint32_t sum = twins.binary(BinaryFunction::kAdd, product, added);
    twins.expect_same(twins.unary(UnaryFunction::kClamp, sum, -1, 3), shape_of({rows, columns}), kFamilies);
  }
}

TEST(HalfStorage, HasBatchedProducts) {
  for (const uint32_t columns : {24u, 19u}) {
    SCOPED_TRACE(columns);
    Twins twins;
    const uint32_t a = twins.input(shape_of({2, 6, 17})), b = twins.input(shape_of({2, 17, columns}));
    twins.expect_same(twins.node(Operator::kMatmul, {a, b}, {0}, {0.5f, 1, -2, 2}),
                      shape_of({2, 6, columns}));
  }
}

TEST(HalfStorage, HasConvolutions) {
  struct Window {
    uint32_t inputs, channels, groups, size, kernel;
    int32_t stride, padding;
  };
  for (const Window& w : {Window{3, 20, 1, 9, 3, 2, 1},
                          {6, 4, 2, 9, 3, 1, 1},
                          {8, 8, 8, 10, 3, 1, 1},
                          {8, 20, 1, 8, 1, 1, 0},
                          {5, 12, 1, 7, 1, 1, 0}}) {
    SCOPED_TRACE(std::to_string(w.inputs) + " to " + std::to_string(w.channels));
    const uint32_t out =
        (w.size + 2 * static_cast<uint32_t>(w.padding) - w.kernel) / static_cast<uint32_t>(w.stride) + 1;
    const Shape output = shape_of({2, w.channels, out, out});
    Twins twins;
    const uint32_t x = twins.input(shape_of({2, w.inputs, w.size, w.size})),
                   filters = twins.constant(shape_of({w.channels, w.inputs / w.groups, w.kernel, w.kernel})),
                   bias = twins.constant(shape_of({w.channels})), added = twins.input(output);
    const uint32_t made =
        twins.node(Operator::kConvolution, {x, filters, bias},
                   {w.stride, w.stride, w.padding, w.padding, 1, 1, static_cast<int32_t>(w.groups)},
                   {-kInfinity, kInfinity});
    twins.expect_same(twins.binary(BinaryFunction::kAdd, made, added), output, kFamilies);
  }
}

TEST(HalfStorage, HasReductions) {
  for (const auto reduction : {Reduction::kSum, Reduction::kMean, Reduction::kMaximum, Reduction::kMinimum}) {
    SCOPED_TRACE(static_cast<int>(reduction));
    Twins twins;
    const uint32_t x = twins.input(shape_of({6, 70}));
    twins.expect_same(twins.node(Operator::kReduce, {x}, {static_cast<int32_t>(reduction), 2, 0}),
                      shape_of({6}));
    if (IsSkipped() || HasFatalFailure()) return;
  }
}

TEST(HalfStorage, HasWindowsAndRows) {
  const Shape image = shape_of({2, 3, 8, 10}), rows = shape_of({6, 70});
  struct Case {
    const char* name;
    Shape output;
    std::function<uint32_t(Twins&)> make;
  };
  const Case cases[] = {
      {"max", shape_of({2, 3, 4, 5}),
       [&](Twins& t) {
         return t.node(Operator::kPool, {t.input(image)}, {0, 2, 2, 2, 2, 0, 0, 1, 1, 0, 0, 0});
       }},
      {"mean", shape_of({2, 3, 4, 5}),
       [&](Twins& t) {
         return t.node(Operator::kPool, {t.input(image)}, {1, 3, 3, 2, 2, 1, 1, 1, 1, 0, 1, 0});
       }},
      {"adaptive", shape_of({2, 3, 3, 4}),
       [&](Twins& t) {
         return t.node(Operator::kAdaptiveMeanPool, {t.input(image)}, {3, 4});
       }},
      {"nearest", shape_of({2, 3, 16, 20}),
       [&](Twins& t) {
         return t.node(Operator::kResize, {t.input(image)}, {0, 16, 20}, {0.5f, 0, 0.5f, 0});
       }},
      {"bilinear", shape_of({2, 3, 12, 15}),
       [&](Twins& t) {
         return t.node(Operator::kResize, {t.input(image)}, {1, 12, 15}, {2.0f / 3, 0.5f, 2.0f / 3, 0.5f});
       }},
      {"softmax", rows,
       [&](Twins& t) {
         return t.node(Operator::kSoftmax, {t.input(rows)}, {1, 0});
       }},
      {"log softmax", rows,
       [&](Twins& t) {
         return t.node(Operator::kSoftmax, {t.input(rows)}, {0, 1});
       }},
      {"layer norm", rows,
       [&](Twins& t) {
         return t.node(Operator::kLayerNorm,
                       {t.input(rows), t.constant(shape_of({70})), t.constant(shape_of({70}))}, {1}, {1e-5f});
       }},
      {"batch norm", image,
       [&](Twins& t) {
         const uint32_t n = t.constant(shape_of({3})), v = t.node(Operator::kBinary, {n, n}, {3}, {1});
         return t.node(Operator::kBatchNorm, {t.input(image), n, n, n, v}, {}, {1e-3f});
       }},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    Twins twins;
    twins.expect_same(each.make(twins), each.output);
    if (IsSkipped() || HasFatalFailure()) return;
  }
}

TEST(HalfStorage, MovesNumbersBetweenBothWidths) {
  const Shape rows = shape_of({6, 10});
  const auto number_of = [](auto value) { return static_cast<int32_t>(value); };
  Twins twins;
  const uint32_t x = twins.input(rows), y = twins.constant(rows), wide = twins.input_of_floats(rows);
  const uint32_t is_less =
      twins.wide_node(Operator::kBinary, {x, y}, {number_of(BinaryFunction::kLess)}, {1});
  const uint32_t chosen = twins.node(Operator::kWhere, {is_less, x, wide}, {});
  const uint32_t turned = twins.node(Operator::kPermute, {chosen}, {1, 0});
  const uint32_t part = twins.node(Operator::kSlice, {turned}, {0, 1, 9, 2});
  const uint32_t flipped = twins.node(Operator::kFlip, {part}, {2});
  const uint32_t first = twins.node(Operator::kSelect, {turned}, {0, 3});
  const uint32_t expanded = twins.node(Operator::kExpand, {first}, {4, 6});
  const uint32_t joined = twins.node(Operator::kCat, {flipped, expanded}, {0});
  const uint32_t padded = twins.node(Operator::kPad, {joined}, {1, 0, 0, 2}, {0.3f});
  const uint32_t view = twins.node(Operator::kReshape, {padded}, {5, 14});
  // Positions are float32. Rows by index, of a table of float16.
  const uint32_t positions =
      twins.wide_node(Operator::kReduce, {view}, {number_of(Reduction::kArgMaximum), 2, 0});
  const uint32_t table = twins.constant(shape_of({14, 7}));
  const uint32_t found = twins.node(Operator::kEmbedding, {table, positions}, {});
  const uint32_t gathered = twins.node(Operator::kGather, {view, positions}, {1, 1});
  const uint32_t put =
      twins.node(Operator::kIndexPut, {found, twins.constant(shape_of({5, 7})), positions}, {0});
  const uint32_t both = twins.node(Operator::kCat, {put, gathered}, {1});
  twins.expect_same(both, shape_of({5, 12}));
}

// A view of a step shows its memory; a view of float32 as an output of float16 is a copy.
TEST(HalfStorage, RoundsStepsThatViewsShow) {
  Twins twins;
  const uint32_t x = twins.input(shape_of({3, 40})), weight = twins.constant(shape_of({40, 24}));
  const uint32_t step =
      twins.wide_node(Operator::kMatmul, {x, weight}, {0}, {1, 1, -kInfinity, kInfinity}, true);
  const uint32_t view = twins.node(Operator::kReshape, {step}, {6, 12});
  twins.expect_same(twins.unary(UnaryFunction::kNeg, view), shape_of({6, 12}));
  Twins floats;
  const uint32_t wide = floats.input_of_floats(shape_of({3, 40}));
  const uint32_t copy = floats.node(Operator::kReshape, {wide}, {40, 3});
  floats.expect_same(floats.unary(UnaryFunction::kAbs, copy), shape_of({40, 3}));
}

// Bytes of the host's memory in which a context converts arguments of up to `count` numbers.
uint64_t room_bytes(size_t count, bool is_half) {
  return ConversionRoom{count, is_half ? count : 0}.nbytes();
}

// Every number of float16, with its bits in the arguments.
TEST(HalfStorage, KeepsAllNumbers) {
  constexpr uint32_t kCount = 65536;
  std::vector<uint16_t> in(kCount), out(kCount);
  for (uint32_t i = 0; i < kCount; ++i) in[i] = static_cast<uint16_t>(i);
  for (const bool is_negated : {false, true}) {
    SCOPED_TRACE(is_negated);
    GpuGraph graph;
    const uint32_t x = add_input(graph, shape_of({kCount}));
    const uint32_t y = is_negated ? add_unary(graph, UnaryFunction::kNeg, x)
                                  : add_node(graph, Operator::kSlice, {x}, {0, 0, kCount, 1});
    graph.outputs.push_back(y);
    graph.values[x].host = graph.values[y].host = HostNumbers::kHalves;
    FloatRun run(graph, shape_of({kCount}), "auto", "on", "off", &FloatRun::kHost, "storage");
    if (!run.is_ready()) GTEST_SKIP() << run.error();
    EXPECT_EQ(run.context_bytes(), 2 * 2 * kCount + room_bytes(kCount, true)) << "two arguments of 16 bits";
    const auto call = run.make_call();
    for (etb_tensor& each : call->tensors) each.dtype = ETB_DTYPE_FLOAT16;
    call->tensors[0].data = in.data();
    call->tensors[1].data = out.data();
    for (etb_tensor& each : call->tensors) each.capacity_bytes = kCount * 2;
    ASSERT_TRUE(run.run(call->args)) << run.error();
    for (uint32_t i = 0; i < kCount; ++i) {
      const uint32_t expected = is_negated ? i ^ 0x8000u : i;
      const bool is_nan = (i & 0x7fffu) > 0x7c00u;
      ASSERT_EQ(out[i], is_nan ? expected | 0x200u : expected) << i;  // NaN becomes quiet
    }
  }
}

// Products from below the least number of float16 to beyond its largest, and ties, are rounded as the host does.
TEST(HalfStorage, RoundsAsTheHostDoes) {
  constexpr uint32_t kCount = 6000;
  std::vector<float> factors(kCount);
  for (uint32_t i = 0; i < kCount; ++i) factors[i] = std::ldexp(1.0f, static_cast<int>(i % 46) - 27);
  factors[0] = INFINITY;
  factors[1] = -INFINITY;
  factors[2] = NAN;
  const std::vector<float> ties = {2049,  2051,  -2049,  -2051,    4098,    4102,
                                   65519, 65520, -65520, 0x1p-25f, 0x3p-25f};
  std::vector<float> numbers = random_floats(kCount);
  for (size_t i = 0; i < ties.size(); ++i) {
    numbers[10 + i] = ties[i];
    factors[10 + i] = 1;
  }
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({kCount})), by = add_input(graph, shape_of({kCount}));
  const uint32_t y = add_binary(graph, BinaryFunction::kMul, x, by);
  graph.outputs.push_back(y);
  graph.values[y].host = HostNumbers::kHalves;
  FloatRun run(graph, shape_of({kCount}), "auto", "on", "off", &FloatRun::kHost, "storage");
  run.set_input(0, {kCount}, numbers);
  run.set_input(1, {kCount}, factors);
  if (!run.run()) GTEST_SKIP() << run.error();
  std::vector<float> expected(kCount);
  for (uint32_t i = 0; i < kCount; ++i) expected[i] = numbers[i] * factors[i];
  std::vector<std::byte> halves(kCount * 2);
  write_numbers(expected, ETB_DTYPE_FLOAT16, halves.data());
  read_numbers(halves.data(), ETB_DTYPE_FLOAT16, expected);
  for (uint32_t i = 0; i < kCount; ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(run.output()[i])) << i;
      continue;
    }
    EXPECT_EQ(std::bit_cast<uint32_t>(run.output()[i]), std::bit_cast<uint32_t>(expected[i])) << i;
  }
}

// A layer multiplies errors by the root of 96 / 3 at most, and adds that of a sum of 8 at most, 2^-8.
constexpr float kTolerance = 0.05f;

// Layers, each with a hidden result.
GpuGraph layers(uint32_t rows, uint32_t width, bool is_half) {
  GpuGraph graph;
  uint32_t x = add_input(graph, shape_of({rows, width}));
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t bias = add_constant(graph, shape_of({width}), "0/" + std::to_string(width));
    const uint32_t weight =
        add_constant(graph, shape_of({width, width}), "0/" + std::to_string(width * width));
    x = add_node(graph, Operator::kMatmul, {x, weight, bias}, {1}, {1, 1, -kInfinity, kInfinity});
    x = add_unary(graph, UnaryFunction::kTanh, x);
  }
  graph.outputs.push_back(x);
  if (is_half)
    for (GpuValue& value : graph.values) value.host = HostNumbers::kHalves;
  return graph;
}

// The host's memory for it does not grow with the arguments.
TEST(HalfStorage, LargeArgumentsAreConvertedInPieces) {
  constexpr uint32_t kCount = (1 << 19) + 77;
  std::vector<uint16_t> in(kCount), out(kCount);
  for (uint32_t i = 0; i < kCount; ++i) in[i] = static_cast<uint16_t>(i % 0x7c00);  // finite
  for (const char* float16 : {"wide", "storage"}) {
    SCOPED_TRACE(float16);
    GpuGraph graph;
    const uint32_t x = add_input(graph, shape_of({kCount}));
    const uint32_t y = add_unary(graph, UnaryFunction::kNeg, x);
    graph.outputs.push_back(y);
    graph.values[x].host = graph.values[y].host = HostNumbers::kHalves;
    FloatRun run(graph, shape_of({kCount}), "auto", "on", "off", &FloatRun::kHost, float16);
    if (!run.is_ready()) GTEST_SKIP() << run.error();
    EXPECT_LT(run.context_bytes(), 2 * 4 * kCount + (1 << 20));
    ASSERT_TRUE(run.run()) << "of float32: " << run.error();
    const auto call = run.make_call();
    for (etb_tensor& each : call->tensors) {
      each.dtype = ETB_DTYPE_FLOAT16;
      each.capacity_bytes = kCount * 2;
    }
    call->tensors[0].data = in.data();
    call->tensors[1].data = out.data();
    ASSERT_TRUE(run.run(call->args)) << run.error();
    for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(out[i], in[i] ^ 0x8000u) << i;
  }
}

TEST(HalfStorage, TakesHalfOfTheMemory) {
  const Shape output = shape_of({64, 96});
  FloatRun wide(layers(64, 96, true), output, "registers", "off", "off", &FloatRun::kHost, "wide"),
      half(layers(64, 96, true), output, "registers", "off", "off", &FloatRun::kHost, "storage");
  if (!wide.run()) GTEST_SKIP() << wide.error();
  if (!has_device_with("storage_16bit")) GTEST_SKIP() << "no device has numbers of 16 bits in memory";
  ASSERT_TRUE(half.run()) << half.error();
  const uint64_t of_half = half.context_bytes() - room_bytes(64 * 96, true);
  EXPECT_EQ(of_half * 2, wide.context_bytes() - room_bytes(64 * 96, false)) << "on the device";
  EXPECT_LT(half.resident_bytes(), wide.resident_bytes()) << "biases; matrices are float16 in both";
  for (size_t i = 0; i < half.output().size(); ++i)
    ASSERT_NEAR(half.output()[i], wide.output()[i], kTolerance) << i;
}

TEST(HalfStorage, RunsSmallerSizesAndStaysWithoutFloat16) {
  const Shape output = shape_of({64, 96});
  FloatRun half(layers(64, 96, true), output, "auto", "on", "off", &FloatRun::kHost, "storage"),
      wide(layers(64, 96, true), output, "auto", "on", "off", &FloatRun::kHost, "wide");
  if (!half.run()) GTEST_SKIP() << half.error();
  for (const int64_t rows : {1, 5, 64}) {
    SCOPED_TRACE(rows);
    for (FloatRun* each : {&half, &wide}) {
      each->set_input(0, {rows, 96}, random_floats(static_cast<size_t>(rows) * 96));
      ASSERT_TRUE(each->run()) << each->error();
    }
    for (size_t i = 0; i < static_cast<size_t>(rows) * 96; ++i)
      ASSERT_NEAR(half.output()[i], wide.output()[i], kTolerance) << i;
  }
}

// A batch norm becomes part of filters of float16, which then are float32.
TEST(HalfStorage, FoldsBatchNormsIntoFiltersOfFloat16) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({1, 4, 6, 6})),
                 weight = add_constant(graph, shape_of({8, 4, 3, 3}), "0/288"),
                 numbers = add_constant(graph, shape_of({8}), "0/8"), ones = add_number(graph, 1);
  graph.values[ones].shape = shape_of({8});
  graph.values[ones].floats.assign(8, 1.0f);
  const uint32_t made =
      add_node(graph, Operator::kConvolution, {x, weight}, {1, 1, 1, 1, 1, 1, 1}, {-kInfinity, kInfinity});
  const uint32_t normal =
      add_node(graph, Operator::kBatchNorm, {made, numbers, numbers, numbers, ones}, {}, {1e-5f});
  graph.outputs.push_back(normal);
  for (const uint32_t id : {x, weight, numbers, made, normal}) graph.values[id].host = HostNumbers::kHalves;
  FloatRun wide(graph, shape_of({1, 8, 6, 6}), "registers", "on", "off", &FloatRun::kHost, "wide"),
      half(graph, shape_of({1, 8, 6, 6}), "registers", "on", "off", &FloatRun::kHost, "storage");
  if (!wide.run()) GTEST_SKIP() << wide.error();
  if (!has_device_with("storage_16bit")) GTEST_SKIP() << "no device has numbers of 16 bits in memory";
  ASSERT_TRUE(half.run()) << half.error();
  float largest = 0;
  for (size_t i = 0; i < half.output().size(); ++i) {
    ASSERT_NEAR(half.output()[i], wide.output()[i], 6e-3f) << i;
    largest = std::max(largest, std::abs(half.output()[i]));
  }
  EXPECT_GT(largest, 0.1f);
}

}  // namespace
}  // namespace etb::gpu
