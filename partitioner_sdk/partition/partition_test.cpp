// SPDX-License-Identifier: Apache-2.0
// Tests partitioning with fake compilers: claims, groups, symbolic sizes, faults, lowering, reports.
#include "partitioner_sdk/partition/partition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/ir/verify.hpp"
#include "partitioner_sdk/partition/fake_compiler.hpp"
#include "partitioner_sdk/partition/report.hpp"

namespace etb::partition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kAdd = "aten.add.Tensor";
constexpr const char* kMul = "aten.mul.Tensor";
constexpr const char* kRelu = "aten.relu.default";

// A program of methods, and its partition.
struct World {
  std::vector<ir::Module> modules;
  std::vector<std::unique_ptr<Compiler>> compilers;
  PartitionOptions options;
  ConstantKeys keys;
  Partition done;

  World& method(const std::string& text) {
    auto module = ir::parse(text);
    EXPECT_TRUE(module) << module.error().message;
    if (module) modules.push_back(*std::move(module));
    return *this;
  }
  FakeCompiler& plugin(const std::string& name, std::set<std::string, std::less<>> ops, uint32_t flags = 0) {
    auto made = std::make_unique<FakeCompiler>(name, std::move(ops), flags);
    FakeCompiler& plugin = *made;
    compilers.push_back(std::move(made));
    return plugin;
  }
  World& run() {
    auto got = partition(modules, compilers, options, keys);
    EXPECT_TRUE(got) << got.error().message;
    if (got) done = *std::move(got);
    return *this;
  }
  std::string lowered(size_t method = 0) {
    const Status status = lower(modules, done);
    if (!status) return status.error().message;
    const Status verified = ir::verify(modules[method]);
    return verified ? ir::print(modules[method]) : verified.error().message;
  }
  std::string payload(size_t region) const {
    const auto& bytes = done.regions[region].artifact.payload;
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::string refusal(uint32_t node, size_t index = 0) const {
    const auto& refusals = done.fates[0][0][node].refusals;
    return index < refusals.size() ? refusals[index].reason + ": " + refusals[index].text : "";
  }
};

constexpr const char* kDiamond = R"(etg 1
module "forward"
constant "w": float32[2] = [1, 2]

graph @forward {
  parameter %w: float32[2] = "w" as "w"
  user %x: float32[2]
  %a: float32[2] = aten.add.Tensor(%x, %w)
  %r: float32[2] = aten.relu.default(%a)
  %b: float32[2] = aten.add.Tensor(%a, %w)
  %c: float32[2] = aten.mul.Tensor(%r, %b)
  return %c
}
)";

TEST(Partition, RegionsBecomeCalls) {
  World world;
  world.method(kDiamond).plugin("npu", {kAdd, kMul});
  world.run();
  ASSERT_EQ(world.done.regions.size(), 2u);
  EXPECT_THAT(world.done.regions[0].nodes, ElementsAre(0, 2));
  EXPECT_THAT(world.done.regions[1].nodes, ElementsAre(3));
  EXPECT_EQ(world.done.regions[0].cost_ns, 20);
  EXPECT_EQ(world.payload(0), "in constant w aten.add.Tensor aten.add.Tensor out2");
  EXPECT_EQ(world.payload(1), "in in aten.mul.Tensor out1");
  EXPECT_EQ(world.refusal(1), "op: aten.relu.default");
  // The weight moved into the payload and is no longer an input of the method.
  EXPECT_EQ(world.lowered(), R"(etg 1
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
  World world;
  world.method(kDiamond);
  world.plugin("first", {kAdd});
  world.plugin("second", {kAdd, kRelu, kMul});
  world.run();
  EXPECT_THAT(world.done.regions, testing::SizeIs(2));
  EXPECT_EQ(world.done.regions[0].compiler, 0u);
  EXPECT_THAT(world.done.regions[1].nodes, ElementsAre(1, 3));
  EXPECT_EQ(world.refusal(0), "host.taken: a plugin before took it");
  EXPECT_EQ(world.done.backend_ids[world.done.regions[1].compiler], "secondBackend");
}

TEST(Partition, OneThatCannotCompileIsNamedAndOthersGetItsNodes) {
  World world;
  world.method(kDiamond);
  world.plugin("first", {kAdd}).fails_to_compile = true;
  world.plugin("second", {kAdd});
  world.run();
  ASSERT_EQ(world.done.faults.size(), 1u);
  EXPECT_EQ(world.done.faults[0].plugin, "first");
  EXPECT_EQ(world.done.faults[0].text, "no tools");
  ASSERT_EQ(world.done.regions.size(), 1u);
  EXPECT_EQ(world.done.regions[0].compiler, 1u);
}

TEST(Partition, OwnRegionsAndWholeGroups) {
  World world;
  world.method(kDiamond).plugin("npu", {kAdd, kMul}, ETB_CLAIM_OWN_REGION);
  EXPECT_EQ(world.run().done.regions.size(), 3u);
  World whole;
  whole.method(kDiamond).plugin("npu", {kAdd, kMul}, ETB_CLAIM_WHOLE_GROUP).group = 5;
  whole.run();
  ASSERT_EQ(whole.done.faults.size(), 1u);
  EXPECT_THAT(whole.done.faults[0].text,
              HasSubstr("wants 3 nodes in one region that would have to run before itself: "
                        "aten.add.Tensor (node 0)"));
  EXPECT_TRUE(whole.done.regions.empty());
  World torn;
  torn.method(kDiamond).plugin("npu", {kAdd}, ETB_CLAIM_WHOLE_GROUP).group = 5;
  torn.options.filters.skip_nodes = {"b"};
  torn.run();
  EXPECT_TRUE(torn.done.regions.empty());
  EXPECT_EQ(torn.refusal(0), "host.group: other nodes of its group 5 cannot be taken");
}

TEST(Partition, FiltersAndSmallRegionsLeaveNodesToTheHost) {
  World world;
  world.method(kDiamond).plugin("npu", {kAdd, kMul});
  world.options.min_region_nodes = 2;
  world.run();
  ASSERT_EQ(world.done.regions.size(), 1u);
  EXPECT_EQ(world.refusal(3), "host.small: its region would have 1 nodes, fewer than 2");
  World filtered;
  filtered.method(kDiamond).plugin("npu", {kAdd, kMul});
  filtered.options.filters.skip_ops = {"aten.mul*"};
  filtered.run();
  EXPECT_EQ(filtered.refusal(3), "host.filter: --skip-op 'aten.mul*'");
}

TEST(Partition, AConstantOfSeveralRegionsAndMethodsHasOneKeyAndOneBlob) {
  World world;
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
  world.method(text).method(text).plugin("npu", {kAdd});
  world.run();
  EXPECT_EQ(world.done.regions.size(), 4u);
  ASSERT_EQ(world.done.blobs.size(), 1u);
  EXPECT_EQ(world.done.blobs[0].constant_key, "w");
}

TEST(Partition, NamesThatMeetAreToldApart) {
  World world;
  for (const char* value : {"1", "3"})
    world.method(std::string("etg 1\nmodule \"m") + value + "\"\nconstant \"w\": float32[1] = [" + value +
                 R"(]

graph @forward {
  parameter %w: float32[1] = "w" as "w"
  user %x: float32[1]
  %a: float32[1] = aten.add.Tensor(%x, %w)
  return %a
}
)");
  world.plugin("npu", {kAdd});
  world.run();
  ASSERT_EQ(world.done.blobs.size(), 2u);
  EXPECT_EQ(world.done.blobs[1].key, "w#2");
}

// The host owns state: the plugin reads it as an operand and returns its new contents as a result.
TEST(Partition, StateIsAnOperand) {
  World world;
  world
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
  world.run();
  EXPECT_EQ(world.payload(0), "in in aten.add.Tensor out1");
  EXPECT_THAT(world.lowered(), HasSubstr("executorch_call_delegate.default(0, [%count, %x])"));
}

TEST(Partition, NumbersComeFromTheRegionsOwnTensorsWhereTheyCan) {
  World world;
  world
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
  world.run();
  EXPECT_EQ(world.payload(0), "in aten.sym_size.int executorch_prim.mul.Scalar aten.view_copy.default out1");
  EXPECT_THAT(world.done.regions[0].image.nodes, ElementsAre(ir::kNone, ir::kNone, 0));
  // The second region sees only 3*s0, from which s0 follows.
  EXPECT_EQ(world.payload(1),
            "in aten.sym_size.int executorch_prim.floordiv.Scalar aten.view_copy.default out1");
  EXPECT_THAT(world.lowered(), HasSubstr("executorch_call_delegate.default(1, [%r])"));
}

TEST(Partition, NodesWhoseNumbersNothingTellsStayWithTheHost) {
  World world;
  world
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
  world.run();
  ASSERT_EQ(world.done.regions.size(), 1u);
  EXPECT_EQ(world.refusal(2), "host.number: needs a number that no tensor of its region tells");
}

TEST(Partition, NodesInsideBranchesAreTakenAndConstantsThereReachPayloads) {
  World world;
  world
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
  world.run();
  ASSERT_EQ(world.done.regions.size(), 2u);
  EXPECT_EQ(world.payload(0), "in constant w aten.add.Tensor out1");
  EXPECT_EQ(world.payload(1), "in aten.add.Tensor out1");
  EXPECT_EQ(world.refusal(0), "host.kept: control flow stays with the host");
  EXPECT_THAT(world.lowered(), HasSubstr("higher_order.cond.default(%p, @yes, @no, [%x])"));
}

TEST(Partition, EqualInputsGiveEqualAnswers) {
  std::vector<std::string> texts;
  for (int i = 0; i < 2; ++i) {
    World world;
    world.method(kDiamond).plugin("npu", {kAdd, kMul});
    world.run();
    std::string text = to_json(make_report(world.modules, world.done, world.keys));
    for (const Region& region : world.done.regions)
      text += std::string(reinterpret_cast<const char*>(region.image.image.span().data()),
                          region.image.image.span().size());
    texts.push_back(text + world.lowered());
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
    World world;
    world.method(text).plugin("npu", {kAdd}, flags);
    world.run();
    EXPECT_EQ(world.done.regions.size(), static_cast<size_t>(kCount / 2));
    const Report report = make_report(world.modules, world.done, world.keys);
    EXPECT_EQ(report.delegated_count, static_cast<uint64_t>(kCount / 2));
    EXPECT_GT(to_html(report).size(), 1000u);
    EXPECT_TRUE(lower(world.modules, world.done));
  }
}

// ---- Reports

TEST(Report, TextHasTheSummaryTheTableAndTheReasons) {
  World world;
  world.method(kDiamond).plugin("npu", {kAdd});
  world.run();
  EXPECT_EQ(to_text(make_report(world.modules, world.done, world.keys)),
            R"(Total delegated subgraphs: 1
Number of delegated nodes: 2
Number of non-delegated nodes: 2

op_type            occurrences_in_delegated_graphs  occurrences_in_non_delegated_graphs
aten.add.Tensor    2                                0
aten.mul.Tensor    0                                1
aten.relu.default  0                                1
Total              2                                2

region 0: npu (npuBackend), method forward, 2 nodes, 1 operands, 2 results, payload 50 bytes

Not delegated, and why:
forward %r = aten.relu.default
    npu: op: aten.relu.default
forward %c = aten.mul.Tensor
    npu: op: aten.mul.Tensor
)");
}

TEST(Report, PageEscapesWhatPluginsSay) {
  World world;
  world.method(kDiamond).plugin("<script>alert(1)</script>", {kAdd});
  world.run();
  const std::string page = to_html(make_report(world.modules, world.done, world.keys));
  EXPECT_THAT(page, testing::Not(HasSubstr("<script>")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(page, HasSubstr("<svg "));
  EXPECT_THAT(page, testing::Not(HasSubstr("http")));
}

}  // namespace
}  // namespace etb::partition
