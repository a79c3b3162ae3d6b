// SPDX-License-Identifier: Apache-2.0
// abi: sinks that stop. The function that received the sink stops and returns the sink's status.
#include <fmt/format.h>

#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

// Counts the items of one sink, and stops at item `last`, counted from 1.
struct Stopper {
  int last = 1;
  int count = 0;
};

template <class Sink, class Item>
Sink stopping(Stopper& stopper) {
  Sink out{};
  out.struct_size = ETB_INIT_SIZE(Sink);
  out.ctx = &stopper;
  out.put = [](void* ctx, Item) -> etb_status {
    auto& self = *static_cast<Stopper*>(ctx);
    return ++self.count >= self.last ? kStop : etb_status{ETB_OK};
  };
  return out;
}

// Calls `call` with sinks that stop at the first item, the second, and so on to the last.
template <class Sink, class Item, class Call>
void expect_stop(CheckContext& context, const char* function, Call call) {
  constexpr int kMostItems = 64;
  for (int last = 1; last <= kMostItems; ++last) {
    Stopper stopper{last};
    const Sink sink = stopping<Sink, Item>(stopper);
    etb_error error = ETB_ERROR_INIT;
    context.progress().at(function);
    const etb_status status = call(&sink, &error);
    if (stopper.count < last) return;
    if (stopper.count > last)
      return context.fail(fmt::format("{} calls a sink {} times, although it stopped at item {}", function,
                                      stopper.count, last));
    if (status != kStop)
      return context.fail(
          fmt::format("{} returns {} when its sink stops with {} at item {}", function, status, kStop, last));
  }
}

void sinks_can_stop(CheckContext& context) {
  context.each_session(bare(), 4, [&](ReadyCase& ready) {
    Subject& subject = ready.subject;
    const etb_plugin_table& table = subject.table();
    expect_stop<etb_device_sink, const etb_device_info*>(
        context, "enumerate",
        [&](auto* sink, etb_error* error) { return table.device->enumerate(subject.handle(), sink, error); });
    expect_stop<etb_option_schema_sink, const etb_option_schema*>(
        context, "option_schema",
        [&](auto* sink, etb_error* error) { return table.option_schema(subject.handle(), sink, error); });
    expect_stop<etb_io_req_sink, const etb_io_req*>(context, "query_io", [&](auto* sink, etb_error* error) {
      return table.delegate->query_io(ready.session.delegate(), sink, error);
    });
    expect_stop<etb_op_sink, const etb_op_capability*>(
        context, "op_table",
        [&](auto* sink, etb_error* error) { return table.aot->op_table(subject.handle(), sink, error); });
    expect_stop<etb_text_sink, const char*>(context, "preserve_ops", [&](auto* sink, etb_error* error) {
      return table.aot->preserve_ops(subject.handle(), sink, error);
    });
    const RunResult after = ready.run();
    if (after.status != ETB_OK || !context.is_right(ready.item, after))
      context.fail("after sinks that stopped the context does not run");
  });
}

// An event sink that stops ends the run or not, but the context stays usable.
void event_sinks_can_stop(CheckContext& context) {
  context.each_session(bare(), 4, [&](ReadyCase& ready) {
    for (const int last : {1, 2, 5}) {
      Stopper stopper{last};
      const etb_event_sink sink = stopping<etb_event_sink, const etb_event*>(stopper);
      context.progress().at("execute with an event sink that stops");
      const RunResult result = ready.run({.events = &sink});
      if (stopper.count > last)
        context.fail(fmt::format("{}: execute calls an event sink {} times, although it stopped at item {}",
                                 ready.name(), stopper.count, last));
      if (stopper.count == last && result.status != kStop)
        context.fail(fmt::format("{}: execute returns {} when its event sink stops with {}", ready.name(),
                                 result.status, kStop));
      if (const RunResult after = ready.run(); after.status != ETB_OK || !context.is_right(ready.item, after))
        context.fail(ready.name() + ": after an event sink that stopped the context does not run");
    }
  });
}

constexpr Check kChecks[] = {
    {"abi.sinks-can-stop", "A sink that stops is not called again, and its status is returned.",
     "ABI-SINK-02", sinks_can_stop},
    {"abi.event-sinks-can-stop", "So does an event sink, and the context stays usable.", "ABI-SINK-02",
     event_sinks_can_stop},
};

}  // namespace

std::span<const Check> sink_checks() { return kChecks; }

}  // namespace etb::conformance
