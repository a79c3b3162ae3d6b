// SPDX-License-Identifier: Apache-2.0
#include "host/layers/trace/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "etb/cpp/sink.hpp"
#include "host/testing/every_function.hpp"

namespace etb::host {
namespace {

using ::testing::ElementsAre;

// "delegate.execute(context 1) = ok", without the duration, which differs in each run.
std::string without_duration(const TracedCall& call) {
  const std::string line = format_traced_call(call);
  return line.substr(0, line.rfind(", "));
}

TEST(Trace, WritesEachCallWithItsObjectAndAnswer) {
  std::vector<std::string> lines;
  Trace trace([&](const TracedCall& call) { lines.push_back(without_duration(call)); });
  LayerFixture fixture(std::vector<Layer>{trace.layer()});
  ASSERT_EQ(fixture.start(), ETB_OK) << fixture.error.text;
  ASSERT_EQ(fixture.execute(), ETB_OK);
  fixture.run.input.dtype = ETB_DTYPE_INT32;
  fixture.run.args.run_id = 7;
  EXPECT_EQ(fixture.execute(), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(fixture.delegates().execute(fixture.context(), &fixture.run.args, nullptr), ETB_INVALID_ARGUMENT);
  ASSERT_EQ(fixture.stop(), ETB_OK);
  EXPECT_THAT(
      lines,
      ElementsAre("plugin.init() = plugin 1", "delegate.create(plugin 1) = delegate 1",
                  "delegate.context_create(delegate 1) = context 1", "delegate.execute(context 1) = ok",
                  "delegate.execute(context 1, run 7) = invalid argument: dtypes 3 and 6, expected float",
                  "delegate.execute(context 1, run 7) = invalid argument: dtypes 3 and 6, expected float",
                  "delegate.context_destroy(context 1) = ok", "delegate.destroy(delegate 1) = ok",
                  "plugin.deinit(plugin 1) = ok"));
}

TEST(Trace, MeasuresTheCall) {
  uint64_t longest_ns = 0;
  Trace trace([&](const TracedCall& call) { longest_ns = std::max(longest_ns, call.duration_ns); });
  LayerFixture fixture(std::vector<Layer>{trace.layer()});
  fixture.toy.delegate.execute = [](etb_context*, const etb_exec_args*, etb_error*) -> etb_status {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return ETB_OK;
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  ASSERT_EQ(fixture.execute(), ETB_OK);
  EXPECT_GE(longest_ns, 5'000'000u);
}

TEST(Trace, FormatsDurationsAsPeopleReadThem) {
  TracedCall call;
  call.function = "plugin.init";
  call.duration_ns = 950;
  EXPECT_EQ(format_traced_call(call), "plugin.init() = ok, 950 ns");
  call.duration_ns = 12'340;
  EXPECT_EQ(format_traced_call(call), "plugin.init() = ok, 12.3 us");
  call.duration_ns = 12'340'000;
  call.status = ETB_BUSY;
  EXPECT_EQ(format_traced_call(call), "plugin.init() = busy, objects are still alive, 12.3 ms");
}

// Calls every function of the tables through the trace layer, with the validate layer on either side of it.
TEST(Trace, PassesEveryFunctionOn) {
  for (const bool trace_is_outside : {true, false}) {
    std::vector<std::string> functions;
    Trace trace([&](const TracedCall& call) { functions.push_back(call.function); });
    ValidateOptions options;
    options.strict = true;
    Validation validation(options);
    std::vector<Layer> layers{trace.layer(), validation.layer()};
    if (!trace_is_outside) std::swap(layers[0], layers[1]);
    LayerFixture fixture(layers);
    ASSERT_EQ(fixture.start(), ETB_OK) << fixture.error.text;
    call_every_function(fixture);
    for (const Violation& violation : validation.take()) ADD_FAILURE() << format_violation(violation);
#define ETB_REQUIRED(table_name, function) \
  EXPECT_THAT(functions, ::testing::Contains(#table_name "." #function));
#define ETB_OPTIONAL(table_name, function, cap)    \
  if (std::string(#function) != "get_extension") { \
    ETB_REQUIRED(table_name, function)             \
  }
#include "host/plugin/table_functions.def"
#undef ETB_REQUIRED
#undef ETB_OPTIONAL
  }
}

}  // namespace
}  // namespace etb::host
