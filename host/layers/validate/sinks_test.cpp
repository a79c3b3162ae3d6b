// SPDX-License-Identifier: Apache-2.0
// Plugins that call back at the wrong time, on the wrong thread, or with wrong items are reported.
#include <gtest/gtest.h>

#include <thread>

#include "etb/cpp/sink.hpp"
#include "host/testing/layer_fixture.hpp"
#include "host/testing/report_matcher.hpp"

namespace etb::host {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ValidateSinks : public ::testing::Test {
 protected:
  etb_status query_io(etb_status (*wrong)(etb_delegate*, const etb_io_req_sink*, etb_error*)) {
    fixture_.toy.delegate.query_io = wrong;
    EXPECT_EQ(fixture_.start(), ETB_OK);
    auto put = [this](const etb_io_req&) -> etb_status {
      ++put_count_;
      return answer_;
    };
    const auto sink = sink_to<etb_io_req_sink>(put);
    return fixture_.delegates().query_io(fixture_.delegate(), &sink, fixture_.fresh_error());
  }

  static etb_io_req req(uint32_t role = ETB_ROLE_INPUT, uint32_t index = 0) {
    etb_io_req result{};
    result.struct_size = sizeof(result);
    result.role = role;
    result.index = index;
    result.alignment = 4;
    return result;
  }

  LayerFixture fixture_;
  int put_count_ = 0;
  etb_status answer_ = ETB_OK;
};

// proves: ABI-SINK-01
TEST_F(ValidateSinks, ReportsAnItemAfterTheCall) {
  static const etb_io_req_sink* kept;
  query_io([](etb_delegate*, const etb_io_req_sink* sink, etb_error*) -> etb_status {
    kept = sink;
    return ETB_OK;
  });
  const etb_io_req late = req();
  EXPECT_NE(kept->put(kept->ctx, &late), ETB_OK);
  EXPECT_EQ(put_count_, 0);
  EXPECT_THAT(fixture_.found(), ElementsAre(Report("ABI-SINK-01", Side::PLUGIN, "after the call returned")));
}

// proves: ABI-SINK-01
TEST_F(ValidateSinks, ReportsAnItemFromAnotherThread) {
  query_io([](etb_delegate*, const etb_io_req_sink* sink, etb_error*) -> etb_status {
    std::thread([&] {
      const etb_io_req item = req();
      sink->put(sink->ctx, &item);
    }).join();
    return ETB_OK;
  });
  EXPECT_EQ(put_count_, 0);
  EXPECT_THAT(fixture_.found(), ElementsAre(Report("ABI-SINK-01", Side::PLUGIN, "another thread")));
}

// proves: ABI-SINK-02
TEST_F(ValidateSinks, ReportsItemsAfterAStop) {
  answer_ = ETB_CANCELLED;
  EXPECT_EQ(query_io([](etb_delegate*, const etb_io_req_sink* sink, etb_error*) -> etb_status {
              const etb_io_req first = req(), second = req(ETB_ROLE_INPUT, 1);
              sink->put(sink->ctx, &first);
              return sink->put(sink->ctx, &second);
            }),
            ETB_CANCELLED);
  EXPECT_EQ(put_count_, 1);
  EXPECT_THAT(fixture_.found(),
              ElementsAre(Report("ABI-SINK-02", Side::PLUGIN, "again after it had returned 64")));
}

// proves: ABI-SINK-02
TEST_F(ValidateSinks, ReportsAnotherStatusThanTheSinks) {
  answer_ = ETB_CANCELLED;
  query_io([](etb_delegate*, const etb_io_req_sink* sink, etb_error*) -> etb_status {
    const etb_io_req item = req();
    sink->put(sink->ctx, &item);
    return ETB_OK;
  });
  EXPECT_THAT(fixture_.found(), ElementsAre(Report("ABI-SINK-02", Side::PLUGIN, "returned 64, the call 0")));
}

// proves: ABI-SINK-03
TEST_F(ValidateSinks, ReportsItemsInTheWrongOrder) {
  query_io([](etb_delegate*, const etb_io_req_sink* sink, etb_error*) -> etb_status {
    const etb_io_req output = req(ETB_ROLE_OUTPUT), input = req();
    if (const etb_status status = sink->put(sink->ctx, &output); status != ETB_OK) return status;
    return sink->put(sink->ctx, &input);
  });
  EXPECT_THAT(fixture_.found(),
              ElementsAre(Report("ABI-SINK-03", Side::PLUGIN, "an input came after an output")));
}

// proves: ABI-SINK-03 ABI-TYPE-03 ABI-CALL-04
TEST_F(ValidateSinks, ReportsItemsThatCannotBe) {
  query_io([](etb_delegate*, const etb_io_req_sink* sink, etb_error*) -> etb_status {
    const etb_io_req skipped = req(ETB_ROLE_INPUT, 5);
    return sink->put(sink->ctx, &skipped);
  });
  EXPECT_THAT(fixture_.found(),
              ElementsAre(Report("ABI-SINK-03", Side::PLUGIN, "req.index is 5, expected 0")));
  LayerFixture other;
  other.toy.device.enumerate = [](etb_plugin*, const etb_device_sink* sink, etb_error*) -> etb_status {
    etb_device_info info{};
    info.struct_size = sizeof(info);
    return sink->put(sink->ctx, &info);
  };
  other.toy.plugin.option_schema = [](etb_plugin*, const etb_option_schema_sink* sink,
                                      etb_error*) -> etb_status {
    etb_option_schema schema{};
    schema.struct_size = sizeof(schema);
    schema.key = schema.doc = "x";
    schema.type = 88;
    return sink->put(sink->ctx, &schema);
  };
  ASSERT_EQ(other.start(), ETB_OK);
  auto take_info = [](const etb_device_info&) -> etb_status { return ETB_OK; };
  const auto infos = sink_to<etb_device_sink>(take_info);
  other.table().device->enumerate(other.plugin, &infos, nullptr);
  auto take_schema = [](const etb_option_schema&) -> etb_status { return ETB_OK; };
  const auto schemas = sink_to<etb_option_schema_sink>(take_schema);
  other.table().option_schema(other.plugin, &schemas, nullptr);
  EXPECT_THAT(other.found(), ElementsAre(Report("ABI-CALL-04", Side::PLUGIN, "info.kind is NULL"),
                                         Report("ABI-TYPE-03", Side::PLUGIN, "type is 88")));
}

// proves: ABI-SINK-03
TEST_F(ValidateSinks, ReportsAnOptionWithoutItsValue) {
  fixture_.toy.plugin.get_option = [](etb_plugin*, uint32_t, void*, const char*, const etb_option_sink*,
                                      etb_error*) -> etb_status { return ETB_OK; };
  ASSERT_EQ(fixture_.start(), ETB_OK);
  auto put = [](const etb_option&) -> etb_status { return ETB_OK; };
  const auto sink = sink_to<etb_option_sink>(put);
  fixture_.table().get_option(fixture_.plugin, ETB_OBJECT_PLUGIN, fixture_.plugin, "gain", &sink, nullptr);
  EXPECT_THAT(fixture_.found(), ElementsAre(Report("ABI-SINK-03", Side::PLUGIN, "0 values")));
}

etb_event event(uint64_t begin, uint64_t end, const char* timebase = ETB_TIMEBASE_HOST) {
  etb_event result{};
  result.struct_size = sizeof(result);
  result.name = "op";
  result.debug_id = -1;
  result.begin_ticks = begin;
  result.end_ticks = end;
  result.timebase = timebase;
  result.ns_numerator = result.ns_denominator = 1;
  return result;
}

// proves: ABI-PROF-01
TEST_F(ValidateSinks, ReportsEventsOutsideTheirCall) {
  fixture_.toy.delegate.execute = [](etb_context*, const etb_exec_args* args, etb_error*) -> etb_status {
    const uint64_t now = now_ns();
    for (const etb_event& item : {event(now, now), event(5, 5, "com.example.gpu"), event(now, now - 1),
                                  event(0, now), event(now, now + 1'000'000'000)})
      args->events->put(args->events->ctx, &item);
    return ETB_OK;
  };
  ASSERT_EQ(fixture_.start(), ETB_OK);
  int count = 0;
  auto put = [&](const etb_event&) -> etb_status {
    ++count;
    return ETB_OK;
  };
  const auto sink = sink_to<etb_event_sink>(put);
  fixture_.run.args.events = &sink;
  EXPECT_EQ(fixture_.execute(), ETB_OK);
  EXPECT_EQ(count, 5);
  EXPECT_THAT(fixture_.found(), ElementsAre(Report("ABI-PROF-01", Side::PLUGIN, "ends at"),
                                            Report("ABI-PROF-01", Side::PLUGIN, "lasts from 0"),
                                            Report("ABI-PROF-01", Side::PLUGIN, "lasts from")));
}

// proves: ABI-SINK-01
TEST_F(ValidateSinks, ReportsAnEventAfterTheRun) {
  static const etb_event_sink* kept;
  fixture_.toy.delegate.execute = [](etb_context*, const etb_exec_args* args, etb_error*) -> etb_status {
    kept = args->events;
    return ETB_OK;
  };
  ASSERT_EQ(fixture_.start(), ETB_OK);
  auto put = [](const etb_event&) -> etb_status { return ETB_OK; };
  const auto sink = sink_to<etb_event_sink>(put);
  fixture_.run.args.events = &sink;
  EXPECT_EQ(fixture_.execute(), ETB_OK);
  EXPECT_THAT(fixture_.found(), IsEmpty());
  const etb_event late = event(1, 2);
  kept->put(kept->ctx, &late);
  EXPECT_THAT(fixture_.found(), ElementsAre(Report("ABI-SINK-01", Side::PLUGIN, "args.events")));
}

}  // namespace
}  // namespace etb::host
