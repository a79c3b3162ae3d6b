// SPDX-License-Identifier: Apache-2.0
// opt: options of the ahead-of-time functions, which have the scope of the plugin.
#include <fmt/format.h>

#include <functional>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/option_trial.hpp"

namespace etb::conformance {
namespace {

struct Function {
  const char* name;
  std::function<etb_status(const AotOptions&)> call;
};

std::vector<Function> functions_of(Subject& subject, const ClaimedCase& item) {
  const graph::ImageBytes& image = item.built.image;
  std::vector<Function> out = {
      {"partition", [&](const AotOptions& options) { return partition(subject, image, options).status; }},
      {"compile",
       [&](const AotOptions& options) { return compile(subject, image, {.aot = options}).status; }},
      {"dry_check",
       [&](const AotOptions& options) {
         std::string error;
         return dry_check(subject, image, error, options);
       }},
      {"estimate",
       [&](const AotOptions& options) {
         etb_estimate out_estimate{};
         return estimate(subject, image, out_estimate, options);
       }},
  };
  std::erase_if(out, [](const Function& function) { return function.call({}) != ETB_OK; });
  return out;
}

void expect(CheckContext& context, const Function& function, const etb_option& option, bool is_good) {
  context.progress().at(fmt::format("{} with {}", function.name, to_text(option)).c_str());
  const etb_status status = function.call({.options = {option}});
  if (is_good && status != ETB_OK)
    context.fail(
        fmt::format("{} rejects {} with {}, which it must accept", function.name, to_text(option), status));
  if (!is_good && status == ETB_OK)
    context.fail(fmt::format("{} accepts {}, which it must reject", function.name, to_text(option)));
}

void aot_options(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::vector<ClaimedCase> items = context.claimed(*subject, 1);
  if (items.empty()) return;
  const std::vector<OptionFacts> described = options_of(*subject, context);
  for (const Function& function : functions_of(*subject, items[0])) {
    expect(context, function, make_option("no-plugin-has-this-option", ETB_OPTION_I64), false);
    expect(context, function, make_option("x-suite-hint", ETB_OPTION_I64), true);
    for (const OptionFacts& facts : described) {
      if (facts.key == kLoseDevice) continue;
      const bool is_known = facts.has(ETB_OBJECT_PLUGIN);
      for (const etb_option& option : ordinary_values(facts))
        if (is_known || !facts.key.starts_with("x-")) expect(context, function, option, is_known);
      for (const etb_option& option : excluded_values(facts))
        if (is_known) expect(context, function, option, false);
    }
  }
}

constexpr Check kChecks[] = {
    {"opt.of-ahead-of-time-functions",
     "Partition, compile, dry_check and estimate accept the plugin's options and reject all others.",
     "ABI-OPT-01", aot_options},
};

}  // namespace

std::span<const Check> aot_option_checks() { return kChecks; }

}  // namespace etb::conformance
