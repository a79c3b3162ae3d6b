// SPDX-License-Identifier: Apache-2.0
// Tests --layer: none by default, order, unknown names.
#include "tools/session_layers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using testing::HasSubstr;

Session session_to(std::ostringstream& err) { return Session{err, err, {}}; }

// proves: ABI-LAYER-01
TEST(SessionLayers, AreNoneUnlessAskedFor) {
  std::ostringstream err;
  Session session = session_to(err);
  const auto layers = SessionLayers::make({}, session);
  ASSERT_TRUE(layers);
  EXPECT_TRUE((*layers)->layers().empty());
  EXPECT_EQ((*layers)->finish(ExitCode::OK), ExitCode::OK);
}

TEST(SessionLayers, StandInTheOrderGiven) {
  std::ostringstream err;
  Session session = session_to(err);
  const auto layers = SessionLayers::make({"validate:strict:guard-pages", "trace"}, session);
  ASSERT_TRUE(layers) << layers.error().message;
  ASSERT_EQ((*layers)->layers().size(), 2u);
  EXPECT_STREQ((*layers)->layers()[0].name, "validate");
  EXPECT_STREQ((*layers)->layers()[1].name, "trace");
}

TEST(SessionLayers, RefuseWhatTheyDoNotKnow) {
  std::ostringstream err;
  Session session = session_to(err);
  for (const char* text : {"sandbox", "", "trace:verbose", "trace=", "validate:loose", "validate:"})
    EXPECT_FALSE(SessionLayers::make({text}, session)) << text;
  EXPECT_FALSE(SessionLayers::make({"trace", "trace"}, session)) << "once is enough";
  const CliRun run = cli({"run", "model.pte", "--layer", "sandbox"});
  EXPECT_NE(run.exit, 0);
  EXPECT_THAT(run.err, HasSubstr("--layer: layer 'sandbox', expected trace[=FILE], validate"));
}

}  // namespace
}  // namespace etb::tools
