// SPDX-License-Identifier: Apache-2.0
// life: objects, and the order of their destruction.
#include <fmt/format.h>

#include "conformance/checks/groups.hpp"

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
          fmt::format("destroy of a delegate whose context lives answers {}, expected ETB_BUSY", destroyed));
    const RunResult result = ready.run();
    if (result.status != ETB_OK)
      context.fail(std::string("after the refused destroy execute answers: ") + result.error.text);
  });
}

void many_times(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  for (const ClaimedCase& item : context.claimed(*subject))
    for (int i = 0; i < 1000; ++i) {
      const auto session = context.make_session(*subject, item);
      if (!session) return;
      if (const Status ended = session->end(); !ended)
        return context.fail(fmt::format("end number {}: {}", i, ended.error().message));
    }
}

void init_again(CheckContext& context) {
  for (int i = 0; i < 20; ++i) {
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
        context.fail(items[i].item->name + ": another result when other delegates live");
    sessions[i].reset();
  }
  context.take_violations(*subject);
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
      return context.fail("deinit succeeds although a delegate and a context live, expected ETB_BUSY");
    }
    if (status != ETB_BUSY) context.fail(fmt::format("deinit answers {}, expected ETB_BUSY", status));
    if (const RunResult result = session->run(item.built.runs[0]); result.status != ETB_OK)
      context.fail(std::string("after the refused deinit execute answers: ") + result.error.text);
  }
}

constexpr Check kChecks[] = {
    {"life.early-destroy-is-busy",
     "A delegate whose context lives is not destroyed: ETB_BUSY, and everything goes on.", "ABI-LIFE-01",
     early_destroy_is_busy},
    {"life.early-deinit-is-busy",
     "A plugin whose delegates live is not deinitialised: ETB_BUSY, and everything goes on.", "ABI-LIFE-01",
     early_deinit_is_busy},
    {"life.many-times", "1,000 times created and destroyed.", "ABI-LIFE-01", many_times},
    {"life.init-again", "Init and deinit twenty times in one process.", "ABI-LIFE-01", init_again},
    {"life.several-delegates", "Delegates of several payloads live side by side.", "ABI-OWN-02",
     several_delegates},
};

}  // namespace

std::span<const Check> life_checks() { return kChecks; }

}  // namespace etb::conformance
