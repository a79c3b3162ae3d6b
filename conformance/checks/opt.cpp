// opt: options.
#include <fmt/format.h>

#include <optional>

#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

etb_option make_option(const char* key, etb_option_type type) {
  etb_option option{};
  option.struct_size = ETB_INIT_SIZE(etb_option);
  option.key = key;
  option.type = type;
  option.text = type == ETB_OPTION_TEXT ? "text" : nullptr;
  return option;
}

bool opens_with(CheckContext& context, const etb_option& option, std::string& out_error) {
  const Result<std::unique_ptr<Subject>> subject = Subject::open(context.spec(), {.init_options = {option}});
  if (!subject) out_error = subject.error().message;
  return subject.has_value();
}

void unknown_key(CheckContext& context) {
  std::string error;
  if (opens_with(context, make_option("no-plugin-has-this-option", ETB_OPTION_I64), error))
    context.fail("init took an option that nobody knows");
  if (!opens_with(context, make_option("x-vendor-hint", ETB_OPTION_I64), error))
    context.fail("init refused an option that starts with x-: " + error);
}

void unknown_key_of_a_run(CheckContext& context) {
  context.each_session({}, 1, [&](Ready& ready) {
    if (ready.run({.options = {make_option("no-plugin-has-this-option", ETB_OPTION_I64)}}).status == ETB_OK)
      context.fail("execute took an option that nobody knows");
    if (const RunResult result = ready.run({.options = {make_option("x-vendor-hint", ETB_OPTION_I64)}});
        result.status != ETB_OK)
      context.fail(std::string("execute refused an option that starts with x-: ") + result.error.text);
    if (const RunResult result = ready.run(); result.status != ETB_OK)
      context.fail("after a refused option the context does not run");
  });
}

struct Schema {
  std::string key;
  etb_option_type type;
  uint32_t scopes;
  bool has_default;
  double minimum, maximum;
};

std::vector<Schema> schemas_of(Subject& subject, CheckContext& context) {
  std::vector<Schema> out;
  const Status read = subject.context().each_option([&](const etb_option_schema& schema) {
    out.push_back({schema.key, schema.type, schema.scopes, schema.default_value != nullptr, schema.minimum,
                   schema.maximum});
    if (schema.doc == nullptr || *schema.doc == '\0')
      context.fail(fmt::format("option '{}' has no sentence about itself", schema.key));
    if (schema.default_value != nullptr && schema.default_value->type != schema.type)
      context.fail(fmt::format("the default of '{}' has another type than the option", schema.key));
  });
  if (!read && read.error().code != Code::NOT_IMPLEMENTED)
    context.fail("option_schema: " + read.error().message);
  return out;
}

void schema_is_kept(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  const std::vector<Schema> schemas = schemas_of(*subject, context);
  if (schemas.empty()) return context.skip("no options");
  std::string error;
  for (const Schema& schema : schemas) {
    if ((schema.scopes & ETB_OBJECT_PLUGIN) == 0) continue;
    const etb_option_type other = schema.type == ETB_OPTION_TEXT ? ETB_OPTION_I64 : ETB_OPTION_TEXT;
    if (opens_with(context, make_option(schema.key.c_str(), other), error))
      context.fail(fmt::format("option '{}' was taken with another type than the schema says", schema.key));
    if (!(schema.minimum < schema.maximum) || schema.maximum > 1e18) continue;
    etb_option above = make_option(schema.key.c_str(), schema.type);
    above.f64 = schema.maximum + 1;
    above.i64 = static_cast<int64_t>(schema.maximum) + 1;
    if (opens_with(context, above, error))
      context.fail(fmt::format("option '{}' was taken above its maximum", schema.key));
  }
  context.take_violations(*subject);
}

void ends_of_a_range(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  std::string error;
  size_t count = 0;
  for (const Schema& schema : schemas_of(*subject, context)) {
    if ((schema.scopes & ETB_OBJECT_PLUGIN) == 0 || !schema.has_default) continue;
    ++count;
    for (const bool is_least : {true, false}) {
      const bool has_range =
          schema.minimum < schema.maximum && schema.maximum < 1e18 && schema.minimum > -1e18;
      if (!has_range) continue;
      etb_option option = make_option(schema.key.c_str(), schema.type);
      option.f64 = is_least ? schema.minimum : schema.maximum;
      option.i64 = static_cast<int64_t>(option.f64);
      if (!opens_with(context, option, error))
        context.fail(fmt::format("option '{}' is refused at its {}: {}", schema.key,
                                 is_least ? "minimum" : "maximum", error));
    }
  }
  if (count == 0) context.skip("no options of the plugin with a default");
}

// Reads an option of the plugin back; nothing when it does not say.
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

void what_is_set_is_read_back(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  size_t count = 0;
  for (const Schema& schema : schemas_of(*subject, context)) {
    const bool has_range = schema.minimum < schema.maximum && schema.maximum < 1e18 && schema.minimum > -1e18;
    if ((schema.scopes & ETB_OBJECT_PLUGIN) == 0 || schema.type != ETB_OPTION_I64 || !has_range) continue;
    if (!read_back(*subject, schema.key)) continue;
    ++count;
    for (const double end : {schema.minimum, schema.maximum}) {
      etb_option option = make_option(schema.key.c_str(), schema.type);
      option.i64 = static_cast<int64_t>(end);
      const auto set = Subject::open(context.spec(), {.is_validated = false, .init_options = {option}});
      if (!set) continue;  // opt.ends-of-a-range-are-taken says so
      if (const std::optional<int64_t> value = read_back(**set, schema.key); value != option.i64)
        context.fail(fmt::format("option '{}' was set to {} and reads {}", schema.key, option.i64,
                                 value ? std::to_string(*value) : "nothing"));
    }
  }
  if (count == 0) context.skip("no number that can be read back");
}

void refused_leaves_the_old_value(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  size_t count = 0;
  for (const Schema& schema : schemas_of(*subject, context)) {
    const bool has_range = schema.minimum < schema.maximum && schema.maximum < 1e18;
    if ((schema.scopes & ETB_OBJECT_PLUGIN) == 0 || schema.type != ETB_OPTION_I64 || !has_range) continue;
    const std::optional<int64_t> before = read_back(*subject, schema.key);
    if (!before) continue;
    ++count;
    etb_option above = make_option(schema.key.c_str(), schema.type);
    above.i64 = static_cast<int64_t>(schema.maximum) + 1;
    etb_error error = ETB_ERROR_INIT;
    if (subject->table().set_option(subject->handle(), ETB_OBJECT_PLUGIN, subject->handle(), &above,
                                    &error) == ETB_OK)
      context.fail(fmt::format("option '{}' was set above its maximum", schema.key));
    if (read_back(*subject, schema.key) != before)
      context.fail(fmt::format("option '{}' has another value after a refused change", schema.key));
  }
  if (count == 0) context.skip("no number that can be read back");
}

constexpr Check kChecks[] = {
    {"opt.unknown-key-is-refused",
     "Init refuses an unknown option, and ignores unknown ones that start with x-.", "ABI-OPT-01",
     unknown_key},
    {"opt.unknown-key-of-a-run-is-refused", "So does execute, and goes on.", "ABI-OPT-01",
     unknown_key_of_a_run},
    {"opt.schema-is-kept", "Options are described, and types and ranges are those of the description.",
     "ABI-OPT-02", schema_is_kept},
    {"opt.ends-of-a-range-are-taken",
     "An option is taken at both ends of the range that its description gives.", "", ends_of_a_range},
    {"opt.what-is-set-is-read-back", "What an option was set to is what it reads.", "",
     what_is_set_is_read_back},
    {"opt.refused-leaves-the-old-value", "A refused change of an option leaves its value.", "ABI-OPT-02",
     refused_leaves_the_old_value},
};

}  // namespace

std::span<const Check> opt_checks() { return kChecks; }

}  // namespace etb::conformance
