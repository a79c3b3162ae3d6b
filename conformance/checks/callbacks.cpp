// SPDX-License-Identifier: Apache-2.0
// host: calls of the host that fail once. The function that made the call ends and reports it, and the next one works.
#include <fmt/format.h>

#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

constexpr int kMostCalls = 64;

void sinks_of_partition(CheckContext& context, Subject& subject, const ClaimedCase& item) {
  for (int n = 1; n <= kMostCalls; ++n) {
    context.progress().at(fmt::format("partition whose sink stops at call {}", n).c_str());
    const Answers answers = partition(subject, item.built.image, {.failing_call = n});
    if (answers.call_count < n) return;
    if (answers.status != kStop)
      context.fail(fmt::format("{}: partition returns {} when its sink stops with {} at call {}",
                               item.item->name, answers.status, kStop, n));
    else if (answers.call_count > n)
      context.fail(
          fmt::format("{}: partition calls a sink again that stopped at call {}", item.item->name, n));
  }
}

void calls_of_compile(CheckContext& context, Subject& subject, const ClaimedCase& item) {
  for (int n = 1; n <= kMostCalls; ++n) {
    context.progress().at(fmt::format("compile whose call {} of the host fails", n).c_str());
    const Compiled compiled = compile(subject, item.built.image, {.aot = {.failing_call = n}});
    if (compiled.failed_call.empty()) break;
    // A constant that cannot be read is an error of the plugin's own words.
    const bool is_read = compiled.failed_call == "read";
    if (is_read ? compiled.status == ETB_OK : compiled.status != kStop)
      context.fail(fmt::format("{}: compile returns {} when the host's {} returns {}, in call {}",
                               item.item->name, compiled.status, compiled.failed_call, kStop, n));
    else if (!is_read && compiled.call_count > n)
      context.fail(fmt::format("{}: compile calls the host again, whose {} returned {} in call {}",
                               item.item->name, compiled.failed_call, kStop, n));
  }
  const Compiled again = compile(subject, item.built.image);
  if (again.status != ETB_OK || !(again.payload == item.payload))
    context.fail(item.item->name + ": after calls of the host that failed, compile makes another payload");
}

void named_data_of_create(CheckContext& context, Subject& subject, const ClaimedCase& item) {
  const auto most = static_cast<int>(std::min<size_t>(item.payload.named.size(), kMostCalls));
  for (int n = 1; n <= most; ++n) {
    context.progress().at(fmt::format("create whose get {} fails", n).c_str());
    const auto session =
        CaseSession::make(subject, item.built, item.payload, SessionOptions{.failing_get = n});
    if (session && (*session)->get_count() < n) return;  // it reads fewer, or has them from another delegate
    if (session)
      context.fail(
          fmt::format("{}: create succeeds although get {} of named data fails", item.item->name, n));
  }
}

void calls_fail_once(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  std::vector<ClaimedCase> items = context.claimed(*subject, 4);
  for (ClaimedCase& item : context.find_claimed_like(*subject, "*.constant.*", 2))
    items.push_back(std::move(item));
  for (const ClaimedCase& item : items) {
    sinks_of_partition(context, *subject, item);
    calls_of_compile(context, *subject, item);
    named_data_of_create(context, *subject, item);
    const auto session = context.make_session(*subject, item);
    if (!session) return;
    const RunResult result = session->run(item.built.runs[0]);
    if (result.status != ETB_OK || !context.is_right(item, result))
      return context.fail(item.item->name + ": after calls of the host that failed, a run fails or is wrong");
  }
}

constexpr Check kChecks[] = {
    {"host.calls-fail-once",
     "A sink, writer or reader that fails ends partition, compile or create, and the next call works.",
     "ABI-SINK-02", calls_fail_once},
};

}  // namespace

std::span<const Check> callback_checks() { return kChecks; }

}  // namespace etb::conformance
