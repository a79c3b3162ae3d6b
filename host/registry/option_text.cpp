// SPDX-License-Identifier: Apache-2.0
#include "host/registry/option_text.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "host/registry/plugin_entry.hpp"

namespace etb::host {
namespace {

struct TypeName {
  const char* text;
  etb_option_type type;
};
constexpr TypeName kTypes[] = {{"bool", ETB_OPTION_BOOL},   {"i64", ETB_OPTION_I64},
                               {"f64", ETB_OPTION_F64},     {"text", ETB_OPTION_TEXT},
                               {"bytes", ETB_OPTION_BYTES}, {"list", ETB_OPTION_LIST}};

const char* name_of(etb_option_type type) {
  const auto* const found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                         [&](const TypeName& row) { return row.type == type; });
  return found == std::end(kTypes) ? "unknown" : found->text;
}

template <class Number>
bool read_number(const std::string& text, Number& out) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  return failed == std::errc() && end == text.data() + text.size();
}

// The type that a text looks like: true, 4, 4.0, anything else.
etb_option_type type_by_form(const std::string& text) {
  int64_t integer = 0;
  double real = 0;
  if (text == "true" || text == "false") return ETB_OPTION_BOOL;
  if (read_number(text, integer)) return ETB_OPTION_I64;
  return read_number(text, real) ? ETB_OPTION_F64 : ETB_OPTION_TEXT;
}

// NULL if the manifest lists no such option.
const OptionEntry* find_entry(const Manifest& manifest, const std::string& key) {
  const auto found = std::find_if(manifest.options.begin(), manifest.options.end(),
                                  [&](const OptionEntry& entry) { return entry.key == key; });
  return found == manifest.options.end() ? nullptr : &*found;
}

}  // namespace

Result<etb_option> read_option(const std::string& key, etb_option_type type, const std::string& text) {
  etb_option option{};
  option.struct_size = ETB_INIT_SIZE(etb_option);
  option.key = key.c_str();
  option.type = type;
  bool is_read = false;
  if (type == ETB_OPTION_BOOL) {
    option.i64 = text == "true" || text == "1" ? 1 : 0;
    is_read = option.i64 != 0 || text == "false" || text == "0";
  } else if (type == ETB_OPTION_I64) {
    is_read = read_number(text, option.i64);
  } else if (type == ETB_OPTION_F64) {
    is_read = read_number(text, option.f64);
  } else if (type == ETB_OPTION_TEXT) {
    option.text = text.c_str();
    is_read = true;
  }
  if (is_read) return option;
  return make_error(Code::INVALID_ARGUMENT,
                    "option '" + key + "': found '" + text + "', expected a value of type " + name_of(type));
}

Result<std::vector<etb_option>> read_init_options(const PluginEntry& entry, const OptionTexts& texts) {
  std::vector<etb_option> options;
  for (const auto& [key, text] : texts) {
    etb_option_type type = type_by_form(text);
    if (entry.static_query == nullptr && entry.manifest) {
      const OptionEntry* const known = find_entry(*entry.manifest, key);
      if (known == nullptr)
        return make_error(Code::INVALID_ARGUMENT,
                          "option '" + key + "': the manifest of '" + entry.id + "' has no such option");
      const auto* const row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                           [&](const TypeName& name) { return known->type == name.text; });
      if (row != std::end(kTypes)) type = row->type;
    }
    ETB_ASSIGN(const etb_option option, read_option(key, type, text));
    options.push_back(option);
  }
  return options;
}

}  // namespace etb::host
