// SPDX-License-Identifier: Apache-2.0
// opt: results with each value of each option. An option often chooses another way to compute, and a fault of that way may need
// one op, size or pattern.
#include <fmt/format.h>

#include "conformance/checks/all_runs.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/option_trial.hpp"
#include "conformance/subject/payload_verdict.hpp"

namespace etb::conformance {
namespace {

// Cases of many ops, patterns of codes, dynamic sizes and several nodes.
std::vector<ClaimedCase> many_cases(CheckContext& context, Subject& subject, double values) {
  constexpr struct {
    const char* pattern;
    size_t count;
  } kSamples[] = {{"op.*", 60}, {"quant.*", 20}, {"dyn.*", 20}};
  std::vector<ClaimedCase> out = context.find_claimed(subject, context.cases(16, values));
  for (const auto& [pattern, count] : kSamples)
    for (ClaimedCase& item : context.find_claimed_of_ops(subject, pattern, context.cases(count, values)))
      out.push_back(std::move(item));
  return out;
}

void fail_with(CheckContext& context, const ClaimedCase& item, const etb_option& option,
               const std::string& text) {
  context.fail(fmt::format("{}: with {}, {}", item.item->name, to_text(option), text));
}

// Creates a delegate and makes all runs of the case on one context.
void expect_right_runs(CheckContext& context, Subject& subject, const ClaimedCase& item,
                       const Payload& payload, const etb_option& tried,
                       const std::vector<etb_option>& delegate_options,
                       const std::vector<etb_option>& run_options) {
  const auto session = CaseSession::make(subject, item.built, payload, delegate_options);
  if (!session) return fail_with(context, item, tried, "create fails: " + session.error().message);
  if (const std::string text = make_all_runs(context, **session, item, {.options = run_options});
      !text.empty())
    fail_with(context, item, tried, text);
}

// Compiles a case with the option, and expects what all other promises say about the payload.
void expect_right_payload(CheckContext& context, Subject& subject, const ClaimedCase& item,
                          const etb_option& option) {
  const graph::ImageBytes& image = item.built.image;
  const AotOptions aot = {.options = {option}};
  if (!partition(subject, image, aot).is_whole_claim()) return;  // an option may narrow claims
  const Compiled compiled = compile(subject, image, {.aot = aot});
  if (compiled.status != ETB_OK)
    return fail_with(context, item, option, "a claimed case does not compile: " + compiled.error);
  etb_verdict verdict{};
  if (ask_verdict(subject, compiled.payload.bytes, compiled.payload.bytes.size(), verdict) == ETB_OK &&
      verdict.kind == ETB_VERDICT_UNSUPPORTED)
    return fail_with(context, item, option,
                     fmt::format("check_payload calls the payload unsupported: {}", verdict.text));
  expect_right_runs(context, subject, item, compiled.payload, option, {}, {});
}

// Options with a scope, each with the values that change no result.
std::vector<OptionFacts> options_with(CheckContext& context, Subject& subject, uint32_t scope) {
  std::vector<OptionFacts> out = options_of(subject, context);
  std::erase_if(out, [&](const OptionFacts& facts) { return !facts.has(scope) || facts.key == kLoseDevice; });
  return out;
}

// Calls body(item, option) for each case and value of the options with a scope, until there is a finding.
template <class Body>
void each_value(CheckContext& context, Subject& subject, uint32_t scope, const char* scope_text, Body body) {
  const std::vector<OptionFacts> described = options_with(context, subject, scope);
  std::vector<etb_option> values;
  for (const OptionFacts& facts : described)
    for (const etb_option& option : ordinary_values(facts)) values.push_back(option);
  if (values.empty()) return context.skip(fmt::format("no option of {} has bounds or choices", scope_text));
  for (const ClaimedCase& item : many_cases(context, subject, static_cast<double>(values.size())))
    for (const etb_option& option : values) {
      context.progress().restart();
      context.progress().at(fmt::format("{} with {}", item.item->name, to_text(option)).c_str());
      body(item, option);
      if (!context.outcome().findings.empty()) return;
    }
}

void compiled_with_each_value(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || subject->table().aot == nullptr) return;
  each_value(context, *subject, ETB_OBJECT_PLUGIN, "the compiler",
             [&](const ClaimedCase& item, const etb_option& option) {
               expect_right_payload(context, *subject, item, option);
             });
}

void created_with_each_value(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  each_value(context, *subject, ETB_OBJECT_DELEGATE, "a delegate",
             [&](const ClaimedCase& item, const etb_option& option) {
               expect_right_runs(context, *subject, item, item.payload, option, {option}, {});
             });
}

void run_with_each_value(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  each_value(context, *subject, ETB_OBJECT_RUN, "a run",
             [&](const ClaimedCase& item, const etb_option& option) {
               expect_right_runs(context, *subject, item, item.payload, option, {}, {option});
             });
}

constexpr Check kChecks[] = {
    {"opt.compiled-with-each-value",
     "What is claimed and compiled with each value of an option runs right, and check_payload accepts it.",
     "", compiled_with_each_value},
    {"opt.created-with-each-value", "Delegates that are created with each value of an option run right.", "",
     created_with_each_value},
    {"opt.run-with-each-value", "Runs with each value of an option are right.", "", run_with_each_value},
};

}  // namespace

std::span<const Check> option_value_checks() { return kChecks; }

}  // namespace etb::conformance
