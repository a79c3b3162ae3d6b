// SPDX-License-Identifier: Apache-2.0
#include "host/services/log_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace etb::host {
namespace {

using ::testing::ElementsAre;

etb_option option(const char* key, etb_option_type type) {
  etb_option result{};
  result.struct_size = sizeof(result);
  result.key = key;
  result.type = type;
  return result;
}

TEST(LogSink, WritesLinesOfItsLevelWithTheirFields) {
  std::vector<std::string> lines;
  LogSink sink(ETB_LOG_INFO, [&](const LogLine& line) { lines.push_back(format_line(line)); });
  const etb_log_service& log = *sink.service();
  EXPECT_EQ(log.min_level, ETB_LOG_INFO);
  etb_option fields[2] = {option("count", ETB_OPTION_I64), option("name", ETB_OPTION_TEXT)};
  fields[0].i64 = 3;
  fields[1].text = "conv";
  log.write(log.ctx, ETB_LOG_WARNING, "slow", fields, 2);
  log.write(log.ctx, ETB_LOG_DEBUG, "dropped", nullptr, 0);
  log.write(log.ctx, ETB_LOG_ERROR, nullptr, nullptr, 0);
  EXPECT_THAT(lines, ElementsAre("warning: slow (count=3, name=conv)", "error: "));
}

// proves: ABI-CALL-03
TEST(LogSink, LetsNoExceptionOut) {
  LogSink sink(ETB_LOG_INFO, [](const LogLine&) { throw std::runtime_error("disk full"); });
  sink.service()->write(sink.service()->ctx, ETB_LOG_ERROR, "x", nullptr, 0);
}

TEST(LogSink, WritesOneLineAtATime) {
  int inside = 0, most = 0, total = 0;
  LogSink sink(ETB_LOG_INFO, [&](const LogLine&) {
    most = std::max(most, ++inside);
    ++total;
    --inside;
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) sink.service()->write(sink.service()->ctx, ETB_LOG_INFO, "x", nullptr, 0);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(total, 400);
}

TEST(Field, FormatsEveryTypeOfOption) {
  etb_option boolean = option("", ETB_OPTION_BOOL), real = option("", ETB_OPTION_F64),
             bytes = option("", ETB_OPTION_BYTES), list = option("", ETB_OPTION_LIST);
  boolean.i64 = 1;
  real.f64 = 0.5;
  bytes.bytes = {"abc", 3};
  etb_option items[3] = {option("", ETB_OPTION_I64), option("", ETB_OPTION_I64), list};
  items[1].i64 = -2;
  items[2].items = items;
  items[2].item_count = 3;
  list.items = items;
  list.item_count = 3;
  EXPECT_EQ(format_value(boolean), "true");
  EXPECT_EQ(format_value(real), "0.5");
  EXPECT_EQ(format_value(bytes), "3 bytes");
  EXPECT_EQ(format_value(list), "[0, -2, ?]") << "a list that holds itself ends";
  EXPECT_EQ(format_value(option("", 99)), "value of unknown type 99");
  EXPECT_EQ(format_value(option("", ETB_OPTION_TEXT)), "");
}

TEST(LogSink, ALineOfAPluginDrivesNoTerminal) {
  EXPECT_EQ(format_line({ETB_LOG_WARNING, "a\nerror: \x1b[2J", {{"k\r", "\xe2\x80\xae"}}}),
            "warning: a\\x0aerror: \\x1b[2J (k\\x0d=\\xe2\\x80\\xae)");
}

// proves: ABI-SIZE-04
TEST(Field, WalksArraysByTheStrideOfTheirMaker) {
  struct Longer {
    etb_option known;
    uint64_t later;
  };
  Longer options[2] = {{option("a", ETB_OPTION_I64), 1}, {option("b", ETB_OPTION_I64), 2}};
  options[0].known.struct_size = options[1].known.struct_size = sizeof(Longer);
  options[1].known.i64 = 7;
  EXPECT_THAT(to_fields(&options[0].known, 2), ElementsAre(Field{"a", "0"}, Field{"b", "7"}));
}

}  // namespace
}  // namespace etb::host
