// SPDX-License-Identifier: Apache-2.0
// opt: the schema itself, and options of living objects: read, changed, rejected.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "conformance/checks/devices.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/option_trial.hpp"
#include "host/layers/validate/call.hpp"

namespace etb::conformance {
namespace {

// A schema, as a value.
struct Described {
  OptionFacts facts;
  uint32_t mutable_when = 0;
  std::optional<etb_option> default_value;  // its text points into default_text
  std::string default_text;
  std::string defect;  // "" if there is none
};

bool is_in_range(const OptionFacts& facts, const etb_option& value) {
  const double number = value.type == ETB_OPTION_I64 ? static_cast<double>(value.i64) : value.f64;
  if (value.type == ETB_OPTION_BOOL) return value.i64 == 0 || value.i64 == 1;
  if (value.type == ETB_OPTION_TEXT)
    return value.text != nullptr &&
           (facts.choices.empty() ||
            std::find(facts.choices.begin(), facts.choices.end(), value.text) != facts.choices.end());
  if (value.type != ETB_OPTION_I64 && value.type != ETB_OPTION_F64) return true;
  return !std::isnan(number) && (!facts.has_range() || (number >= facts.minimum && number <= facts.maximum));
}

// Flags and fields other than that of the type are zero, or an empty text.
bool has_other_fields(const etb_option& option) {
  const bool is_integer = option.type == ETB_OPTION_I64 || option.type == ETB_OPTION_BOOL;
  return option.flags != 0 || (option.i64 != 0 && !is_integer) ||
         (option.f64 != 0 && option.type != ETB_OPTION_F64) ||
         (option.text != nullptr && *option.text != '\0' && option.type != ETB_OPTION_TEXT) ||
         (option.bytes.nbytes != 0 && option.type != ETB_OPTION_BYTES) ||
         (option.item_count != 0 && option.type != ETB_OPTION_LIST);
}

std::string defect_of(const etb_option_schema& schema, const OptionFacts& facts) {
  constexpr uint32_t kScopes =
      ETB_OBJECT_PLUGIN | ETB_OBJECT_DEVICE | ETB_OBJECT_DELEGATE | ETB_OBJECT_CONTEXT | ETB_OBJECT_RUN;
  if (facts.key.empty()) return "no key";
  if (schema.type < ETB_OPTION_BOOL || schema.type > ETB_OPTION_LIST)
    return fmt::format("type {}", schema.type);
  if (schema.scopes == 0 || (schema.scopes & ~kScopes) != 0)
    return fmt::format("scopes {:#x}", schema.scopes);
  if (schema.mutable_when > ETB_OPTION_ANY_TIME) return fmt::format("mutable_when {}", schema.mutable_when);
  if (std::isnan(schema.minimum) || std::isnan(schema.maximum)) return "a bound that is not a number";
  if (schema.choice_count != 0 && schema.type != ETB_OPTION_TEXT) return "choices, and no text";
  for (const std::string& choice : facts.choices)
    if (choice.empty() || !host::validate::is_utf8(choice)) return "a choice that is no text";
  if (schema.doc == nullptr || !host::validate::is_utf8(schema.doc)) return "a description that is no text";
  if (schema.default_value != nullptr && schema.default_value->type == schema.type &&
      !is_in_range(facts, *schema.default_value))
    return "a default outside of its own range or choices";
  if (schema.default_value != nullptr && has_other_fields(*schema.default_value))
    return "a default with fields of another type";
  return "";
}

etb_status ETB_CALL take_schema(void* ctx, const etb_option_schema* schema) {
  Described& out = static_cast<std::vector<Described>*>(ctx)->emplace_back();
  OptionFacts& facts = out.facts;
  facts.key = schema->key != nullptr ? schema->key : "";
  facts.type = schema->type;
  facts.scopes = schema->scopes;
  facts.minimum = schema->minimum;
  facts.maximum = schema->maximum;
  for (uint32_t i = 0; i < schema->choice_count; ++i)
    facts.choices.emplace_back(
        schema->choices != nullptr && schema->choices[i] != nullptr ? schema->choices[i] : "");
  out.mutable_when = schema->mutable_when;
  out.defect = defect_of(*schema, facts);
  if (schema->default_value == nullptr) return ETB_OK;
  out.default_value = *schema->default_value;
  if (schema->default_value->text != nullptr) out.default_text = schema->default_value->text;
  return ETB_OK;
}

std::vector<Described> schema_of(CheckContext& context, Subject& subject) {
  std::vector<Described> out;
  const etb_option_schema_sink sink = {ETB_INIT_SIZE(etb_option_schema_sink), 0, &out, take_schema};
  etb_error error = ETB_ERROR_INIT;
  context.progress().at("option_schema");
  const etb_status status = subject.table().option_schema(subject.handle(), &sink, &error);
  if (status != ETB_OK && status != ETB_NOT_IMPLEMENTED)
    context.fail(fmt::format("option_schema returns {}: {}", status, error.text));
  for (Described& each : out)
    if (each.default_value) {
      each.default_value->key = each.facts.key.c_str();
      each.default_value->text = each.default_text.c_str();
    }
  return out;
}

// True if the manifest states another default. It may leave one out.
bool has_other_default(const host::OptionValue& stated, const Described& each) {
  if (!each.default_value) return stated.index() != 0;
  const etb_option& option = *each.default_value;
  if (const auto* const is_on = std::get_if<bool>(&stated))
    return option.type == ETB_OPTION_BOOL && option.i64 != static_cast<int64_t>(*is_on);
  if (const auto* const whole = std::get_if<int64_t>(&stated))
    return option.type == ETB_OPTION_F64 ? option.f64 != static_cast<double>(*whole) : option.i64 != *whole;
  if (const auto* const real = std::get_if<double>(&stated))
    return option.type == ETB_OPTION_F64 && option.f64 != *real;
  if (const auto* const text = std::get_if<std::string>(&stated))
    return option.type == ETB_OPTION_TEXT && each.default_text != *text;
  return false;
}

// Names what the manifest says in another way than the schema; "" if nothing.
std::string difference_of(const host::OptionEntry& entry, const Described& each) {
  constexpr std::pair<etb_option_type, const char*> kTypes[] = {
      {ETB_OPTION_BOOL, "bool"}, {ETB_OPTION_I64, "i64"},     {ETB_OPTION_F64, "f64"},
      {ETB_OPTION_TEXT, "text"}, {ETB_OPTION_BYTES, "bytes"}, {ETB_OPTION_LIST, "list"}};
  constexpr const char* kTimes[] = {"fixed", "between", "any-time"};
  constexpr std::pair<uint32_t, const char*> kScopeNames[] = {{ETB_OBJECT_PLUGIN, "plugin"},
                                                              {ETB_OBJECT_DEVICE, "device"},
                                                              {ETB_OBJECT_DELEGATE, "delegate"},
                                                              {ETB_OBJECT_CONTEXT, "context"},
                                                              {ETB_OBJECT_RUN, "run"}};
  const OptionFacts& facts = each.facts;
  for (const auto& [type, name] : kTypes)
    if (facts.type == type && entry.type != name) return "type";
  if (!entry.mutable_when.empty() && entry.mutable_when != kTimes[each.mutable_when])
    return "time of changes";
  for (const auto& [scope, name] : kScopeNames) {
    const bool is_listed = std::find(entry.scopes.begin(), entry.scopes.end(), name) != entry.scopes.end();
    if (!entry.scopes.empty() && is_listed != facts.has(scope)) return "scope";
  }
  if (facts.minimum < facts.maximum && ((entry.minimum && *entry.minimum != facts.minimum) ||
                                        (entry.maximum && *entry.maximum != facts.maximum)))
    return "range";
  if (!entry.choices.empty() && entry.choices != facts.choices) return "list of choices";
  if (has_other_default(entry.default_value, each)) return "default";
  return "";
}

void schema_is_sound(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::vector<Described> options = schema_of(context, *subject), again = schema_of(context, *subject);
  std::map<std::string, size_t> keys;
  for (const Described& each : options) {
    if (!each.defect.empty()) context.fail(fmt::format("option '{}' has {}", each.facts.key, each.defect));
    if (++keys[each.facts.key] == 2)
      context.fail(fmt::format("option '{}' is described twice", each.facts.key));
  }
  if (again.size() != options.size()) context.fail("the second call of option_schema lists other options");
  const uint32_t caps = subject->table().caps;
  const bool has_values = (caps & (ETB_PLUGIN_CAP_SET_OPTION | ETB_PLUGIN_CAP_GET_OPTION)) != 0;
  for (const Described& each : options)
    if (each.mutable_when != ETB_OPTION_FIXED && (caps & ETB_PLUGIN_CAP_SET_OPTION) == 0)
      context.fail(fmt::format("option '{}' may change by its schema, but the plugin has no set_option",
                               each.facts.key));
  if (options.empty() && has_values)
    context.fail("the plugin offers set_option or get_option, but its schema lists no option");
  if (!context.spec().entry.manifest) return;
  for (const host::OptionEntry& entry : context.spec().entry.manifest->options) {
    if (!keys.contains(entry.key))
      context.fail(fmt::format("the manifest lists the option '{}', the schema does not", entry.key));
    for (const Described& each : options)
      if (each.facts.key == entry.key)
        if (const std::string difference = difference_of(entry, each); !difference.empty())
          context.fail(fmt::format("option '{}' has another {} in the manifest than in the schema", entry.key,
                                   difference));
  }
}

// ---- values at creation

etb_status pass(CheckContext& context, Subject& subject, const ClaimedCase& item, uint32_t scope,
                const etb_option& option) {
  return pass_options(context, subject, item, scope, {option});
}

// Each option with its default, its ordinary and excluded values, at its scopes and at others.
void values_at_each_scope(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::vector<ClaimedCase> items = context.claimed(*subject, 1);
  if (items.empty()) return;
  const etb_option unknown = make_option("no-plugin-has-this-option", ETB_OPTION_I64);
  for (const auto& [scope, function] : option_scopes(*subject)) {
    if (pass(context, *subject, items[0], scope, unknown) == ETB_OK)
      context.fail(fmt::format("{} accepts an unknown option", function));
    for (const Described& each : schema_of(context, *subject)) {
      const OptionFacts& facts = each.facts;
      if (facts.key == kLoseDevice || !each.defect.empty()) continue;
      context.progress().restart();
      std::vector<etb_option> good = ordinary_values(facts);
      if (each.default_value && each.default_value->type == facts.type) good.push_back(*each.default_value);
      for (const etb_option& option : good) {
        const etb_status status = pass(context, *subject, items[0], scope, option);
        if (facts.has(scope) && status != ETB_OK)
          context.fail(fmt::format("{} rejects {} with {}, which the schema allows", function,
                                   to_text(option), status));
        if (!facts.has(scope) && status == ETB_OK)
          context.fail(
              fmt::format("{} accepts '{}', which the schema has at other scopes", function, facts.key));
      }
      if (!facts.has(scope)) continue;
      for (const etb_option& option : excluded_values(facts))
        if (pass(context, *subject, items[0], scope, option) == ETB_OK)
          context.fail(fmt::format("{} accepts a value or type of '{}' (type {}) that the schema excludes",
                                   function, facts.key, option.type));
      if (context.outcome().findings.size() > 3) return;
    }
  }
}

// ---- living objects

// An object that options are read from and set on.
struct Target {
  Subject& subject;
  uint32_t kind;
  void* object;
};

struct Read {
  etb_status status = ETB_OK;
  size_t count = 0;
  etb_option value{};
  std::string key, text;
};

Read read(CheckContext& context, const Target& target, const char* key) {
  Read out;
  const etb_option_sink sink = {ETB_INIT_SIZE(etb_option_sink), 0, &out,
                                [](void* ctx, const etb_option* option) {
                                  auto& self = *static_cast<Read*>(ctx);
                                  ++self.count;
                                  self.value = *option;
                                  if (option->key != nullptr) self.key = option->key;
                                  if (option->text != nullptr) self.text = option->text;
                                  return etb_status{ETB_OK};
                                }};
  etb_error error = ETB_ERROR_INIT;
  context.progress().at("get_option");
  out.status = target.subject.table().get_option(target.subject.handle(), target.kind, target.object, key,
                                                 &sink, &error);
  return out;
}

etb_status set(CheckContext& context, const Target& target, const etb_option& option) {
  etb_error error = ETB_ERROR_INIT;
  context.progress().at(("set " + to_text(option)).c_str());
  return target.subject.table().set_option(target.subject.handle(), target.kind, target.object, &option,
                                           &error);
}

bool is_equal(const Read& read, const etb_option& option) {
  if (read.value.type != option.type || has_other_fields(read.value)) return false;
  if (option.type == ETB_OPTION_TEXT) return read.text == option.text;
  if (option.type == ETB_OPTION_F64) return read.value.f64 == option.f64;
  return read.value.i64 == option.i64;
}

// Reads the option. Where a plugin does not report it, nothing is compared.
bool expect_value(CheckContext& context, const Target& target, const etb_option& expected, const char* when) {
  const Read found = read(context, target, expected.key);
  if (found.status == ETB_NOT_IMPLEMENTED || found.status == ETB_NOT_SUPPORTED) return false;
  if (found.status != ETB_OK)
    context.fail(fmt::format("get_option of '{}' {} returns {}", expected.key, when, found.status));
  else if (found.count != 1)
    context.fail(fmt::format("get_option of '{}' reports {} values, expected 1", expected.key, found.count));
  else if (found.key != expected.key)
    context.fail(fmt::format("get_option of '{}' reports '{}'", expected.key, found.key));
  else if (!is_equal(found, expected))
    context.fail(fmt::format("'{}' has another value {} than {}{}", expected.key, when, to_text(expected),
                             has_other_fields(found.value) ? ", or fields of other types" : ""));
  return true;
}

// Changes one option of a living object to each value and back; a fixed one must refuse. `passes_excluded`: also other values.
void change(CheckContext& context, const Target& target, const Described& each,
            const std::function<void()>& use, bool passes_excluded) {
  const bool is_fixed = each.mutable_when == ETB_OPTION_FIXED;
  etb_option current = *each.default_value;
  std::vector<etb_option> values = ordinary_values(each.facts);
  values.push_back(*each.default_value);
  for (const etb_option& option : values) {
    const etb_status status = set(context, target, option);
    if (status == ETB_NOT_IMPLEMENTED) return;
    if (is_fixed && status == ETB_OK)
      context.fail(fmt::format("set_option changes '{}', which the schema fixes", each.facts.key));
    if (is_fixed && status != ETB_OK && status != ETB_INVALID_STATE)
      context.fail(
          fmt::format("set_option refuses '{}', which the schema fixes, with {}, expected ETB_INVALID_STATE",
                      each.facts.key, status));
    if (!is_fixed && status != ETB_OK)
      context.fail(
          fmt::format("set_option rejects {} with {}, which the schema allows", to_text(option), status));
    if (status == ETB_OK) current = option;
    (void)expect_value(context, target, current,
                       status == ETB_OK ? "after it was set" : "after a rejected change");
    use();
  }
  if (!passes_excluded) return;
  for (const etb_option& option : excluded_values(each.facts)) {
    const etb_status status = set(context, target, option);
    if (status == ETB_OK)
      context.fail(
          fmt::format("set_option accepts a value or type of '{}' that the schema excludes", each.facts.key));
    else if (status != ETB_INVALID_ARGUMENT && !(is_fixed && status == ETB_INVALID_STATE))
      context.fail(
          fmt::format("set_option refuses {}, which the schema excludes, with {}, expected "
                      "ETB_INVALID_ARGUMENT",
                      to_text(option), status));
    (void)expect_value(context, target, current, "after a rejected change");
    if (!context.outcome().findings.empty()) return;
  }
  use();
}

void use_living_objects(CheckContext& context, const SubjectOptions& subject_options) {
  const auto subject = context.open(subject_options);
  if (!subject) return;
  const std::vector<Described> options = schema_of(context, *subject);
  const bool can_set = (subject->table().caps & ETB_PLUGIN_CAP_SET_OPTION) != 0,
             can_get = (subject->table().caps & ETB_PLUGIN_CAP_GET_OPTION) != 0;
  if (!can_set && !can_get) return context.skip("the plugin has neither set_option nor get_option");
  bool is_any_read = false;
  for (const ClaimedCase& item : context.claimed(*subject, 1)) {
    const auto session = context.make_session(*subject, item);
    if (!session) return;
    const auto use = [&] {
      const RunResult result = session->run(item.built.runs[0]);
      if (result.status != ETB_OK || !context.is_right(item, result))
        context.fail(item.item->name + ": after a change of an option a run fails or is wrong");
    };
    const DeviceList devices = devices_of(context, *subject);
    std::optional<OpenDevice> device;
    if (!devices.empty()) device.emplace(context, *subject, devices[0]);
    std::vector<Target> targets = {{*subject, ETB_OBJECT_PLUGIN, subject->handle()},
                                   {*subject, ETB_OBJECT_DELEGATE, session->delegate()},
                                   {*subject, ETB_OBJECT_CONTEXT, session->context()}};
    if (device && device->handle() != nullptr)
      targets.push_back({*subject, ETB_OBJECT_DEVICE, device->handle()});
    for (const Target& target : targets) {
      for (const char* unknown : {"no-plugin-has-this-option", "x-no-plugin-has-this-hint"}) {
        if (const Read found = read(context, target, unknown); can_get && found.status != ETB_NOT_FOUND)
          context.fail(
              fmt::format("get_option of '{}' returns {}, expected ETB_NOT_FOUND", unknown, found.status));
        if (can_set && set(context, target, make_option(unknown, ETB_OPTION_I64)) != ETB_NOT_FOUND)
          context.fail(fmt::format("set_option of '{}' does not return ETB_NOT_FOUND", unknown));
      }
      for (const Described& each : options) {
        if (!each.facts.has(target.kind) || !each.default_value || !each.defect.empty()) continue;
        is_any_read = expect_value(context, target, *each.default_value, "without a change") || is_any_read;
        if (can_set) change(context, target, each, use, !subject_options.is_validated);
        context.take_violations(*subject);
        if (!context.outcome().findings.empty()) return;
        context.progress().restart();
      }
    }
  }
  if (can_get && !is_any_read && !options.empty() && context.outcome().findings.empty())
    context.warn("the plugin offers get_option and reports no option of the plugin or of a delegate");
}

void living_objects(CheckContext& context) {
  use_living_objects(context, bare());
  // The validate layer ends the loan of each text with the call.
  if (context.outcome().state == State::kPass) use_living_objects(context, {});
}

// A delegate that was created with a value has it.
void created_with(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  for (const ClaimedCase& item : context.claimed(*subject, 1))
    for (const Described& each : schema_of(context, *subject)) {
      if (!each.facts.has(ETB_OBJECT_DELEGATE) || !each.defect.empty()) continue;
      std::vector<etb_option> values = ordinary_values(each.facts);
      for (const etb_option& inner : inner_values(each.facts)) values.push_back(inner);
      for (const etb_option& option : values) {
        const auto session = CaseSession::make(*subject, item.built, item.payload, {option});
        if (!session) continue;  // opt.values-at-each-scope reports it
        (void)expect_value(context, {*subject, ETB_OBJECT_DELEGATE, (*session)->delegate()}, option,
                           "after create");
      }
    }
}

// Objects with options beside objects without any.
class Neighbours {
 public:
  Neighbours(CheckContext& context, Subject& subject, const ClaimedCase& item)
      : context_(context), subject_(subject), item_(item), plain_(context.make_session(subject, item)) {
    if (plain_) first_ = run(*plain_);
  }
  bool exists() const { return plain_ != nullptr; }

  // Makes an object with the option, uses it, and then those without it.
  void use(uint32_t scope, const etb_option& option) {
    context_.progress().at(to_text(option).c_str());
    context_.progress().restart();
    if (scope == ETB_OBJECT_PLUGIN) {
      const auto other = Subject::open(context_.spec(), {.is_validated = false, .init_options = {option}});
      if (!other) return;
      const auto session = CaseSession::make(**other, item_.built, item_.payload);
      if (session) (void)run(**session);
      return expect_unchanged(option, "instance");
    }
    if (scope == ETB_OBJECT_RUN) {
      (void)plain_->run(item_.built.runs[0], {.options = {option}});
      return expect_unchanged(option, "run");
    }
    const auto session = CaseSession::make(subject_, item_.built, item_.payload, {option});
    if (!session) return;
    const RunResult own = run(**session);
    expect_unchanged(option, "delegate");
    if (const RunResult again = run(**session);
        own.status == ETB_OK && (again.status != ETB_OK || !has_same_outputs(own.outputs, again.outputs)))
      context_.fail(
          fmt::format("{}: a delegate that was created with {} has another result after one without",
                      item_.item->name, to_text(option)));
  }

 private:
  RunResult run(CaseSession& session) { return session.run(item_.built.runs[0]); }

  void expect_unchanged(const etb_option& option, const char* with) {
    expect_first(*plain_, option, with, "an older");
    if (const auto later = context_.make_session(subject_, item_))
      expect_first(*later, option, with, "a new");
  }
  void expect_first(CaseSession& session, const etb_option& option, const char* with, const char* which) {
    const RunResult result = run(session);
    if (!has_same_result(result, first_))
      context_.fail(fmt::format("{}: after {} of one {}, {} delegate without options has another result",
                                item_.item->name, to_text(option), with, which));
  }

  CheckContext& context_;
  Subject& subject_;
  const ClaimedCase& item_;
  std::unique_ptr<CaseSession> plain_;
  RunResult first_;
};

// Every value, also those that change results as the option says.
void stays_with_its_object(CheckContext& context) {
  const auto subject = context.open();  // the validate layer sees inputs that an option lets it write
  if (!subject) return;
  const std::vector<Described> options = schema_of(context, *subject);
  if (options.empty()) return context.skip("the plugin has no options");
  constexpr int kOpensOfEach = 8;  // values of the plugin's own options
  const int items = std::max(1, context.opens(3 * kOpensOfEach) / kOpensOfEach);
  for (const ClaimedCase& item : context.claimed(*subject, static_cast<size_t>(items))) {
    Neighbours neighbours(context, *subject, item);
    if (!neighbours.exists()) return;
    for (const Described& each : options)
      for (const uint32_t scope : {ETB_OBJECT_PLUGIN, ETB_OBJECT_DELEGATE, ETB_OBJECT_RUN}) {
        if (!each.facts.has(scope) || !each.defect.empty() || each.facts.key == kLoseDevice) continue;
        std::vector<etb_option> values = ordinary_values(each.facts);
        for (const etb_option& inner : inner_values(each.facts)) values.push_back(inner);
        for (const etb_option& option : values) neighbours.use(scope, option);
        context.take_violations(*subject);
        if (!context.outcome().findings.empty()) return;
      }
  }
}

constexpr Check kChecks[] = {
    {"opt.stays-with-its-object",
     "An option of one instance, delegate or run changes no result of others, older and newer ones.",
     "ABI-OPT-02", stays_with_its_object},
    {"opt.schema-is-sound",
     "Each option is described once, as in the manifest, with a known type and scope, a valid default, and "
     "set_option if it may change.",
     "ABI-TYPE-03", schema_is_sound},
    {"opt.values-at-each-scope",
     "Each function accepts the options of its scope at their defaults and bounds, and rejects all others.",
     "ABI-OPT-01", values_at_each_scope},
    {"opt.living-objects",
     "Options of living objects read as set, change when the schema allows it, and survive rejected changes.",
     "ABI-OPT-02", living_objects},
    {"opt.created-with", "An option that create received is read from its delegate.", "ABI-OPT-02",
     created_with},
};

}  // namespace

std::span<const Check> option_life_checks() { return kChecks; }

}  // namespace etb::conformance
