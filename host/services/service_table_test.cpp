// SPDX-License-Identifier: Apache-2.0
#include "host/services/service_table.hpp"

#include <gtest/gtest.h>

#include "etb/version.h"
#include "host/services/plugin_services.hpp"

namespace etb::host {
namespace {

// proves: ABI-EXT-01
TEST(ServiceTable, AnswersNullForAnUnknownId) {
  const ServiceTable services;
  const HostRecord record(services, "");
  const etb_host& host = record.host();
  EXPECT_EQ(host.get_service(&host, "log/1"), nullptr);
  EXPECT_EQ(host.get_service(&host, ""), nullptr);
  EXPECT_EQ(host.get_service(&host, nullptr), nullptr);
}

TEST(ServiceTable, FindsWhatWasAddedLast) {
  const int first = 0, second = 0;
  ServiceTable services;
  services.add("com.example.thing/1", &first);
  services.add("com.example.thing/2", &second);
  EXPECT_EQ(services.find("com.example.thing/1"), &first);
  services.add("com.example.thing/1", &second);
  EXPECT_EQ(services.find("com.example.thing/1"), &second);
}

TEST(ServiceTable, ServesACopyOfTheHostStruct) {
  const PluginServices services({});
  const HostRecord record(const_cast<PluginServices&>(services).table(), "/opt/plugins", ETB_HOST_SECURE);
  const etb_host copy = record.host();
  EXPECT_STREQ(copy.plugin_dir, "/opt/plugins");
  EXPECT_EQ(copy.flags, ETB_HOST_SECURE);
  EXPECT_EQ(copy.abi_version, ETB_ABI_VERSION);
  EXPECT_EQ(copy.get_service(&copy, ETB_SERVICE_CLOCK), clock_service());
  EXPECT_EQ(copy.get_service(&copy, ETB_SERVICE_LOG), nullptr) << "this host gives no log";
}

TEST(ServiceTable, AsksTheApplicationFirst) {
  const etb_clock_service own{sizeof(own), 0, nullptr, [](void*) -> uint64_t { return 7; }};
  etb_host application{};
  application.struct_size = sizeof(application);
  application.name = "camera";
  application.ctx = const_cast<etb_clock_service*>(&own);
  application.get_service = [](const etb_host* self, const char* id) -> const void* {
    return std::string_view(id) == ETB_SERVICE_CLOCK ? self->ctx : nullptr;
  };
  PluginServices services({}, AccountedAllocator::kUnbounded, &application);
  const HostRecord record(services.table(), "", 0, &application);
  const etb_host& host = record.host();
  EXPECT_STREQ(host.name, "camera");
  EXPECT_STRNE(host.version, "");
  EXPECT_EQ(host.get_service(&host, ETB_SERVICE_CLOCK), &own);
  EXPECT_EQ(host.get_service(&host, ETB_SERVICE_ALLOC), services.memory().service());
}

TEST(PluginServices, GivesWhatTheHostShares) {
  LogSink log(ETB_LOG_INFO, [](const LogLine&) {});
  ThreadPool pool(1);
  DiagCollector diag;
  PluginServices services({&log, &pool, &diag}, 100);
  EXPECT_EQ(services.table().find(ETB_SERVICE_LOG), log.service());
  EXPECT_EQ(services.table().find(ETB_SERVICE_PARALLEL), pool.service());
  EXPECT_EQ(services.table().find(ETB_SERVICE_DIAG), diag.service());
  EXPECT_EQ(services.table().find(ETB_SERVICE_ALLOC), services.memory().service());
}

TEST(Clock, NeverRunsBackwards) {
  const etb_clock_service& clock = *clock_service();
  uint64_t before = clock.now_ns(clock.ctx);
  EXPECT_GT(before, 0u);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t now = clock.now_ns(clock.ctx);
    ASSERT_GE(now, before);
    before = now;
  }
}

}  // namespace
}  // namespace etb::host
