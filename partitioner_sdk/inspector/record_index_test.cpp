// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/inspector/record_index.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/format/etdump_program.hpp"
#include "partitioner_sdk/testing/inspector_fixture.hpp"

namespace etb::inspector {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const MethodIndex& method_of(const RecordIndex& index, const format::EtdumpBlock& block) {
  const auto found = index.find_method(block);
  EXPECT_TRUE(found) << found.error().message;
  EXPECT_NE(*found, nullptr);
  return **found;
}

TEST(RecordIndex, EventsInsideADelegateAreJoinedByNameOrNumber) {
  const RecordIndex index = sample_index();
  const format::EtdumpBlock run = sample_run();
  const MethodIndex& method = method_of(index, run);
  const Origin conv = method.find(run.events[2]);
  EXPECT_EQ(conv.backend_id, "XnnpackBackend");
  EXPECT_THAT(conv.debug_handles, ElementsAre(2u, 3u));
  ASSERT_EQ(conv.nodes.size(), 2u);
  EXPECT_EQ(conv.nodes[1]->op, "aten.relu.default");
  format::EtdumpEvent numbered = event("", 0, 1, 0, 1);
  numbered.delegate_debug_id = 7;
  EXPECT_THAT(method.find(numbered).debug_handles, ElementsAre(4u));
  numbered.delegate_debug_id = 77;  // official readers find "7" in it
  EXPECT_TRUE(method.find(numbered).debug_handles.empty());
}

TEST(RecordIndex, CallsHaveTheNodesOfTheirRegion) {
  const RecordIndex index = sample_index();
  const format::EtdumpBlock run = sample_run();
  const Origin call = method_of(index, run).find(run.events[4]);
  EXPECT_EQ(call.backend_id, "XnnpackBackend");
  EXPECT_EQ(call.nodes.size(), 3u);
  EXPECT_TRUE(method_of(index, run).find(run.events[6]).nodes.empty());
}

TEST(RecordIndex, TheMethodOfARunIsFoundByItsInstructions) {
  const RecordIndex index = official_index("two_methods.etrecord");
  std::vector<std::string> names;
  for (const format::EtdumpBlock& block : official_profile("two_methods.etdp"))
    if (block.name == "Execute") names.push_back(method_of(index, block).name());
  EXPECT_THAT(names, ElementsAre("forward", "forward", "forward", "encode", "encode", "encode"));
}

TEST(RecordIndex, BlocksWithoutInstructionsHaveNoMethod) {
  const auto found = sample_index().find_method(official_profile("add.etdp").at(0));
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, nullptr);
}

TEST(RecordIndex, AProfileOfAnotherProgramIsRefusedByItsDigest) {
  const RecordIndex index = sample_index();
  std::vector<format::EtdumpBlock> blocks = {sample_run()};
  EXPECT_TRUE(index.expect_program_of(blocks, "run.etdp", "model.etrecord"));
  format::set_program(blocks, {"model.pte", std::string(64, 'a')});
  EXPECT_TRUE(index.expect_program_of(blocks, "run.etdp", "model.etrecord"));
  blocks[0].allocators.clear();
  format::set_program(blocks, {"other.pte", std::string(64, 'b')});
  const Status refused = index.expect_program_of(blocks, "run.etdp", "model.etrecord");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("'run.etdp' is a profile of 'other.pte' (SHA-256 bbbbbbbbbbbb...)"),
                    HasSubstr("'model.etrecord' is the record of 'model.pte' (SHA-256 aaaaaaaaaaaa...)")));
}

// Official files have no digest.
TEST(RecordIndex, AProfileOfAnotherProgramIsRefusedByItsInstructions) {
  const auto conflict =
      official_index("add.etrecord").find_method(official_profile("net_xnnpack.etdp").at(1));
  ASSERT_FALSE(conflict);
  EXPECT_THAT(conflict.error().message,
              AllOf(HasSubstr("the profile is of another program than the record"),
                    HasSubstr("instruction 0: the profile has a call of a delegate, the record none")));
  const auto reverse = official_index("net_xnnpack.etrecord").find_method(official_profile("add.etdp").at(1));
  ASSERT_FALSE(reverse);
  EXPECT_THAT(reverse.error().message,
              HasSubstr("the operator 'add', the record a call of 'XnnpackBackend'"));
}

TEST(RecordIndex, NamesOfOperatorsAreComparedWithoutOverloads) {
  EXPECT_EQ(base_of_op("native_call_add.out"), "add");
  EXPECT_EQ(base_of_op("aten.add.Tensor"), "add");
  EXPECT_EQ(base_of_op("my.scale.default"), "scale");
}

}  // namespace
}  // namespace etb::inspector
