// SPDX-License-Identifier: Apache-2.0
#include "conformance/checks/option_trial.hpp"

#include <fmt/format.h>

#include <limits>

#include "conformance/subject/first_device.hpp"
#include "conformance/subject/payload_verdict.hpp"

namespace etb::conformance {
namespace {

// Cases of each trial: some of any kind, and small ones with constants and of several nodes.
constexpr size_t kTrialCases = 3;
constexpr const char* kOtherTrials[] = {"op.*_w*", "model.many_constants.*", "model.chain.*"};

void run_trial(CheckContext& context, const ClaimedCase& item, CaseSession& session,
               const RunOptions& options, OptionTrial& out) {
  const RunResult result = session.run(item.built.runs[0], options);
  if (result.status != ETB_OK) {
    out.is_taken = false;
    out.error = result.error.text;
  } else if (!context.is_right(item, result)) {
    out.wrong = item.item->name;
  }
}

}  // namespace

std::vector<OptionFacts> options_of(Subject& subject, CheckContext& context) {
  std::vector<OptionFacts> out;
  const Status read = subject.context().each_option([&](const etb_option_schema& schema) {
    OptionFacts& facts = out.emplace_back();
    facts = {schema.key,     schema.type, schema.scopes, schema.default_value != nullptr, schema.minimum,
             schema.maximum, {}};
    for (uint32_t i = 0; i < schema.choice_count; ++i) facts.choices.emplace_back(schema.choices[i]);
    if (schema.doc == nullptr || *schema.doc == '\0')
      context.fail(fmt::format("option '{}' has no description", schema.key));
    if (schema.default_value != nullptr && schema.default_value->type != schema.type)
      context.fail(fmt::format("the default of '{}' has another type than the option", schema.key));
  });
  if (!read && read.error().code != Code::NOT_IMPLEMENTED)
    context.fail("option_schema: " + read.error().message);
  return out;
}

etb_option make_option(const char* key, etb_option_type type) {
  etb_option option{};
  option.struct_size = ETB_INIT_SIZE(etb_option);
  option.key = key;
  option.type = type;
  option.text = type == ETB_OPTION_TEXT ? "text" : nullptr;
  return option;
}

std::vector<etb_option> ordinary_values(const OptionFacts& facts) {
  std::vector<etb_option> out;
  const auto add = [&](int64_t i64, double f64, const char* text) {
    etb_option& option = out.emplace_back(make_option(facts.key.c_str(), facts.type));
    option.i64 = i64;
    option.f64 = f64;
    option.text = text;
  };
  if (facts.type == ETB_OPTION_BOOL)
    for (const int64_t value : {0, 1}) add(value, 0, nullptr);
  if (facts.type == ETB_OPTION_I64 && facts.has_range())
    for (const double end : {facts.minimum, facts.maximum}) add(static_cast<int64_t>(end), 0, nullptr);
  if (facts.type == ETB_OPTION_F64 && facts.has_range())
    for (const double end : {facts.minimum, facts.maximum}) add(0, end, nullptr);
  for (const std::string& choice : facts.choices)
    if (facts.type == ETB_OPTION_TEXT) add(0, 0, choice.c_str());
  return out;
}

std::vector<etb_option> inner_values(const OptionFacts& facts) {
  std::vector<etb_option> out;
  if (!facts.has_range() || (facts.type != ETB_OPTION_I64 && facts.type != ETB_OPTION_F64)) return out;
  for (const double more : {0.25, 1.0, 3.0, 100.0, (facts.maximum - facts.minimum) / 2}) {
    if (facts.minimum + more >= facts.maximum || (facts.type == ETB_OPTION_I64 && more < 1)) continue;
    etb_option& option = out.emplace_back(make_option(facts.key.c_str(), facts.type));
    option.f64 = facts.minimum + more;
    if (facts.type == ETB_OPTION_I64) option.i64 = static_cast<int64_t>(option.f64);
  }
  return out;
}

std::vector<etb_option> excluded_values(const OptionFacts& facts) {
  std::vector<etb_option> out;
  const auto add = [&]() -> etb_option& {
    return out.emplace_back(make_option(facts.key.c_str(), facts.type));
  };
  for (etb_option_type type = ETB_OPTION_BOOL; type <= ETB_OPTION_BYTES; ++type)
    if (type != facts.type) add() = make_option(facts.key.c_str(), type);
  if (facts.type == ETB_OPTION_BOOL) {
    add().i64 = 2;
    add().i64 = -1;
  }
  constexpr double kMost = 9e18;  // within the integers of 64 bits
  if (facts.type == ETB_OPTION_I64 && facts.has_range()) {
    if (facts.minimum > -kMost) add().i64 = static_cast<int64_t>(facts.minimum) - 1;
    if (facts.maximum < kMost) add().i64 = static_cast<int64_t>(facts.maximum) + 1;
    if (facts.minimum > -kMost) add().i64 = INT64_MIN;
    if (facts.maximum < kMost) add().i64 = INT64_MAX;
  }
  if (facts.type == ETB_OPTION_F64 && facts.has_range()) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (facts.minimum > -kInfinity) add().f64 = -kInfinity;
    if (facts.maximum < kInfinity) add().f64 = kInfinity;
    add().f64 = std::numeric_limits<double>::quiet_NaN();
  }
  if (facts.type == ETB_OPTION_TEXT && !facts.choices.empty()) {
    add().text = "no-plugin-has-this-choice";
    add().text = "";
  }
  if (facts.type == ETB_OPTION_TEXT) add().text = nullptr;
  return out;
}

std::vector<std::pair<uint32_t, const char*>> option_scopes(Subject& subject) {
  std::vector<std::pair<uint32_t, const char*>> out = {{ETB_OBJECT_PLUGIN, "init"},
                                                       {ETB_OBJECT_DELEGATE, "create"},
                                                       {ETB_OBJECT_CONTEXT, "context_create"},
                                                       {ETB_OBJECT_RUN, "execute"}};
  if (FirstDevice(subject).status() == ETB_OK) out.emplace_back(ETB_OBJECT_DEVICE, "open");
  return out;
}

etb_status pass_options(CheckContext& context, Subject& subject, const ClaimedCase& item, uint32_t scope,
                        const std::vector<etb_option>& options) {
  context.progress().at("options");
  if (scope == ETB_OBJECT_PLUGIN) {
    const auto made = Subject::open(context.spec(), {.is_validated = false, .init_options = options});
    return made ? etb_status{ETB_OK} : static_cast<etb_status>(made.error().code);
  }
  if (scope == ETB_OBJECT_DEVICE) return FirstDevice(subject, options).status();
  const bool is_delegate = scope == ETB_OBJECT_DELEGATE;
  const auto session =
      CaseSession::make(subject, item.built, item.payload, is_delegate ? options : std::vector<etb_option>{});
  if (!session || is_delegate)
    return session ? etb_status{ETB_OK} : static_cast<etb_status>(session.error().code);
  if (scope == ETB_OBJECT_RUN) return (*session)->run(item.built.runs[0], {.options = options}).status;
  etb_context* made = nullptr;
  etb_error error = ETB_ERROR_INIT;
  const etb_delegate_table& table = *subject.table().delegate;
  const etb_status status =
      table.context_create((*session)->delegate(), options.data(), options.size(), &made, &error);
  if (status == ETB_OK && made != nullptr) (void)table.context_destroy(made, &error);
  return status;
}

OptionTrial try_option(CheckContext& context, uint32_t scopes, const etb_option& option) {
  OptionTrial out;
  // The validate layer takes back what the plugin released: an option may change who owns the bytes.
  SubjectOptions subject_options;
  if ((scopes & ETB_OBJECT_PLUGIN) != 0) subject_options.init_options = {option};
  const Result<std::unique_ptr<Subject>> subject = Subject::open(context.spec(), subject_options);
  if (!subject) {
    out.error = subject.error().message;
    return out;
  }
  out.is_taken = true;
  RunOptions run_options;
  std::vector<etb_option> delegate_options;
  if ((scopes & (ETB_OBJECT_PLUGIN | ETB_OBJECT_DELEGATE)) == ETB_OBJECT_DELEGATE)
    delegate_options = {option};
  if (scopes == ETB_OBJECT_RUN) run_options.options = {option};
  std::vector<ClaimedCase> items = context.find_claimed(**subject, kTrialCases);
  for (const char* pattern : kOtherTrials)
    for (ClaimedCase& item : context.find_claimed_like(**subject, pattern)) items.push_back(std::move(item));
  for (const ClaimedCase& item : items) {
    const Result<std::unique_ptr<CaseSession>> session =
        CaseSession::make(**subject, item.built, item.payload, delegate_options);
    if (!session) {
      out.is_taken = false;
      out.error = session.error().message;
      return out;
    }
    run_trial(context, item, **session, run_options, out);
    etb_verdict verdict{};
    if ((*subject)->table().delegate->check_payload != nullptr &&
        ask_verdict(**subject, item.payload.bytes, item.payload.bytes.size(), verdict) == ETB_OK &&
        verdict.kind == ETB_VERDICT_UNSUPPORTED) {
      out.is_taken = false;
      out.error = item.item->name + ": check_payload calls unsupported what create takes";
    }
  }
  context.take_violations(**subject);
  return out;
}

std::string to_text(const etb_option& option) {
  if (option.type == ETB_OPTION_TEXT)
    return fmt::format("{} = '{}'", option.key, option.text != nullptr ? option.text : "NULL");
  if (option.type == ETB_OPTION_F64) return fmt::format("{} = {}", option.key, option.f64);
  return fmt::format("{} = {}", option.key, option.i64);
}

}  // namespace etb::conformance
