// SPDX-License-Identifier: Apache-2.0
// Plugins that misuse the host's services are reported.
#include <gtest/gtest.h>

#include "host/testing/layer_fixture.hpp"
#include "host/testing/report_matcher.hpp"

namespace etb::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const etb_alloc_service& memory_of(etb_context* context) { return *toy(context)->delegate->plugin->alloc; }

// proves: ABI-HYG-03
TEST(ValidateServices, ReportsMemoryThatIsHeldAfterDeinit) {
  LayerFixture fixture;
  fixture.toy.delegate.execute = [](etb_context* context, const etb_exec_args*, etb_error*) -> etb_status {
    const etb_alloc_service& memory = memory_of(context);
    memory.allocate(memory.ctx, 100, 16, "kept");
    memory.free(memory.ctx, memory.allocate(memory.ctx, 100, 16, "given back"));
    return ETB_OK;
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  ASSERT_EQ(fixture.execute(), ETB_OK);
  EXPECT_THAT(fixture.found(), IsEmpty());
  fixture.stop();
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-HYG-03", Side::PLUGIN, "100 bytes of 'kept'")));
  EXPECT_EQ(fixture.services().memory().usage().live_bytes, 100u) << "the host's own count agrees";
}

// proves: ABI-OWN-04
TEST(ValidateServices, ReportsMemoryThatIsGivenBackTwice) {
  LayerFixture fixture;
  fixture.toy.delegate.execute = [](etb_context* context, const etb_exec_args*, etb_error*) -> etb_status {
    const etb_alloc_service& memory = memory_of(context);
    void* const ptr = memory.allocate(memory.ctx, 100, 16, nullptr);
    memory.free(memory.ctx, ptr);
    memory.free(memory.ctx, ptr);
    return ETB_OK;
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  ASSERT_EQ(fixture.execute(), ETB_OK);
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-OWN-04", Side::PLUGIN, "had freed before")));
}

// proves: ABI-EXEC-02
TEST(ValidateServices, ReportsMemoryTakenInAReservedRun) {
  LayerFixture fixture;
  fixture.toy.delegate.execute = [](etb_context* context, const etb_exec_args*, etb_error*) -> etb_status {
    const etb_alloc_service& memory = memory_of(context);
    memory.free(memory.ctx, memory.allocate(memory.ctx, 64, 16, "scratch"));
    return ETB_OK;
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  ASSERT_EQ(fixture.execute(), ETB_OK);
  EXPECT_THAT(fixture.found(), IsEmpty()) << "without a reservation it may";
  fixture.run.in_sizes[0] = 2;
  ASSERT_EQ(fixture.delegates().context_reserve(fixture.context(), &fixture.run.input, 1, nullptr), ETB_OK);
  fixture.run.in_sizes[0] = 3;
  ASSERT_EQ(fixture.execute(), ETB_OK);
  EXPECT_THAT(fixture.found(), IsEmpty()) << "above what was reserved it may";
  fixture.run.in_sizes[0] = 1;
  ASSERT_EQ(fixture.execute(), ETB_OK);
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-EXEC-02", Side::PLUGIN, "64 bytes of 'scratch'")));
}

// proves: ABI-OWN-02
TEST(ValidateServices, ReportsAServiceAskedAfterDeinit) {
  LayerFixture fixture;
  static const etb_host* kept;
  static const etb_alloc_service* memory;
  fixture.toy.plugin.init = [](const etb_host* host, const etb_option* options, uint64_t count,
                               etb_plugin** out, etb_error* error) {
    kept = host;
    memory = static_cast<const etb_alloc_service*>(host->get_service(host, ETB_SERVICE_ALLOC));
    return toy_tables().plugin.init(host, options, count, out, error);
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  fixture.stop();
  EXPECT_EQ(kept->get_service(kept, ETB_SERVICE_CLOCK), nullptr);
  EXPECT_EQ(memory->allocate(memory->ctx, 1, 1, nullptr), nullptr);
  EXPECT_THAT(fixture.found(),
              ElementsAre(Report("ABI-OWN-02", Side::PLUGIN, "get_service was called after deinit"),
                          Report("ABI-OWN-02", Side::PLUGIN, "alloc/1 allocate")));
}

// proves: ABI-HOST-01
TEST(ValidateServices, DoesNotStandInForAServiceThatTheHostLacks) {
  LayerFixture fixture;
  fixture.services().table().add(ETB_SERVICE_ALLOC, nullptr);
  fixture.services().table().add(ETB_SERVICE_CLOCK, nullptr);
  ASSERT_EQ(fixture.start(), ETB_OK);
  ASSERT_EQ(fixture.execute(), ETB_OK);
  EXPECT_THAT(fixture.found(), IsEmpty());
}

}  // namespace
}  // namespace etb::host
