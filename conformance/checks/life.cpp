// SPDX-License-Identifier: Apache-2.0
// life: objects, and the order of their destruction.
#include <fmt/format.h>

#include "conformance/checks/devices.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/growth.hpp"
#include "conformance/subject/monotonic_clock.hpp"

namespace etb::conformance {
namespace {

void early_destroy_is_busy(CheckContext& context) {
  context.each_session(bare(), 1, [&](ReadyCase& ready) {
    etb_error error = ETB_ERROR_INIT;
    context.progress().at("destroy while a context lives");
    const etb_status destroyed =
        ready.subject.library().table().delegate->destroy != nullptr
            ? ready.subject.table().delegate->destroy(ready.session.delegate(), &error)
            : ETB_BUSY;
    if (destroyed != ETB_BUSY)
      return context.fail(
          fmt::format("destroy of a delegate with a live context returns {}, expected ETB_BUSY", destroyed));
    const RunResult result = ready.run();
    if (result.status != ETB_OK)
      context.fail(std::string("after the rejected destroy execute fails: ") + result.error.text);
  });
}

void many_times(CheckContext& context) {
  constexpr int kWanted = 1000, kLeast = 100;
  constexpr uint64_t kMostNs = 10000000000;
  const auto subject = context.open(bare());
  if (!subject) return;
  const uint64_t begin = monotonic_ns();
  for (const ClaimedCase& item : context.claimed(*subject))
    for (int i = 0; i < kWanted && (i < kLeast || monotonic_ns() - begin < kMostNs); ++i) {
      const auto session = context.make_session(*subject, item);
      if (!session) return;
      if (const Status ended = session->end(); !ended)
        return context.fail(fmt::format("end number {}: {}", i, ended.error().message));
    }
}

void init_again(CheckContext& context) {
  for (int i = context.opens(20); i > 0; --i) {
    const auto subject = context.open();
    if (!subject) return;
    subject->close();
    context.take_violations(*subject);
  }
}

// Creates several delegates while earlier ones live. They must not affect each other.
void several_delegates(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  const std::vector<ClaimedCase> items = context.claimed(*subject, 4);
  std::vector<std::unique_ptr<CaseSession>> sessions;
  for (const ClaimedCase& item : items) {
    sessions.push_back(context.make_session(*subject, item));
    if (!sessions.back()) return;
  }
  std::vector<std::vector<TensorData>> first;
  for (size_t i = 0; i < items.size(); ++i) first.push_back(sessions[i]->run(items[i].built.runs[0]).outputs);
  for (size_t i = items.size(); i-- > 0;) {
    const std::vector<TensorData> again = sessions[i]->run(items[i].built.runs[0]).outputs;
    for (size_t k = 0; k < again.size(); ++k)
      if (again[k].bytes != first[i][k].bytes)
        context.fail(items[i].item->name + ": another result while other delegates exist");
    sessions[i].reset();
  }
  context.take_violations(*subject);
}

uint32_t run_with_events(ReadyCase& ready, RunResult& out) {
  uint32_t count = 0;
  const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &count, [](void* ctx, const etb_event*) {
                                 ++*static_cast<uint32_t*>(ctx);
                                 return etb_status{ETB_OK};
                               }};
  out = ready.run({.events = &sink});
  return count;
}

// Ends another instance, which was used in the same way, between two runs.
void other_instance_ends(CheckContext& context) {
  context.each_session(bare(), 4, [&](ReadyCase& ready) {
    RunResult first, after;
    const uint32_t count = run_with_events(ready, first);
    {
      const auto other = context.open(bare());
      if (!other) return;
      const auto session = context.make_session(*other, ready.item);
      if (!session) return;
      ReadyCase theirs{*other, ready.item, *session};
      RunResult result;
      (void)run_with_events(theirs, result);
    }
    context.progress().at("a run after another instance ended");
    const uint32_t count_after = run_with_events(ready, after);
    if (!has_same_result(after, first))
      context.fail(ready.name() + ": after another instance ended a run has another result");
    if (count != 0 && count_after == 0)
      context.fail(ready.name() + ": after another instance ended a run reports no events");
  });
}

void early_deinit_is_busy(CheckContext& context) {
  auto subject = context.open();
  if (!subject) return;
  for (const ClaimedCase& item : context.claimed(*subject)) {
    auto session = context.make_session(*subject, item);
    if (!session) return;
    etb_error error = ETB_ERROR_INIT;
    context.progress().at("deinit while a delegate lives");
    const etb_status status = subject->table().deinit(subject->handle(), &error);
    if (status == ETB_OK) {  // the plugin must not read it afterwards
      (void)session.release();
      (void)subject.release();
      return context.fail("deinit succeeds although a delegate and a context exist, expected ETB_BUSY");
    }
    if (status != ETB_BUSY) context.fail(fmt::format("deinit returns {}, expected ETB_BUSY", status));
    if (const RunResult result = session->run(item.built.runs[0]); result.status != ETB_OK)
      context.fail(std::string("after the rejected deinit execute fails: ") + result.error.text);
  }
}

void expect_busy(CheckContext& context, const char* call, const char* while_alive, etb_status status) {
  if (status != ETB_BUSY)
    context.fail(fmt::format("{} while {} returns {}, expected ETB_BUSY", call, while_alive, status));
}

// Ends one of two contexts: the other one still counts. After a failure what the plugin ended is left alone.
void one_of_two_contexts(CheckContext& context, Subject& subject, const ClaimedCase& item) {
  const etb_delegate_table& table = *subject.table().delegate;
  auto session = context.make_session(subject, item);
  etb_context* second = nullptr;
  etb_error error = ETB_ERROR_INIT;
  if (!session || table.context_create(session->delegate(), nullptr, 0, &second, &error) != ETB_OK) return;
  (void)table.context_destroy(second, &error);
  context.progress().at("destroy while one of two contexts lives");
  const etb_status status = table.destroy(session->delegate(), &error);
  expect_busy(context, "destroy of a delegate", "one of its two contexts lives", status);
  if (status == ETB_OK) (void)session.release();
}

void one_of_two_delegates(CheckContext& context, std::unique_ptr<Subject>& subject, const ClaimedCase& item) {
  auto first = context.make_session(*subject, item), second = context.make_session(*subject, item);
  etb_error error = ETB_ERROR_INIT;
  if (!first || !second) return;
  first.reset();
  (void)second->end_context();
  context.progress().at("deinit while one of two delegates lives");
  const etb_status status = subject->table().deinit(subject->handle(), &error);
  expect_busy(context, "deinit", "one of two delegates lives, without a context", status);
  if (status != ETB_OK) return;
  (void)second.release();
  (void)subject.release();
}

void device_alone(CheckContext& context, std::unique_ptr<Subject>& subject, const ClaimedCase& item) {
  for (const DeviceFacts& facts : devices_of(context, *subject)) {
    auto device = std::make_unique<OpenDevice>(context, *subject, facts);
    if (device->status() != ETB_OK) continue;
    etb_error error = ETB_ERROR_INIT;
    context.progress().at("close while one of two delegates lives");
    auto first = CaseSession::make(*subject, item.built, item.payload, {}, device->handle()),
         second = CaseSession::make(*subject, item.built, item.payload, {}, device->handle());
    if (first && second) {
      first->reset();
      const etb_status closed = device->close();
      expect_busy(context, "close of a device", "one of two delegates on it lives", closed);
      if (closed == ETB_OK) return (void)second->release();
    }
    if (second) second->reset();
    context.progress().at("deinit while a device is open");
    const etb_status status = subject->table().deinit(subject->handle(), &error);
    expect_busy(context, "deinit", "a device is open", status);
    if (status != ETB_OK) return;
    (void)device.release();
    (void)subject.release();
    return;
  }
}

void one_of_two_ends(CheckContext& context) {
  auto subject = context.open(bare());
  if (!subject) return;
  for (const ClaimedCase& item : context.claimed(*subject)) {
    one_of_two_contexts(context, *subject, item);
    if (context.outcome().findings.empty()) one_of_two_delegates(context, subject, item);
    if (context.outcome().findings.empty()) device_alone(context, subject, item);
  }
}

// Deinit after use returns ETB_OK and frees what init made.
void deinit_after_use(CheckContext& context) {
  const auto loaded = context.open(bare());
  if (!loaded) return;
  const etb_plugin_table& table = loaded->library().table();
  const etb_host& host = loaded->library().host();
  std::string failure;
  const auto live = [&](size_t) {
    etb_plugin* plugin = nullptr;
    etb_error error = ETB_ERROR_INIT;
    if (!failure.empty()) return;
    if (table.init(&host, nullptr, 0, &plugin, &error) != ETB_OK || plugin == nullptr)
      failure = std::string("init fails again: ") + error.text;
    else if (const etb_status status = table.deinit(plugin, &error); status != ETB_OK)
      failure = fmt::format("deinit of an unused instance returns {}: {}", status, error.text);
  };
  expect_no_growth(context, 1, live, "init and deinit", {.account = "heap bytes"});
  if (!failure.empty()) return context.fail(failure);
  // An instance of its own, because deinit ends it.
  etb_plugin* used = nullptr;
  etb_error error = ETB_ERROR_INIT;
  if (table.init(&host, nullptr, 0, &used, &error) != ETB_OK) return;
  const etb_device_sink sink = {ETB_INIT_SIZE(etb_device_sink), 0, nullptr,
                                [](void*, const etb_device_info*) { return etb_status{ETB_OK}; }};
  (void)table.device->enumerate(used, &sink, &error);
  if (const etb_status status = table.deinit(used, &error); status != ETB_OK)
    context.fail(fmt::format("deinit after enumerate returns {}: {}", status, error.text));
}

// Every call that ends an object returns ETB_OK, in the right order, and then the plugin ends too.
void ends_succeed(CheckContext& context) {
  auto subject = context.open(bare());
  if (!subject) return;
  context.each_session(*subject, context.claimed(*subject, 6), [&](ReadyCase& ready) {
    if (const RunResult result = ready.run(); result.status != ETB_OK)
      return context.fail(ready.name() + ": execute fails: " + result.error.text);
    if (const Status ended = ready.session.end(); !ended)
      context.fail(ready.name() + ": the end of a context or delegate fails: " + ended.error().message);
  });
  etb_error error = ETB_ERROR_INIT;
  context.progress().at("deinit after all objects ended");
  if (const etb_status status = subject->table().deinit(subject->handle(), &error); status != ETB_OK)
    return context.fail(fmt::format("deinit after all objects ended returns {}: {}", status, error.text));
  (void)subject.release();  // its handle is gone
}

constexpr Check kChecks[] = {
    {"life.deinit-after-use", "Deinit returns ETB_OK, and init and deinit leave no heap memory.",
     "ABI-LIFE-01", deinit_after_use},
    {"life.ends-succeed", "Contexts and delegates are destroyed without an error.", "ABI-LIFE-01",
     ends_succeed},
    {"life.early-destroy-is-busy",
     "Destroying a delegate with a live context returns ETB_BUSY, and everything stays usable.",
     "ABI-LIFE-01", early_destroy_is_busy},
    {"life.early-deinit-is-busy",
     "Deinit of a plugin with live delegates returns ETB_BUSY, and everything stays usable.", "ABI-LIFE-01",
     early_deinit_is_busy},
    {"life.one-of-two-ends",
     "A delegate with one of two contexts, a device with one of two delegates, and a plugin with one of two "
     "delegates or a device are not ended.",
     "ABI-LIFE-01", one_of_two_ends},
    {"life.many-times",
     "A delegate is created and destroyed 1,000 times, at least 100 times if that is slow.", "ABI-LIFE-01",
     many_times},
    {"life.other-instance-ends", "An instance runs as before after another one of the process ended.",
     "ABI-LIFE-01", other_instance_ends},
    {"life.init-again",
     "The plugin is initialised and deinitialised twenty times in one process, a slow one less often.",
     "ABI-LIFE-01", init_again},
    {"life.several-delegates", "Delegates of several payloads exist at the same time.", "ABI-OWN-02",
     several_delegates},
};

}  // namespace

std::span<const Check> life_checks() { return kChecks; }

}  // namespace etb::conformance
