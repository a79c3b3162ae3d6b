// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/mutation/relevance.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "host/testing/scratch_dir.hpp"

namespace etb::mutation {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Relevance, OpsAreThoseOfHeadersAndRows) {
  EXPECT_THAT(ops_named_in("#include \"ops/amax.hpp\"\nrow<ops::mean_out, f>(); x = loops::sum;"),
              ElementsAre("amax", "mean"));
  EXPECT_THAT(ops_named_in("#include \"plugins/xnnpack/ops/ops.hpp\""), IsEmpty());
}

TEST(Relevance, OpsOfAProgramAreReadFromItsGraph) {
  const host::ScratchDir dir;
  std::ofstream(dir.path("a.pt2")) << "\"target\": \"torch.ops.aten.max_pool2d.default\", torch.ops.aten.add";
  EXPECT_THAT(ops_of_program(dir.path("a.pt2")), ElementsAre("add", "max_pool2d"));
  EXPECT_THAT(ops_of_program(dir.path("no file")), IsEmpty());
}

TEST(Relevance, SamplesThatNoticedBeforeAreFirstThenThoseOfTheFilesOps) {
  const std::vector<Sample> samples = {
      {"/x/add/f_1", {"add"}}, {"/x/sum/f_1", {"sum"}}, {"/x/mul/f_1", {"mul"}}};
  std::vector<std::string> order;
  for (const Sample& sample : with_first(samples, {"sum"}, {"program_samples: mul/f_1: wrong"}))
    order.push_back(sample.path);
  EXPECT_THAT(order, ElementsAre("/x/mul/f_1", "/x/sum/f_1", "/x/add/f_1"));
}

TEST(Relevance, PatternsAreThoseOfAllGroups) {
  EXPECT_THAT(patterns_for({"sum"}), ElementsAre("*.sum.*", "*.sum_*"));
}

}  // namespace
}  // namespace etb::mutation
