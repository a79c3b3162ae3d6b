// SPDX-License-Identifier: Apache-2.0
// run: execute_async and its fences.
#include <fmt/format.h>

#include "conformance/checks/async_run.hpp"
#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

void asynchronous_runs(CheckContext& context, const SubjectOptions& options) {
  const auto subject = context.open(options);
  if (!subject || !has_async(context, *subject)) return;
  context.each_session(*subject, context.claimed(*subject, 6), [&](ReadyCase& ready) {
    const std::vector<TensorData> expected = ready.run().outputs;
    for (int i = 0; i < context.repeats(20, 6); ++i) {
      auto run =
          std::make_unique<AsyncRun>(ready, ready.inputs(), RunOptions{.fill = static_cast<uint8_t>(i * 11)});
      context.progress().at("execute_async");
      run->start(ready);
      if (!expect_started(context, ready, *run) || !expect_outputs(context, ready, run, expected)) return;
    }
    if (const RunResult after = ready.run(); after.status != ETB_OK || !context.is_right(ready.item, after))
      context.fail(ready.name() + ": after asynchronous runs execute fails");
  });
}
void bare_runs(CheckContext& context) { asynchronous_runs(context, bare()); }
void validated_runs(CheckContext& context) { asynchronous_runs(context, {}); }

// A defect of a run.
struct Defect {
  const char* name;
  void (*make)(PreparedRun&);
};
constexpr Defect kDefects[] = {
    {"without tensors", [](PreparedRun& run) { run.args.input_count = run.args.output_count = 0; }},
    {"with an output that is too small",
     [](PreparedRun& run) {
       if (run.args.output_count != 0 && run.args.outputs[0].capacity_bytes != 0)
         --run.args.outputs[0].capacity_bytes;
     }},
    {"with an input of another rank",
     [](PreparedRun& run) {
       if (run.args.input_count != 0 && run.tensors[0].rank != 0) --run.tensors[0].rank;
     }},
    {"after its deadline", [](PreparedRun& run) { run.args.deadline_ns = 1; }},
};

// A run that is rejected signals nothing. One that fails later signals what execute would return.
void failing_runs(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || !has_async(context, *subject)) return;
  context.each_session(*subject, context.claimed(*subject, 2), [&](ReadyCase& ready) {
    for (const Defect& defect : kDefects) {
      const auto direct = ready.session.prepare(ready.inputs());
      defect.make(*direct);
      etb_error error = ETB_ERROR_INIT;
      const etb_status expected =
          subject->table().delegate->execute(ready.session.context(), &direct->args, &error);
      auto run = std::make_unique<AsyncRun>(ready, ready.inputs());
      defect.make(*run->run);
      context.progress().at("execute_async of a run that fails");
      run->start(ready);
      etb_status found = run->started;
      if (found == ETB_OK) {
        if (!expect_signalled(context, ready, run)) return;
        found = run->signals[0].status();
      } else if (run->signals[0].wait(std::chrono::milliseconds(20))) {
        return context.fail(ready.name() + ": execute_async returned an error, and signalled a fence");
      }
      // It could not stop: then it has its result.
      const bool is_too_late = expected == ETB_DEADLINE_EXCEEDED && found == ETB_OK &&
                               context.is_right(ready.item, {.outputs = run->signals[0].outputs()});
      if (found != expected && !is_too_late)
        return context.fail(fmt::format("{}: an asynchronous run {} ends with {}, execute with {}",
                                        ready.name(), defect.name, found, expected));
    }
    if (const RunResult after = ready.run(); after.status != ETB_OK || !context.is_right(ready.item, after))
      context.fail(ready.name() + ": after a rejected asynchronous run execute fails");
  });
}

constexpr Check kChecks[] = {
    {"run.asynchronous",
     "An asynchronous run signals each fence once, after its outputs are written as execute writes them.",
     "ABI-EXEC-05", bare_runs},
    {"run.asynchronous-is-clean", "The same behind guard pages.", "ABI-EXEC-05", validated_runs},
    {"run.asynchronous-failure",
     "A rejected asynchronous run signals no fence, one that fails the status of execute; the context stays "
     "usable.",
     "ABI-EXEC-05", failing_runs},
    {"run.asynchronous-waits", "An asynchronous run reads no input before the fences that it waits for.",
     "ABI-EXEC-05", wait_fences},
    {"run.asynchronous-unknown-fences", "A fence of an unknown kind is rejected.", "ABI-EXEC-05",
     unknown_fences},
    {"run.asynchronous-contexts", "Asynchronous runs of several contexts do not disturb each other.",
     "ABI-EXEC-03", contexts_in_flight},
    {"run.asynchronous-cancel", "An asynchronous run that is cancelled signals ETB_CANCELLED or its result.",
     "ABI-EXEC-05", cancelled_in_flight},
    {"run.asynchronous-stops",
     "A run that waits for a fence ends at its deadline, and when its token requests it, if execute does so "
     "before it begins.",
     "ABI-EXEC-05", stopped_in_flight},
    {"run.asynchronous-destroy",
     "A context with an asynchronous run in flight is not destroyed; after the fence it can be at once.",
     "ABI-LIFE-01", destroyed_in_flight},
    {"run.asynchronous-events", "Events of an asynchronous run come before its fence is signalled.",
     "ABI-EXEC-05", profiled_in_flight},
    {"run.asynchronous-priorities",
     "Of runs that wait for the device, those of the lowest priority are not first.", "",
     priorities_in_flight},
};

}  // namespace

std::span<const Check> async_checks() { return kChecks; }

}  // namespace etb::conformance
