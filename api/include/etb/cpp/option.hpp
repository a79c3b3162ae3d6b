// SPDX-License-Identifier: Apache-2.0
//
// Options and compile specs in C++: look up the values that the other side passed, and describe the options
// of this side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "etb/cpp/guard.hpp"
#include "etb/option.h"

namespace etb {

// "bool", "i64", ...: the words that manifests use.
constexpr const char* option_type_text(etb_option_type type) noexcept {
  constexpr const char* kTexts[] = {"no type", "bool", "i64", "f64", "text", "bytes", "list"};
  return type <= ETB_OPTION_LIST ? kTexts[type] : "unknown type";
}

// Description of one option. One row serves the schema, the check of values from the host, and the default.
struct OptionRow {
  const char* key;
  const char* doc;  // one sentence
  etb_option_type type;
  uint32_t scopes;  // ETB_OBJECT_* bits
  int64_t default_i64 = 0;
  double default_f64 = 0;
  const char* default_text = "";
  double minimum = -std::numeric_limits<double>::infinity();  // both ends included; of I64 and F64
  double maximum = std::numeric_limits<double>::infinity();
  uint32_t mutable_when = ETB_OPTION_FIXED;
  std::span<const char* const> choices = {};  // values of a TEXT option; empty: any text

  etb_option default_option() const {
    return {ETB_INIT_SIZE(etb_option),
            0,
            key,
            type,
            0,
            default_i64,
            default_f64,
            default_text,
            {nullptr, 0},
            nullptr,
            nullptr};
  }
  etb_option_schema schema(const etb_option& default_value) const {
    return {ETB_INIT_SIZE(etb_option_schema),
            0,
            key,
            doc,
            type,
            scopes,
            mutable_when,
            static_cast<uint32_t>(choices.size()),
            &default_value,
            minimum,
            maximum,
            choices.empty() ? nullptr : choices.data(),
            nullptr};
  }
};

// Rows by type. `mutable_when`: the moment at which set_option may change the option (ETB_OPTION_*).
constexpr OptionRow bool_option(const char* key, bool value, uint32_t scopes, const char* doc,
                                uint32_t mutable_when = ETB_OPTION_FIXED) {
  OptionRow row{key, doc, ETB_OPTION_BOOL, scopes, value ? 1 : 0};
  row.mutable_when = mutable_when;
  return row;
}
constexpr OptionRow i64_option(const char* key, int64_t value, int64_t minimum, int64_t maximum,
                               uint32_t scopes, const char* doc, uint32_t mutable_when = ETB_OPTION_FIXED) {
  return {key,
          doc,
          ETB_OPTION_I64,
          scopes,
          value,
          0,
          "",
          static_cast<double>(minimum),
          static_cast<double>(maximum),
          mutable_when};
}
constexpr OptionRow f64_option(const char* key, double value, double minimum, double maximum, uint32_t scopes,
                               const char* doc, uint32_t mutable_when = ETB_OPTION_FIXED) {
  return {key, doc, ETB_OPTION_F64, scopes, 0, value, "", minimum, maximum, mutable_when};
}
constexpr OptionRow text_option(const char* key, const char* value, uint32_t scopes, const char* doc,
                                std::span<const char* const> choices = {},
                                uint32_t mutable_when = ETB_OPTION_FIXED) {
  OptionRow row{key, doc, ETB_OPTION_TEXT, scopes, 0, 0, value};
  row.choices = choices;
  row.mutable_when = mutable_when;
  return row;
}

// The options of one call. A view: valid for the call.
class Options {
 public:
  Options() = default;

  // Checks every option against `rows` for this scope. Rejects unknown keys unless they start with "x-"
  // (ABI-OPT-01).
  static Result<Options> make(const etb_option* options, uint64_t count, std::span<const OptionRow> rows,
                              uint32_t scope) {
    Options result;
    result.options_ = options;
    result.count_ = count;
    result.rows_ = rows;
    for (uint64_t i = 0; i < count; ++i) {
      const etb_option* option = ETB_AT(etb_option, options, i);
      ETB_TRY(ETB_ACCEPT(etb_option, option, items));
      ETB_TRY(verify(*option, rows, scope));
    }
    return result;
  }

  bool get_bool(std::string_view key) const { return get(key).i64 != 0; }
  int64_t get_i64(std::string_view key) const { return get(key).i64; }
  double get_f64(std::string_view key) const { return get(key).f64; }
  std::string_view get_text(std::string_view key) const { return get(key).text; }

  // Returns the option with the key, the last one when there are several; NULL when there is none.
  const etb_option* find(std::string_view key) const {
    for (uint64_t i = count_; i-- > 0;)
      if (const etb_option* option = ETB_AT(etb_option, options_, i); key == option->key) return option;
    return nullptr;
  }

 private:
  // Returns the value passed, else the row's default; zero for a key without a row.
  etb_option get(std::string_view key) const {
    if (const etb_option* option = find(key)) return copy_struct(*option);
    for (const OptionRow& row : rows_)
      if (key == row.key) return row.default_option();
    return {ETB_INIT_SIZE(etb_option), 0, "", 0, 0, 0, 0, "", {nullptr, 0}, nullptr, nullptr};
  }

  static Status verify(const etb_option& option, std::span<const OptionRow> rows, uint32_t scope) {
    if (option.key == nullptr) return make_error(Code::INVALID_ARGUMENT, "option without a key");
    const std::string_view key = option.key;
    const OptionRow* row = nullptr;
    for (const OptionRow& candidate : rows)
      if (key == candidate.key) row = &candidate;
    if (row == nullptr && key.starts_with("x-")) return {};
    const std::string where = "option '" + std::string(key) + "': ";
    if (row == nullptr) return make_error(Code::INVALID_ARGUMENT, where + "unknown key");
    if ((row->scopes & scope) == 0)
      return make_error(Code::INVALID_ARGUMENT, where + "given at scope " + std::to_string(scope) +
                                                    ", expected one of " + std::to_string(row->scopes));
    if (option.type != row->type || (option.type == ETB_OPTION_TEXT && option.text == nullptr))
      return make_error(Code::INVALID_ARGUMENT,
                        where + option_type_text(option.type) + ", expected " + option_type_text(row->type));
    if (option.type == ETB_OPTION_BOOL && option.i64 != 0 && option.i64 != 1)
      return make_error(Code::INVALID_ARGUMENT, where + std::to_string(option.i64) + ", expected 0 or 1");
    if (option.type == ETB_OPTION_TEXT && !row->choices.empty()) ETB_TRY(verify_choice(option, *row, where));
    const double value = option.type == ETB_OPTION_I64 ? static_cast<double>(option.i64) : option.f64;
    if ((option.type == ETB_OPTION_I64 || option.type == ETB_OPTION_F64) &&
        !(value >= row->minimum && value <= row->maximum))
      return make_error(
          Code::INVALID_ARGUMENT,
          where + (option.type == ETB_OPTION_I64 ? std::to_string(option.i64) : std::to_string(value)) +
              ", expected " + limit_text(*row, row->minimum) + " to " + limit_text(*row, row->maximum));
    return {};
  }

  // Bounds of an I64: without a fraction, and limited to its range.
  static std::string limit_text(const OptionRow& row, double limit) {
    using Range = std::numeric_limits<int64_t>;
    if (row.type != ETB_OPTION_I64) return std::to_string(limit);
    if (limit >= static_cast<double>(Range::max())) return std::to_string(Range::max());
    if (limit <= static_cast<double>(Range::min())) return std::to_string(Range::min());
    return std::to_string(static_cast<int64_t>(limit));
  }

  static Status verify_choice(const etb_option& option, const OptionRow& row, const std::string& where) {
    std::string expected;
    for (const char* choice : row.choices) {
      if (std::string_view(choice) == option.text) return {};
      expected += std::string(expected.empty() ? "'" : ", '") + choice + "'";
    }
    return make_error(Code::INVALID_ARGUMENT, where + "'" + option.text + "', expected one of " + expected);
  }

  const etb_option* options_ = nullptr;
  uint64_t count_ = 0;
  std::span<const OptionRow> rows_;
};

// The compile specs of one payload. A view: valid for the call.
class CompileSpecs {
 public:
  CompileSpecs() = default;
  static Result<CompileSpecs> make(const etb_compile_spec* specs, uint64_t count) {
    CompileSpecs result;
    result.specs_ = specs;
    result.count_ = count;
    for (uint64_t i = 0; i < count; ++i) {
      const etb_compile_spec* spec = ETB_AT(etb_compile_spec, specs, i);
      ETB_TRY(ETB_ACCEPT(etb_compile_spec, spec, value));
      if (spec->key == nullptr) return make_error(Code::INVALID_ARGUMENT, "compile spec without a key");
    }
    return result;
  }

  uint64_t count() const { return count_; }
  std::string_view key(uint64_t index) const { return ETB_AT(etb_compile_spec, specs_, index)->key; }
  std::span<const std::byte> value(uint64_t index) const {
    const etb_bytes& bytes = ETB_AT(etb_compile_spec, specs_, index)->value;
    return {static_cast<const std::byte*>(bytes.data), static_cast<size_t>(bytes.nbytes)};
  }
  std::optional<std::span<const std::byte>> find(std::string_view wanted) const {
    for (uint64_t i = 0; i < count_; ++i)
      if (key(i) == wanted) return value(i);
    return std::nullopt;
  }
  std::optional<std::string_view> find_text(std::string_view wanted) const {
    const auto found = find(wanted);
    if (!found) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(found->data()), found->size());
  }

 private:
  const etb_compile_spec* specs_ = nullptr;
  uint64_t count_ = 0;
};

}  // namespace etb
