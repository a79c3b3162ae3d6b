// SPDX-License-Identifier: Apache-2.0
// host: payloads, named data and constants that are lent in other ways, and other arguments of create that the contract leaves open.
#include <fmt/format.h>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/large_constant.hpp"

namespace etb::conformance {
namespace {

struct Way {
  const char* text;
  Loans loans;
  bool may_be_rejected = false;
};
constexpr Way kWays[] = {
    {"bytes without a release", {.has_release = false}},
    {"bytes that a file has, too", {.has_file = true}},
    {"bytes of a file without a release", {.has_release = false, .has_file = true}},
    {"bytes that only a file has", {.has_file = true, .has_bytes = false}, true},
    {"bytes at addresses of exactly the promised alignment", {.has_least_alignment = true}},
};

// A few cases of several ops, some with constants and codes.
std::vector<ClaimedCase> cases_of(CheckContext& context, Subject& subject) {
  std::vector<ClaimedCase> items = context.claimed(subject, 4);
  for (const char* pattern : {"*.constant.*", "quant.*"})
    for (ClaimedCase& item : context.find_claimed_like(subject, pattern, 2)) items.push_back(std::move(item));
  return items;
}

void expect_right_with(CheckContext& context, Subject& subject, const ClaimedCase& item,
                       const SessionOptions& options, const char* where, bool may_be_rejected = false) {
  context.progress().at(where);
  const auto session = CaseSession::make(subject, item.built, item.payload, options);
  if (!session) {
    if (!may_be_rejected)
      context.fail(
          fmt::format("{}: with {}, create fails: {}", item.item->name, where, session.error().message));
    return;
  }
  const RunResult result = (*session)->run(item.built.runs[0]);
  if (result.status != ETB_OK || !context.is_right(item, result))
    context.fail(fmt::format("{}: with {}, a run fails or is wrong", item.item->name, where));
  (void)(*session)->end();
  if (const std::string damage = (*session)->file_damage(); !damage.empty())
    context.fail(
        fmt::format("{}: with {}, the plugin has {} the borrowed file", item.item->name, where, damage));
}

void loans_differ(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  for (const ClaimedCase& item : cases_of(context, *subject))
    for (const Way& way : kWays) {
      context.progress().at(way.text);
      const Compiled compiled = compile(*subject, item.built.image, {.loans = way.loans});
      if (compiled.status == ETB_OK ? !(compiled.payload == item.payload) : !way.may_be_rejected)
        context.fail(fmt::format("{}: with constants as {}, compile fails or makes another payload",
                                 item.item->name, way.text));
      expect_right_with(context, *subject, item, {.loans = way.loans}, way.text, way.may_be_rejected);
    }
}

void create_arguments_differ(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  for (const ClaimedCase& item : cases_of(context, *subject)) {
    expect_right_with(context, *subject, item, {.method_name = "étage_2.encode"}, "another method's name");
    if (item.payload.named.empty())
      expect_right_with(context, *subject, item, {.has_named_data = false}, "no named data");
  }
}

// Creates two models with equal sizes and other constants. Memory that the first delegate released has the second one's bytes.
void memory_is_lent_again(CheckContext& context) {
  constexpr int64_t kRows[] = {4, 32, 256};
  const auto subject = context.open(bare());
  if (!subject || subject->table().aot == nullptr) return;
  size_t count = 0;
  for (const ConstantUse use : kConstantUses)
    for (const int64_t rows : kRows) {
      ReusedMemory memory;
      std::vector<BuiltCase> cases;
      std::vector<std::unique_ptr<CaseSession>> sessions;
      std::vector<RunResult> expected;
      for (const char* name : {"first weights", "second weights"}) {
        Result<BuiltCase> built = with_constant(use, rows, name);
        if (!built || !partition(*subject, built->image).is_whole_claim()) break;
        const Compiled compiled = compile(*subject, built->image);
        if (compiled.status != ETB_OK) break;
        context.progress().restart();
        context.progress().at("create in memory that was lent before");
        cases.push_back(std::move(*built));
        const auto alone = CaseSession::make(*subject, cases.back(), compiled.payload);
        if (!alone) return context.fail("create fails: " + alone.error().message);
        expected.push_back((*alone)->run(cases.back().runs[0]));
      }
      if (cases.size() != 2) continue;
      ++count;
      for (const BuiltCase& built : cases) {
        auto made = CaseSession::make(*subject, built, compile(*subject, built.image).payload,
                                      SessionOptions{.loans = {.reused = &memory}});
        if (!made) return context.fail("create fails: " + made.error().message);
        sessions.push_back(std::move(*made));
        for (size_t i = 0; i < sessions.size(); ++i)
          if (!has_same_result(sessions[i]->run(cases[i].runs[0]), expected[i]))
            return context.fail(
                fmt::format("with constants of {} rows, model {} of 2 has another result where the second "
                            "one's bytes are "
                            "in memory that the first one released",
                            rows, i + 1));
      }
    }
  if (count == 0) context.skip("the plugin claims no case with a constant");
}

constexpr Check kChecks[] = {
    {"host.memory-is-lent-again", "Memory that a plugin released may have the bytes of another model.",
     "ABI-OWN-03", memory_is_lent_again},
    {"host.loans-differ",
     "Bytes may be lent without a release, with a file that has them, too, and barely aligned.", "ABI-OWN-03",
     loans_differ},
    {"host.create-arguments-differ", "A method may have any name, and a program no named data.", "",
     create_arguments_differ},
};

}  // namespace

std::span<const Check> loan_checks() { return kChecks; }

}  // namespace etb::conformance
