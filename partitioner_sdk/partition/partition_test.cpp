// SPDX-License-Identifier: Apache-2.0
// Tests partitioning with fake compilers: claims, groups, symbolic sizes, errors of plugins, lowering.
#include "partitioner_sdk/partition/partition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "partitioner_sdk/partition/report.hpp"
#include "partitioner_sdk/testing/partition_fixture.hpp"

namespace etb::partition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Partition, RegionsBecomeCalls) {
  TestFixture fixture;
  fixture.method(kDiamond).plugin("npu", {kAdd, kMul});
  fixture.run();
  ASSERT_EQ(fixture.done.regions.size(), 2u);
  EXPECT_THAT(fixture.done.regions[0].nodes, ElementsAre(0, 2));
  EXPECT_THAT(fixture.done.regions[1].nodes, ElementsAre(3));
  EXPECT_EQ(fixture.done.regions[0].cost_ns, 20);
  EXPECT_EQ(fixture.payload(0), "in constant w aten.add.Tensor aten.add.Tensor out2");
  EXPECT_EQ(fixture.payload(1), "in in aten.mul.Tensor out1");
  EXPECT_EQ(fixture.rejection(1), "op: aten.relu.default");
  // The weight moved into the payload and is no longer an input of the method.
  EXPECT_EQ(fixture.lowered(), R"(etg 1
module "forward"

graph @forward {
  user %x: float32[2]
  %a: float32[2], %b: float32[2] = higher_order.executorch_call_delegate.default(0, [%x])
  %r: float32[2] = aten.relu.default(%a)
  %c: float32[2] = higher_order.executorch_call_delegate.default(1, [%r, %b])
  return %c
}
)");
}

TEST(Partition, PluginsAreAskedInOrderAndGetWhatIsLeft) {
  TestFixture fixture;
  fixture.method(kDiamond);
  fixture.plugin("first", {kAdd});
  fixture.plugin("second", {kAdd, kRelu, kMul});
  fixture.run();
  EXPECT_THAT(fixture.done.regions, testing::SizeIs(2));
  EXPECT_EQ(fixture.done.regions[0].compiler, 0u);
  EXPECT_THAT(fixture.done.regions[1].nodes, ElementsAre(1, 3));
  EXPECT_EQ(fixture.rejection(0), "host.taken: an earlier plugin claimed it");
  EXPECT_EQ(fixture.done.backend_ids[fixture.done.regions[1].compiler], "secondBackend");
}

TEST(Partition, OneThatCannotCompileIsNamedAndOthersGetItsNodes) {
  TestFixture fixture;
  fixture.method(kDiamond);
  fixture.plugin("first", {kAdd}).fails_to_compile = true;
  fixture.plugin("second", {kAdd});
  fixture.run();
  ASSERT_EQ(fixture.done.plugin_errors.size(), 1u);
  EXPECT_EQ(fixture.done.plugin_errors[0].plugin, "first");
  EXPECT_EQ(fixture.done.plugin_errors[0].text, "no tools");
  ASSERT_EQ(fixture.done.regions.size(), 1u);
  EXPECT_EQ(fixture.done.regions[0].compiler, 1u);
}

// Two layers with one weight, and the host's relu between them.
constexpr const char* kTwoLayers = R"(etg 1
module "forward"
constant "w": int8[2] = [1, 2]

graph @forward {
  parameter %w: int8[2] = "w" as "w"
  user %x: float32[2]
  %d: float32[2] = quantized_decomposed.dequantize_per_tensor.default(%w, 0.5, 0, -128, 127, int8)
  %a: float32[2] = aten.add.Tensor(%x, %d)
  %r: float32[2] = aten.relu.default(%a)
  %b: float32[2] = aten.add.Tensor(%r, %d)
  return %b
}
)";
constexpr const char* kDequantise = "quantized_decomposed.dequantize_per_tensor.default";
constexpr const char* kQuantise = "quantized_decomposed.quantize_per_tensor.default";

TEST(Partition, EachRegionComputesItsConstantsItself) {
  TestFixture fixture;
  fixture.method(kTwoLayers).plugin("npu", {kAdd, kDequantise});
  fixture.run();
  ASSERT_EQ(fixture.done.regions.size(), 2u);
  EXPECT_EQ(fixture.payload(0), "in constant w " + std::string(kDequantise) + " aten.add.Tensor out1");
  EXPECT_EQ(fixture.payload(1), "in constant w " + std::string(kDequantise) + " aten.add.Tensor out1");
  EXPECT_EQ(make_report(fixture.modules, fixture.done, fixture.keys).other_count, 1u);
  EXPECT_EQ(fixture.lowered(), R"(etg 1
module "forward"

graph @forward {
  user %x: float32[2]
  %a: float32[2] = higher_order.executorch_call_delegate.default(0, [%x])
  %r: float32[2] = aten.relu.default(%a)
  %b: float32[2] = higher_order.executorch_call_delegate.default(1, [%r])
  return %b
}
)");
}

TEST(Partition, TheHostKeepsConstantsThatItReads) {
  TestFixture fixture;
  fixture.method(kTwoLayers).plugin("npu", {kAdd, kDequantise});
  fixture.options.filters.skip_nodes = {"b"};
  fixture.run();
  ASSERT_EQ(fixture.done.regions.size(), 1u);
  EXPECT_EQ(fixture.payload(0), "in constant w " + std::string(kDequantise) + " aten.add.Tensor out1");
  EXPECT_THAT(fixture.lowered(), HasSubstr("%d: float32[2] = quantized_decomposed.dequantize_per_tensor"));
}

TEST(Partition, ADequantisationBelongsToItsReaders) {
  TestFixture fixture;
  fixture.method(R"(etg 1
module "forward"
graph @forward {
  user %x: float32[2]
  %q: int8[2] = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 0, -128, 127, int8)
  %d: float32[2] = quantized_decomposed.dequantize_per_tensor.default(%q, 0.5, 0, -128, 127, int8)
  %a: float32[2] = aten.add.Tensor(%d, %d)
  %r: float32[2] = aten.relu.default(%a)
  %b: float32[2] = aten.add.Tensor(%r, %d)
  return %b
}
)");
  fixture.plugin("npu", {kAdd, kQuantise, kDequantise});
  fixture.run();
  ASSERT_EQ(fixture.done.regions.size(), 2u);
  EXPECT_EQ(fixture.payload(0),
            "in " + std::string(kQuantise) + " " + std::string(kDequantise) + " aten.add.Tensor out2");
  EXPECT_EQ(fixture.payload(1), "in in " + std::string(kDequantise) + " aten.add.Tensor out1");
  EXPECT_THAT(fixture.lowered(), HasSubstr("%q: int8[2], %a: float32[2] = higher_order"));
}

TEST(Partition, ADequantisationThatTheHostReadsToo) {
  TestFixture fixture;
  fixture.method(R"(etg 1
module "forward"
graph @forward {
  user %x: float32[2]
  %q: int8[2] = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 0, -128, 127, int8)
  %d: float32[2] = quantized_decomposed.dequantize_per_tensor.default(%q, 0.5, 0, -128, 127, int8)
  %r: float32[2] = aten.relu.default(%d)
  %b: float32[2] = aten.add.Tensor(%r, %d)
  return %b
}
)");
  fixture.plugin("npu", {kAdd, kQuantise, kDequantise});
  fixture.run();
  ASSERT_EQ(fixture.done.regions.size(), 2u);
  EXPECT_EQ(fixture.payload(0), "in " + std::string(kQuantise) + " " + std::string(kDequantise) + " out2");
  EXPECT_EQ(fixture.payload(1), "in in " + std::string(kDequantise) + " aten.add.Tensor out1");
}

TEST(Partition, OnlyNodesThatDoNotCompileGoBackToTheHost) {
  TestFixture fixture;
  fixture.method(kDiamond).plugin("npu", {kAdd, kMul}).rejected_text = kMul;
  fixture.run();
  EXPECT_THAT(fixture.done.plugin_errors, testing::IsEmpty());
  ASSERT_EQ(fixture.done.regions.size(), 1u);
  EXPECT_THAT(fixture.done.regions[0].nodes, ElementsAre(0, 2));
  EXPECT_EQ(fixture.rejection(3), "host.compile: no aten.mul.Tensor");
  ASSERT_EQ(fixture.done.failed_claims.size(), 1u);
  EXPECT_EQ(to_text(fixture.done.failed_claims[0]),
            "plugin 'npu' claims aten.mul.Tensor (node 3) and cannot compile it: no aten.mul.Tensor; the "
            "host runs it");
}

TEST(Partition, TheNodeThatFailsIsFoundWithinItsRegion) {
  TestFixture fixture;
  fixture.method(kDiamond).plugin("npu", {kAdd, kMul, kRelu}).rejected_text = kRelu;
  fixture.run();
  EXPECT_THAT(fixture.done.plugin_errors, testing::IsEmpty());
  ASSERT_EQ(fixture.done.regions.size(), 2u);
  EXPECT_THAT(fixture.done.regions[0].nodes, ElementsAre(0, 2));
  EXPECT_THAT(fixture.done.regions[1].nodes, ElementsAre(3));
  EXPECT_EQ(fixture.rejection(1), "host.compile: no aten.relu.default");
}

TEST(Partition, AGroupGoesBackWhole) {
  TestFixture fixture;
  FakeCompiler& plugin = fixture.method(kDiamond).plugin("npu", {kAdd}, ETB_CLAIM_WHOLE_GROUP);
  plugin.group = 5;
  plugin.rejected_text = "aten.add.Tensor aten.add.Tensor";
  fixture.run();
  ASSERT_EQ(fixture.done.plugin_errors.size(), 1u);
  EXPECT_EQ(fixture.done.plugin_errors[0].text, "no aten.add.Tensor aten.add.Tensor");
}

TEST(Partition, OwnRegionsAndWholeGroups) {
  TestFixture fixture;
  fixture.method(kDiamond).plugin("npu", {kAdd, kMul}, ETB_CLAIM_OWN_REGION);
  EXPECT_EQ(fixture.run().done.regions.size(), 3u);
  TestFixture whole;
  whole.method(kDiamond).plugin("npu", {kAdd, kMul}, ETB_CLAIM_WHOLE_GROUP).group = 5;
  whole.run();
  ASSERT_EQ(whole.done.plugin_errors.size(), 1u);
  EXPECT_THAT(whole.done.plugin_errors[0].text,
              HasSubstr("claims 3 nodes as one region, which would have to run before itself: "
                        "aten.add.Tensor (node 0)"));
  EXPECT_TRUE(whole.done.regions.empty());
  TestFixture torn;
  torn.method(kDiamond).plugin("npu", {kAdd}, ETB_CLAIM_WHOLE_GROUP).group = 5;
  torn.options.filters.skip_nodes = {"b"};
  torn.run();
  EXPECT_TRUE(torn.done.regions.empty());
  EXPECT_EQ(torn.rejection(0), "host.group: other nodes of its group 5 cannot be delegated");
}

TEST(Partition, FiltersAndSmallRegionsLeaveNodesToTheHost) {
  TestFixture fixture;
  fixture.method(kDiamond).plugin("npu", {kAdd, kMul});
  fixture.options.min_region_nodes = 2;
  fixture.run();
  ASSERT_EQ(fixture.done.regions.size(), 1u);
  EXPECT_EQ(fixture.rejection(3), "host.small: its region would have 1 nodes, fewer than 2");
  TestFixture filtered;
  filtered.method(kDiamond).plugin("npu", {kAdd, kMul});
  filtered.options.filters.skip_ops = {"aten.mul*"};
  filtered.run();
  EXPECT_EQ(filtered.rejection(3), "host.filter: --skip-op 'aten.mul*'");
}

TEST(Partition, AConstantOfSeveralRegionsAndMethodsHasOneKeyAndOneBlob) {
  TestFixture fixture;
  const std::string text = R"(etg 1
module "forward"
constant "w": float32[2] = [1, 2]

graph @forward {
  parameter %w: float32[2] = "w" as "w"
  user %x: float32[2]
  %a: float32[2] = aten.add.Tensor(%x, %w)
  %r: float32[2] = aten.relu.default(%a)
  %b: float32[2] = aten.add.Tensor(%r, %w)
  return %b
}
)";
  fixture.method(text).method(text).plugin("npu", {kAdd});
  fixture.run();
  EXPECT_EQ(fixture.done.regions.size(), 4u);
  ASSERT_EQ(fixture.done.blobs.size(), 1u);
  EXPECT_EQ(fixture.done.blobs[0].constant_key, "w");
}

TEST(Partition, NamesThatMeetAreToldApart) {
  TestFixture fixture;
  for (const char* value : {"1", "3"})
    fixture.method(std::string("etg 1\nmodule \"m") + value + "\"\nconstant \"w\": float32[1] = [" + value +
                   R"(]

graph @forward {
  parameter %w: float32[1] = "w" as "w"
  user %x: float32[1]
  %a: float32[1] = aten.add.Tensor(%x, %w)
  return %a
}
)");
  fixture.plugin("npu", {kAdd});
  fixture.run();
  ASSERT_EQ(fixture.done.blobs.size(), 2u);
  EXPECT_EQ(fixture.done.blobs[1].key, "w#2");
}

// The host owns state: the plugin reads it as an operand and returns its new contents as a result.
TEST(Partition, StateIsAnOperand) {
  TestFixture fixture;
  fixture
      .method(R"(etg 1
module "forward"
constant "count": float32[1] = [4]

graph @forward {
  buffer %count: float32[1] = "count" as "count"
  user %x: float32[1]
  %next: float32[1] = aten.add.Tensor(%count, %x)
  return %next updates %count, %next
}
)")
      .plugin("npu", {kAdd});
  fixture.run();
  EXPECT_EQ(fixture.payload(0), "in in aten.add.Tensor out1");
  EXPECT_THAT(fixture.lowered(), HasSubstr("executorch_call_delegate.default(0, [%count, %x])"));
}

TEST(Partition, NumbersComeFromTheRegionsOwnTensorsWhereTheyCan) {
  TestFixture fixture;
  fixture
      .method(R"(etg 1
module "forward"
symbol s0 {2..8}

graph @forward {
  user %x: float32[s0, 3]
  %a: float32[3*s0] = aten.view_copy.default(%x, [3*s0])
  %r: float32[3*s0] = aten.relu.default(%a)
  %b: float32[s0, 3] = aten.view_copy.default(%r, [s0, 3])
  return %b
}
)")
      .plugin("npu", {"aten.view_copy.default"});
  fixture.run();
  EXPECT_EQ(fixture.payload(0),
            "in aten.sym_size.int executorch_prim.mul.Scalar aten.view_copy.default out1");
  EXPECT_THAT(fixture.done.regions[0].image.nodes, ElementsAre(ir::kNone, ir::kNone, 0));
  // The second region sees only 3*s0, from which s0 follows.
  EXPECT_EQ(fixture.payload(1),
            "in aten.sym_size.int executorch_prim.floordiv.Scalar aten.view_copy.default out1");
  EXPECT_THAT(fixture.lowered(), HasSubstr("executorch_call_delegate.default(1, [%r])"));
}

TEST(Partition, NodesWhoseNumbersNothingTellsStayWithTheHost) {
  TestFixture fixture;
  fixture
      .method(R"(etg 1
module "forward"
symbol s0 {2..8}
symbol s1 {2..8}

graph @forward {
  user %x: float32[s0, s1]
  %a: float32[s0*s1] = aten.view_copy.default(%x, [s0*s1])
  %r: float32[s0*s1] = aten.relu.default(%a)
  %b: float32[s0, s1] = aten.view_copy.default(%r, [s0, s1])
  return %b
}
)")
      .plugin("npu", {"aten.view_copy.default"});
  fixture.run();
  ASSERT_EQ(fixture.done.regions.size(), 1u);
  EXPECT_EQ(fixture.rejection(2),
            "host.number: needs a symbolic size that none of the region's inputs determine");
}

TEST(Partition, NodesInsideBranchesAreTakenAndConstantsThereReachPayloads) {
  TestFixture fixture;
  fixture
      .method(R"(etg 1
module "forward"
constant "w": float32[1] = [4]

graph @forward {
  user %p: bool[]
  user %x: float32[1]
  %y: float32[1] = higher_order.cond.default(%p, @yes, @no, [%x])
  return %y
}

graph @yes {
  user %x: float32[1]
  constant %w: float32[1] = "w" as "w"
  %a: float32[1] = aten.add.Tensor(%x, %w)
  return %a
}

graph @no {
  user %x: float32[1]
  %b: float32[1] = aten.add.Tensor(%x, %x)
  return %b
}
)")
      .plugin("npu", {kAdd, "higher_order.cond.default"});
  fixture.run();
  ASSERT_EQ(fixture.done.regions.size(), 2u);
  EXPECT_EQ(fixture.payload(0), "in constant w aten.add.Tensor out1");
  EXPECT_EQ(fixture.payload(1), "in aten.add.Tensor out1");
  EXPECT_EQ(fixture.rejection(0), "host.kept: the host runs control flow");
  EXPECT_THAT(fixture.lowered(), HasSubstr("higher_order.cond.default(%p, @yes, @no, [%x])"));
}

TEST(Partition, EqualInputsGiveEqualAnswers) {
  std::vector<std::string> texts;
  for (int i = 0; i < 2; ++i) {
    TestFixture fixture;
    fixture.method(kDiamond).plugin("npu", {kAdd, kMul});
    fixture.run();
    std::string text = to_json(make_report(fixture.modules, fixture.done, fixture.keys));
    for (const Region& region : fixture.done.regions)
      text += std::string(reinterpret_cast<const char*>(region.image.image.span().data()),
                          region.image.image.span().size());
    texts.push_back(text + fixture.lowered());
  }
  EXPECT_EQ(texts[0], texts[1]);
}

// Every second node is foreign, each tied to the start and to the second before: the maximum number of
// regions. If any step were quadratic in nodes or regions, the test would exceed its time limit.
TEST(Partition, AHundredThousandNodes) {
  constexpr int kCount = 100000;
  std::string text = "etg 1\nmodule \"forward\"\ngraph @forward {\n  user %x: float32[2]\n";
  text += "  %v0: float32[2] = aten.add.Tensor(%x, %x)\n  %v1: float32[2] = aten.mul.Tensor(%v0, %x)\n";
  for (int i = 2; i < kCount; ++i)
    text += "  %v" + std::to_string(i) + ": float32[2] = " + (i % 2 == 0 ? kAdd : kMul) + "(%v" +
            std::to_string(i - 1) + ", %v" + std::to_string(i - 2) + ")\n";
  text += "  return %v" + std::to_string(kCount - 1) + "\n}\n";
  for (const uint32_t flags : {0u, ETB_CLAIM_OWN_REGION}) {
    TestFixture fixture;
    fixture.method(text).plugin("npu", {kAdd}, flags);
    fixture.run();
    EXPECT_EQ(fixture.done.regions.size(), static_cast<size_t>(kCount / 2));
    const Report report = make_report(fixture.modules, fixture.done, fixture.keys);
    EXPECT_EQ(report.delegated_count, static_cast<uint64_t>(kCount / 2));
    EXPECT_TRUE(lower(fixture.modules, fixture.done));
  }
}

TEST(Partition, ComplexTensorsStayWithTheHost) {
  TestFixture fixture;
  fixture
      .method(R"(etg 1
module "m"

graph @forward {
  user %x: float32[8]
  %y: complex64[5] = aten._fft_r2c.default(%x, [0], 0, true)
  %z: float32[8] = aten._fft_c2r.default(%y, [0], 2, 8)
  return %z
}
)")
      .plugin("npu", {"aten._fft_r2c.default", "aten._fft_c2r.default"});
  fixture.run();
  EXPECT_THAT(to_text(make_report(fixture.modules, fixture.done, fixture.keys)),
              HasSubstr("reads or returns complex numbers, which plugins do not receive"));
}

}  // namespace
}  // namespace etb::partition
