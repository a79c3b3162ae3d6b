// SPDX-License-Identifier: Apache-2.0
// ver: structs that a plugin must reject. Each struct of each call has an unknown flag, a reserved field that is not zero, or the
// size of its head.
#include <fmt/format.h>

#include <optional>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/option_trial.hpp"
#include "conformance/subject/payload_verdict.hpp"

namespace etb::conformance {
namespace {

const char* to_text(StructChange change) {
  switch (change) {
    case StructChange::kFlag:
      return "an unknown flag";
    case StructChange::kReserved:
      return "a reserved field that is not zero";
    case StructChange::kShort:
      return "a size below that of version 1.0";
    case StructChange::kLonger:
      break;
  }
  return "a larger size";
}

// Options that a function takes: one of the plugin's, if it has one of the scope.
using GoodOptions = std::vector<etb_option>;

// One function with good arguments, which `changes` alters on their way.
struct Function {
  const char* name;
  uint32_t scope;  // scope of its options
  // Returns the status of the call, nothing if the plugin has no such function.
  std::optional<etb_status> (*call)(ReadyCase& ready, const GoodOptions& options);
};

std::optional<etb_status> call_partition(ReadyCase& ready, const GoodOptions& options) {
  return partition(ready.subject, ready.item.built.image, {.options = options}).status;
}

std::optional<etb_status> call_compile(ReadyCase& ready, const GoodOptions& options) {
  return compile(ready.subject, ready.item.built.image, {.aot = {.options = options}}).status;
}

std::optional<etb_status> call_check_payload(ReadyCase& ready, const GoodOptions&) {
  if (ready.subject.table().delegate->check_payload == nullptr) return std::nullopt;
  etb_verdict verdict{};
  return ask_verdict(ready.subject, ready.item.payload.bytes, ready.item.payload.bytes.size(), verdict);
}

std::optional<etb_status> call_create(ReadyCase& ready, const GoodOptions& options) {
  const auto made = CaseSession::make(ready.subject, ready.item.built, ready.item.payload, options);
  return made ? etb_status{ETB_OK} : static_cast<etb_status>(made.error().code);
}

std::optional<etb_status> call_reserve(ReadyCase& ready, const GoodOptions&) {
  if (ready.subject.table().delegate->context_reserve == nullptr) return std::nullopt;
  const std::unique_ptr<PreparedRun> run = ready.session.prepare(ready.inputs());
  etb_error error = ETB_ERROR_INIT;
  return ready.subject.table().delegate->context_reserve(ready.session.context(), run->args.inputs,
                                                         run->args.input_count, &error);
}

std::optional<etb_status> call_execute(ReadyCase& ready, const GoodOptions& options) {
  return ready.run({.options = options}).status;
}

constexpr Function kFunctions[] = {
    {"partition", ETB_OBJECT_PLUGIN, call_partition},
    {"compile", ETB_OBJECT_PLUGIN, call_compile},
    {"check_payload", 0, call_check_payload},
    {"create", ETB_OBJECT_DELEGATE, call_create},
    {"context_reserve", 0, call_reserve},
    {"execute", ETB_OBJECT_RUN, call_execute},
};

// Points into `described`.
GoodOptions options_for(const std::vector<OptionFacts>& described, uint32_t scope) {
  for (const OptionFacts& facts : described)
    if (facts.has(scope) && facts.key != kLoseDevice)
      if (const std::vector<etb_option> values = ordinary_values(facts); !values.empty()) return {values[0]};
  return {};
}

// Changes the structs of the function one after another. A plugin that reads no such function is not asked.
void expect_rejections(CheckContext& context, ReadyCase& ready, StructChanges& changes,
                       const Function& function, const GoodOptions& options) {
  constexpr size_t kMostStructs = 32;
  const std::optional<etb_status> good = function.call(ready, options);
  if (!good || *good != ETB_OK) return;
  for (const StructChange change : {StructChange::kFlag, StructChange::kReserved, StructChange::kShort}) {
    changes.change = change;
    changes.function = function.name;
    for (changes.index = 0; changes.index < kMostStructs; ++changes.index) {
      context.progress().at(
          fmt::format("{} with {} in struct {}", function.name, to_text(change), changes.index).c_str());
      const std::optional<etb_status> status = function.call(ready, options);
      if (changes.count <= changes.index) break;
      if (!changes.changed.empty() && status == etb_status{ETB_OK})
        context.fail(fmt::format("{}: {} accepts {} with {}", ready.name(), function.name, changes.changed,
                                 to_text(change)));
    }
    changes.function.clear();
  }
}

void wrong_structs_are_rejected(CheckContext& context) {
  StructChanges changes;
  changes.change = StructChange::kFlag;
  SubjectOptions options = bare();
  options.struct_changes = &changes;
  context.each_session(options, 3, [&](ReadyCase& ready) {
    const std::vector<OptionFacts> described = options_of(ready.subject, context);
    for (const Function& function : kFunctions) {
      expect_rejections(context, ready, changes, function, options_for(described, function.scope));
      if (const RunResult after = ready.run(); after.status != ETB_OK || !context.is_right(ready.item, after))
        return context.fail(fmt::format("{}: after {} with wrong structs the context does not run any more",
                                        ready.name(), function.name));
    }
  });
}

constexpr Check kChecks[] = {
    {"ver.wrong-structs-are-rejected",
     "Unknown flags, reserved fields that are not zero and structs below the size of version 1.0 are "
     "rejected.",
     "ABI-TYPE-02", wrong_structs_are_rejected},
};

}  // namespace

std::span<const Check> wrong_struct_checks() { return kChecks; }

}  // namespace etb::conformance
