// SPDX-License-Identifier: Apache-2.0
// opt: options.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/option_trial.hpp"
#include "conformance/outcome/outcome.hpp"
#include "conformance/subject/process_facts.hpp"

namespace etb::conformance {
namespace {

// Scopes whose options can be tried on any plugin.
constexpr uint32_t kTried = ETB_OBJECT_PLUGIN | ETB_OBJECT_DELEGATE | ETB_OBJECT_RUN;

void unknown_key(CheckContext& context) {
  constexpr const char* kUnknown = "no-plugin-has-this-option";
  for (const auto& [scope, call] :
       {std::pair<uint32_t, const char*>{ETB_OBJECT_PLUGIN, "init"}, {ETB_OBJECT_DELEGATE, "create"}}) {
    const auto subject = context.open(bare());
    if (!subject) return;
    // Without a claim there is no delegate to reject the option.
    if (scope == ETB_OBJECT_DELEGATE && context.find_claimed(*subject).empty()) return;
    if (try_option(context, scope, make_option(kUnknown, ETB_OPTION_I64)).is_taken)
      context.fail(fmt::format("{} accepts an unknown option", call));
    if (const OptionTrial hint = try_option(context, scope, make_option("x-vendor-hint", ETB_OPTION_I64));
        !hint.is_taken)
      context.fail(fmt::format("{} rejects an option that starts with x-: {}", call, hint.error));
  }
}

void unknown_key_of_a_run(CheckContext& context) {
  context.each_session({}, 1, [&](ReadyCase& ready) {
    if (ready.run({.options = {make_option("no-plugin-has-this-option", ETB_OPTION_I64)}}).status == ETB_OK)
      context.fail("execute accepts an unknown option");
    if (const RunResult result = ready.run({.options = {make_option("x-vendor-hint", ETB_OPTION_I64)}});
        result.status != ETB_OK)
      context.fail(std::string("execute rejects an option that starts with x-: ") + result.error.text);
    if (const RunResult result = ready.run(); result.status != ETB_OK)
      context.fail("after a rejected option the context does not run");
  });
}

void schema_is_kept(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  const std::vector<OptionFacts> options = options_of(*subject, context);
  if (options.empty()) return context.skip("the plugin has no options");
  for (const OptionFacts& facts : options) {
    if (!facts.has(kTried)) continue;
    const etb_option_type other = facts.type == ETB_OPTION_TEXT ? ETB_OPTION_I64 : ETB_OPTION_TEXT;
    if (try_option(context, facts.scopes, make_option(facts.key.c_str(), other)).is_taken)
      context.fail(fmt::format("option '{}' is accepted with another type than the schema's", facts.key));
    if (!facts.has_range()) continue;
    etb_option above = make_option(facts.key.c_str(), facts.type);
    above.f64 = facts.maximum + std::max(1.0, std::abs(facts.maximum));
    above.i64 = static_cast<int64_t>(facts.maximum) + 1;
    if (try_option(context, facts.scopes, above).is_taken)
      context.fail(fmt::format("option '{}' is accepted above its maximum", facts.key));
  }
  context.take_violations(*subject);
}

// Sets each option to both ends of its range, to each choice, on and off. Each must be accepted and results
// must stay right.
void every_value_is_correct(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  size_t count = 0;
  for (const OptionFacts& facts : options_of(*subject, context)) {
    if (!facts.has(kTried) || facts.key == kLoseDevice) continue;
    for (const etb_option& option : ordinary_values(facts)) {
      context.progress().at(to_text(option).c_str());
      context.progress().restart();
      ++count;
      const OptionTrial trial = try_option(context, facts.scopes, option);
      if (!trial.is_taken)
        context.fail(
            fmt::format("{} is in the range of the schema, but rejected: {}", to_text(option), trial.error));
      else if (!trial.wrong.empty())
        context.fail(fmt::format("{}: with {} the result is wrong", trial.wrong, to_text(option)));
    }
  }
  if (count == 0) context.skip("the plugin has no options with bounds or choices");
}

// True if the option counts threads, by its name.
bool counts_threads(const OptionFacts& facts) {
  return facts.type == ETB_OPTION_I64 && facts.key.find("thread") != std::string::npos &&
         facts.minimum <= 1 && facts.maximum >= 1;
}

void one_thread_is_one(CheckContext& context) {
  const auto described = context.open(bare());
  if (!described) return;
  size_t count = 0;
  for (const OptionFacts& facts : options_of(*described, context)) {
    if (!counts_threads(facts) || !facts.has(ETB_OBJECT_PLUGIN | ETB_OBJECT_DELEGATE)) continue;
    ++count;
    etb_option one = make_option(facts.key.c_str(), ETB_OPTION_I64);
    one.i64 = 1;
    const size_t before = thread_count();
    SubjectOptions options = bare();
    if (facts.has(ETB_OBJECT_PLUGIN)) options.init_options = {one};
    const auto subject = context.open(options);
    if (!subject) return;
    for (const ClaimedCase& item : context.claimed(*subject, 4)) {
      const Result<std::unique_ptr<CaseSession>> session = CaseSession::make(
          *subject, item.built, item.payload,
          facts.has(ETB_OBJECT_PLUGIN) ? std::vector<etb_option>{} : std::vector<etb_option>{one});
      if (!session) return context.fail(item.item->name + ": create fails: " + session.error().message);
      (void)(*session)->run(item.built.runs[0]);
      if (const size_t now = thread_count(); now > before)
        return context.fail(fmt::format("{}: {} starts {} threads, expected none", item.item->name,
                                        to_text(one), now - before));
    }
  }
  if (count == 0) context.skip("the plugin has no option that counts threads");
}

// Reads an option of the plugin. Returns nothing if the plugin does not report it.
std::optional<int64_t> read_back(Subject& subject, const std::string& key) {
  std::optional<int64_t> out;
  const etb_option_sink sink = {ETB_INIT_SIZE(etb_option_sink), 0, &out,
                                [](void* ctx, const etb_option* option) {
                                  if (option->type == ETB_OPTION_I64)
                                    *static_cast<std::optional<int64_t>*>(ctx) = option->i64;
                                  return etb_status{ETB_OK};
                                }};
  etb_error error = ETB_ERROR_INIT;
  if (subject.table().get_option(subject.handle(), ETB_OBJECT_PLUGIN, subject.handle(), key.c_str(), &sink,
                                 &error) != ETB_OK)
    return std::nullopt;
  return out;
}

// Calls `body` with each integer option of the plugin that has a range and can be read back.
template <class Body>
void each_readable(CheckContext& context, Body body) {
  const auto subject = context.open(bare());
  if (!subject) return;
  size_t count = 0;
  for (const OptionFacts& facts : options_of(*subject, context)) {
    if (!facts.has(ETB_OBJECT_PLUGIN) || facts.type != ETB_OPTION_I64 || !facts.has_range()) continue;
    const std::optional<int64_t> before = read_back(*subject, facts.key);
    if (!before) continue;
    ++count;
    body(*subject, facts, *before);
  }
  if (count == 0) context.skip("the plugin has no numeric option that can be read");
}

void set_value_is_read_back(CheckContext& context) {
  each_readable(context, [&](Subject&, const OptionFacts& facts, int64_t) {
    for (const etb_option& option : ordinary_values(facts)) {
      const auto set = Subject::open(context.spec(), {.is_validated = false, .init_options = {option}});
      if (!set) continue;  // opt.every-value-is-correct reports it
      if (const std::optional<int64_t> value = read_back(**set, facts.key); value != option.i64)
        context.fail(fmt::format("option '{}' was set to {} and reads {}", facts.key, option.i64,
                                 value ? std::to_string(*value) : "nothing"));
    }
  });
}

void rejected_value_changes_nothing(CheckContext& context) {
  each_readable(context, [&](Subject& subject, const OptionFacts& facts, int64_t before) {
    etb_option above = make_option(facts.key.c_str(), facts.type);
    above.i64 = static_cast<int64_t>(facts.maximum) + 1;
    etb_error error = ETB_ERROR_INIT;
    if (subject.table().set_option(subject.handle(), ETB_OBJECT_PLUGIN, subject.handle(), &above, &error) ==
        ETB_OK)
      context.fail(fmt::format("option '{}' can be set above its maximum", facts.key));
    if (read_back(subject, facts.key) != before)
      context.fail(fmt::format("option '{}' has another value after a rejected change", facts.key));
  });
}

constexpr Check kChecks[] = {
    {"opt.unknown-key-is-rejected",
     "Init and create reject an unknown option, and ignore unknown ones that start with x-.", "ABI-OPT-01",
     unknown_key},
    {"opt.unknown-run-key-is-rejected", "Execute does the same, and the context stays usable.", "ABI-OPT-01",
     unknown_key_of_a_run},
    {"opt.schema-is-kept", "Options are described, and their types and ranges are enforced.", "ABI-OPT-02",
     schema_is_kept},
    {"opt.every-value-is-correct",
     "An option is accepted at both bounds and at each choice, and results stay right.", "",
     every_value_is_correct},
    {"opt.one-thread-is-one", "With an option that counts threads set to 1, no thread starts.", "ABI-HYG-02",
     one_thread_is_one},
    {"opt.set-value-is-read-back", "An option reads as the value that was set.", "", set_value_is_read_back},
    {"opt.rejected-value-changes-nothing", "A rejected change of an option keeps its value.", "ABI-OPT-02",
     rejected_value_changes_nothing},
};

}  // namespace

std::span<const Check> opt_checks() { return kChecks; }

}  // namespace etb::conformance
