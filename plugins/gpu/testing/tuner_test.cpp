// SPDX-License-Identifier: Apache-2.0
// Tests of kernels that the plugin measures on a device, and of their answers in the host's cache.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "plugins/gpu/plan/kernel_candidates.hpp"
#include "plugins/gpu/run/kernel_cache.hpp"
#include "plugins/gpu/testing/cache_host.hpp"
#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

struct Model {
  GpuGraph graph;
  Shape output;
};

Model product(uint32_t rows, uint32_t depth, uint32_t columns) {
  Model made;
  const uint32_t a = add_input(made.graph, shape_of({rows, depth})),
                 b = add_input(made.graph, shape_of({depth, columns}));
  made.graph.outputs.push_back(add_node(made.graph, Operator::kMatmul, {a, b}, {0}, {0.5f, 1, -3, 3}));
  made.output = shape_of({rows, columns});
  return made;
}

Model convolution(uint32_t inputs, uint32_t channels, uint32_t groups, uint32_t size, uint32_t kernel) {
  Model made;
  const Shape filters = shape_of({channels, inputs / groups, kernel, kernel});
  const uint32_t x = add_input(made.graph, shape_of({1, inputs, size, size})),
                 weight = add_constant(made.graph, filters, std::to_string(filters.numel())),
                 bias = add_constant(made.graph, shape_of({channels}), std::to_string(channels));
  const auto padding = static_cast<int32_t>(kernel / 2);
  made.graph.outputs.push_back(add_node(made.graph, Operator::kConvolution, {x, weight, bias},
                                        {1, 1, padding, padding, 1, 1, static_cast<int32_t>(groups)},
                                        {-2, 6}));
  made.output = shape_of({1, channels, size, size});
  return made;
}

// The product of a model adds its result to a constant.
Model with_residual(Model model) {
  const uint32_t added = add_constant(model.graph, model.output, std::to_string(model.output.numel()));
  model.graph.outputs[0] = add_binary(model.graph, BinaryFunction::kAdd, added, model.graph.outputs[0]);
  return model;
}

// Two products of the same sizes, then one of others.
Model three_layers() {
  Model made;
  const uint32_t first = add_constant(made.graph, shape_of({48, 48}), "2304"),
                 last = add_constant(made.graph, shape_of({36, 48}), "1728");
  uint32_t value = add_input(made.graph, shape_of({20, 48}));
  value = add_linear(made.graph, value, first);
  value = add_linear(made.graph, value, first);
  made.graph.outputs.push_back(add_linear(made.graph, value, last));
  made.output = shape_of({20, 36});
  return made;
}

format::Sha256 key_of(const std::string& text) {
  format::Sha256 key{};
  std::copy_n(text.begin(), std::min(text.size(), key.size()), key.begin());
  return key;
}

// Keys of entries with the name of a kernel, after the digest.
std::vector<std::string> answer_keys(const MemoryCache& cache) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : cache.entries) {
    const std::string name = value.size() > 32 ? value.substr(32) : "";
    if (std::ranges::any_of(kKernelNames, [&](const char* known) { return name == known; }))
      keys.push_back(key);
  }
  return keys;
}

void expect_near(const FloatRun& expected, const FloatRun& found, float tolerance) {
  ASSERT_EQ(expected.output().size(), found.output().size());
  for (size_t i = 0; i < found.output().size(); ++i)
    ASSERT_NEAR(expected.output()[i], found.output()[i], tolerance) << i;
}

TEST(Tuner, StoresAnswersThatTheNextLoadUses) {
  const Model model = three_layers();
  FloatRun expected(model.graph, model.output, "registers");
  if (!expected.run()) GTEST_SKIP() << expected.error();
  CacheHost host;
  FloatRun measured(model.graph, model.output, "auto", "on", "measured", &host.raw);
  ASSERT_TRUE(measured.run()) << measured.error();
  EXPECT_THAT(host.facts, ElementsAre(StartsWith("gpu.kernels-tuned: stored=0 measured=2 replaced=")))
      << "two sizes";
  EXPECT_EQ(answer_keys(host.cache).size(), 2u);
  for (const char* const tune : {"stored", "measured"}) {
    SCOPED_TRACE(tune);
    host.facts.clear();
    const auto before = host.cache.entries;
    FloatRun stored(model.graph, model.output, "auto", "on", tune, &host.raw);
    ASSERT_TRUE(stored.run()) << stored.error();
    EXPECT_THAT(host.facts, ElementsAre(StartsWith("gpu.kernels-tuned: stored=2 measured=0 replaced=")));
    EXPECT_EQ(host.cache.entries, before);
    EXPECT_EQ(stored.output(), measured.output()) << "the same kernels";
  }
  expect_near(expected, measured, 1e-3f);
}

TEST(Tuner, MeasuresOnlyWhereItIsAskedTo) {
  const Model model = three_layers();
  FloatRun expected(model.graph, model.output, "auto");
  if (!expected.run()) GTEST_SKIP() << expected.error();
  CacheHost host;
  for (const auto& [kernels, tune] :
       {std::pair{"auto", "stored"}, {"auto", "off"}, {"registers", "measured"}}) {
    SCOPED_TRACE(std::string(kernels) + " " + tune);
    FloatRun run(model.graph, model.output, kernels, "on", tune, &host.raw);
    ASSERT_TRUE(run.run()) << run.error();
    EXPECT_THAT(host.facts, ElementsAre());
    EXPECT_THAT(answer_keys(host.cache), ElementsAre());
    if (std::string_view(kernels) == "auto") {
      EXPECT_EQ(run.output(), expected.output()) << "by the rule";
    }
  }
  FloatRun without_cache(model.graph, model.output, "auto", "on", "measured");
  EXPECT_TRUE(without_cache.run()) << without_cache.error();
}

TEST(Tuner, IgnoresDamagedAnswers) {
  const Model model = three_layers();
  CacheHost host;
  FloatRun measured(model.graph, model.output, "auto", "on", "measured", &host.raw);
  if (!measured.run()) GTEST_SKIP() << measured.error();
  FloatRun expected(model.graph, model.output, "auto");
  ASSERT_TRUE(expected.run()) << expected.error();
  const std::vector<std::string> keys = answer_keys(host.cache);
  ASSERT_EQ(keys.size(), 2u);
  const auto damage = [&](const std::string& key, size_t at) { host.cache.entries[key][at] ^= 1; };
  damage(keys[0], 40);                     // a letter of the name
  host.cache.entries[keys[1]].resize(32);  // no name
  const auto run = [&] {
    host.facts.clear();
    FloatRun stored(model.graph, model.output, "auto", "on", "stored", &host.raw);
    ASSERT_TRUE(stored.run()) << stored.error();
    EXPECT_EQ(stored.output(), expected.output()) << "by the rule";
  };
  run();
  EXPECT_THAT(host.facts, ElementsAre("gpu.cache-entry-dropped: other bytes than were stored"));
  // With a right digest.
  const KernelCache cache{Host(&host.raw)};
  for (const std::string& key : keys) {
    const std::string_view other = "Softmax";
    cache.put(key_of(key), std::as_bytes(std::span(other.data(), other.size())));
  }
  run();
  const std::string dropped = "gpu.cache-entry-dropped: a kernel that cannot compute the node";
  EXPECT_THAT(host.facts, ElementsAre(dropped, dropped));
}

// Names of all kernels that any plan might choose for the node of a graph with one.
std::set<std::string> names_for(const GpuGraph& graph) {
  static constexpr KernelFamily kFamilies[] = {KernelFamily::kRegisters, KernelFamily::kTiles,
                                               KernelFamily::kVectors, KernelFamily::kGroups};
  std::set<std::string> names;
  for (const KernelFamily family : kFamilies) {
    const auto plan = make_execution_plan(graph, family);
    if (!plan) continue;
    for (const KernelCandidate& each : find_candidates(*plan, 0, kFamilies))
      names.insert(kKernelNames[index_of(each.dispatch.kernel)]);
  }
  return names;
}

// Stores each kernel as the answer in turn, and compares the results, also for other sizes of the first input.
void expect_right_with_each(const Model& model, const std::vector<int64_t>& smaller) {
  FloatRun registers(model.graph, model.output, "registers"), rule(model.graph, model.output, "auto");
  if (!registers.is_ready()) GTEST_SKIP() << registers.error();
  ASSERT_TRUE(registers.run()) << registers.error();
  ASSERT_TRUE(rule.run()) << rule.error();
  CacheHost host;
  FloatRun measured(model.graph, model.output, "auto", "on", "measured", &host.raw);
  ASSERT_TRUE(measured.is_ready()) << measured.error();
  const std::vector<std::string> keys = answer_keys(host.cache);
  if (keys.empty()) {  // a device whose own family is `registers`, which has one kernel for a convolution
    EXPECT_EQ(rule.output(), registers.output());
    return;
  }
  ASSERT_EQ(keys.size(), 1u);
  uint64_t count = 1;
  for (const int64_t size : smaller) count *= static_cast<uint64_t>(size);
  FloatRun registers_smaller(model.graph, model.output, "registers");
  registers_smaller.set_input(0, smaller, random_floats(count));
  ASSERT_TRUE(registers_smaller.run()) << registers_smaller.error();
  size_t used = 0;
  for (const std::string& name : names_for(model.graph)) {
    SCOPED_TRACE(name);
    KernelCache(Host(&host.raw)).put(key_of(keys[0]), std::as_bytes(std::span(name.data(), name.size())));
    host.facts.clear();
    FloatRun run(model.graph, model.output, "auto", "on", "stored", &host.raw);
    ASSERT_TRUE(run.run()) << run.error();
    expect_near(registers, run, 1e-4f);
    const bool is_used =
        host.facts.size() == 1 && host.facts[0].starts_with("gpu.kernels-tuned: stored=1 measured=0 ");
    if (is_used) ++used;
    // Kernels of registers have the same order of sums, another family has not.
    if (is_used && registers.output() != rule.output()) {
      const bool is_of_registers =
          !name.starts_with("Tile") && !name.starts_with("Vector") && !name.starts_with("Group");
      EXPECT_EQ(run.output() == registers.output(), is_of_registers);
    }
    run.set_input(0, smaller, random_floats(count));
    ASSERT_TRUE(run.run()) << run.error();
    EXPECT_EQ(run.output_sizes(), registers_smaller.output_sizes());
    expect_near(registers_smaller, run, 1e-4f);
  }
  EXPECT_GE(used, 2u);
}

TEST(Tuner, ProductsAreRightWithEachKernel) {
  expect_right_with_each(product(40, 300, 64), {9, 300});
  expect_right_with_each(product(3, 50, 36), {1, 50});
  expect_right_with_each(product(17, 33, 21), {2, 33});
}

// For other sizes the residual would broadcast, so they are those of the bounds.
TEST(Tuner, ResidualsAreRightWithEachKernel) {
  expect_right_with_each(with_residual(product(40, 300, 64)), {40, 300});
  expect_right_with_each(with_residual(convolution(8, 20, 1, 14, 3)), {1, 8, 14, 14});
}

TEST(Tuner, ConvolutionsAreRightWithEachKernel) {
  expect_right_with_each(convolution(8, 20, 1, 14, 3), {1, 8, 9, 5});
  expect_right_with_each(convolution(8, 20, 1, 16, 1), {1, 8, 3, 16});
  expect_right_with_each(convolution(8, 20, 1, 7, 1), {1, 8, 3, 5});
  expect_right_with_each(convolution(16, 16, 16, 13, 3), {1, 16, 4, 13});
}

}  // namespace
}  // namespace etb::gpu
