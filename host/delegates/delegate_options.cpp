// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/delegate_options.hpp"

#include <cstring>
#include <limits>
#include <optional>
#include <set>

namespace etb::host {
namespace {

// The list for an option of these scopes; NULL if only the plugin itself takes it.
std::vector<etb_option>* list_of(DelegateOptions& options, uint32_t scopes) {
  if ((scopes & ETB_OBJECT_DELEGATE) != 0) return &options.delegate;
  if ((scopes & ETB_OBJECT_DEVICE) != 0) return &options.device;
  if ((scopes & ETB_OBJECT_CONTEXT) != 0) return &options.context;
  if ((scopes & ETB_OBJECT_RUN) != 0) return &options.run;
  return nullptr;
}

// A bound of an I64 without a fraction, and within its range.
std::string bound_text(etb_option_type type, double bound) {
  using Range = std::numeric_limits<int64_t>;
  if (type != ETB_OPTION_I64) return std::to_string(bound);
  if (bound >= static_cast<double>(Range::max())) return std::to_string(Range::max());
  if (bound <= static_cast<double>(Range::min())) return std::to_string(Range::min());
  return std::to_string(static_cast<int64_t>(bound));
}

// Rejects a value that the schema excludes: a run would be rejected for it.
Status check_value(const etb_option_schema& schema, const etb_option& option, const std::string& text) {
  const std::string where = "option '" + std::string(option.key) + "': ";
  if (option.type == ETB_OPTION_TEXT && schema.choice_count != 0) {
    std::string expected;
    for (uint32_t i = 0; i < schema.choice_count; ++i) {
      if (text == schema.choices[i]) return {};
      expected += std::string(expected.empty() ? "'" : ", '") + schema.choices[i] + "'";
    }
    return make_error(Code::INVALID_ARGUMENT, where + "'" + text + "', expected one of " + expected);
  }
  if (option.type != ETB_OPTION_I64 && option.type != ETB_OPTION_F64) return {};
  const double value = option.type == ETB_OPTION_I64 ? static_cast<double>(option.i64) : option.f64;
  const bool has_bounds = schema.minimum < schema.maximum;
  if (!has_bounds || (value >= schema.minimum && value <= schema.maximum)) return {};
  return make_error(Code::INVALID_ARGUMENT, where + text + ", expected " +
                                                bound_text(option.type, schema.minimum) + " to " +
                                                bound_text(option.type, schema.maximum));
}

Result<etb_option> read_value(const etb_option_schema& schema, const std::string& key,
                              const std::string& text) {
  ETB_ASSIGN(const etb_option option, read_option(key, schema.type, text));
  ETB_TRY(check_value(schema, option, text));
  return option;
}

tl::unexpected<Error> belongs_to_plugin(const std::string& key) {
  return make_error(Code::INVALID_ARGUMENT,
                    "option '" + key + "' belongs to the plugin, not to its delegates");
}

Result<OptionChange> read_change(const etb_option_schema& schema, const std::string& key,
                                 const std::string& text) {
  ETB_ASSIGN(const etb_option option, read_value(schema, key, text));
  if ((schema.scopes & ETB_OBJECT_RUN) != 0) return OptionChange{option, ETB_OBJECT_RUN};
  const bool may_change = schema.mutable_when != ETB_OPTION_FIXED;
  for (const uint32_t kind : {ETB_OBJECT_CONTEXT, ETB_OBJECT_DELEGATE})
    if (may_change && (schema.scopes & kind) != 0) return OptionChange{option, kind};
  if ((schema.scopes & (ETB_OBJECT_CONTEXT | ETB_OBJECT_DELEGATE)) != 0)
    return make_error(Code::INVALID_STATE,
                      "option '" + key +
                          "' is fixed when a delegate is made\nhint: unload the methods with this delegate, "
                          "set the option, and load them again");
  if ((schema.scopes & ETB_OBJECT_DEVICE) != 0)
    return make_error(Code::INVALID_STATE,
                      "option '" + key +
                          "' belongs to the device, which other delegates use\nhint: unload the methods with "
                          "this delegate, set the option, and load them again");
  return belongs_to_plugin(key);
}

void add_bytes(std::string& key, const void* data, uint64_t nbytes) {
  key.append(reinterpret_cast<const char*>(&nbytes), sizeof nbytes);
  if (nbytes != 0) key.append(static_cast<const char*>(data), static_cast<size_t>(nbytes));
}

void add_option(std::string& key, const etb_option& option) {
  add_bytes(key, option.key, option.key == nullptr ? 0 : std::strlen(option.key));
  add_bytes(key, &option.type, sizeof option.type);
  add_bytes(key, &option.i64, sizeof option.i64);
  add_bytes(key, &option.f64, sizeof option.f64);
  add_bytes(key, option.text, option.text == nullptr ? 0 : std::strlen(option.text));
  add_bytes(key, option.bytes.data, option.bytes.nbytes);
  add_bytes(key, &option.item_count, sizeof option.item_count);
  for (uint32_t i = 0; i < option.item_count; ++i) add_option(key, *ETB_AT(etb_option, option.items, i));
}

}  // namespace

std::string key_of(std::span<const etb_option> options) {
  std::string key;
  for (const etb_option& option : options) add_option(key, option);
  return key;
}

Result<DelegateOptions> read_delegate_options(const PluginContext& plugin, const OptionTexts& texts) {
  DelegateOptions options;
  std::set<std::string> known;
  Status failed;
  const auto add = [&](const etb_option_schema& schema) -> Status {
    const auto given = texts.find(schema.key);
    if (given == texts.end()) return {};
    known.insert(given->first);
    std::vector<etb_option>* const list = list_of(options, schema.scopes);
    if (list == nullptr) return belongs_to_plugin(given->first);
    ETB_ASSIGN(const etb_option option, read_value(schema, given->first, given->second));
    list->push_back(option);
    return {};
  };
  if (!texts.empty()) {
    ETB_TRY(plugin.each_option([&](const etb_option_schema& schema) {
      if (failed) failed = add(schema);
    }));
  }
  ETB_TRY(std::move(failed));
  for (const auto& [key, text] : texts) {
    if (!known.contains(key))
      return make_error(Code::INVALID_ARGUMENT, "option '" + key + "': the plugin's delegates have none");
  }
  return options;
}

Result<OptionChange> read_option_change(const PluginContext& plugin, const std::string& key,
                                        const std::string& text) {
  std::optional<Result<OptionChange>> found;
  std::string known;
  ETB_TRY(plugin.each_option([&](const etb_option_schema& schema) {
    known += std::string(known.empty() ? " '" : ", '") + schema.key + "'";
    if (key == schema.key) found = read_change(schema, key, text);
  }));
  if (found) return *std::move(found);
  return make_error(Code::NOT_FOUND,
                    "option '" + key + "': the plugin has" + (known.empty() ? " no option" : known));
}

void RunOptions::set(const etb_option& option) {
  const std::string key = option.key;
  size_t index = 0;
  while (index < texts_.size() && texts_[index].key != key) ++index;
  if (index == texts_.size()) {
    texts_.push_back({key, {}});
    options_.push_back(option);
  }
  Texts& texts = texts_[index];
  texts.text = option.text == nullptr ? "" : option.text;
  etb_option& kept = options_[index];
  kept = option;
  kept.key = texts.key.c_str();
  if (option.text != nullptr) kept.text = texts.text.c_str();
}

}  // namespace etb::host
