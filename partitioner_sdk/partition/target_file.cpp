// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/target_file.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "api/format/hex.hpp"

namespace etb::partition {

namespace {

using nlohmann::json;

constexpr size_t kMaxTextBytes = size_t{1} << 20;
constexpr size_t kMaxItems = 4096;  // attributes, or items of one list

tl::unexpected<Error> fail(const std::string& where, const std::string& found, const char* expected) {
  return make_error(Code::INVALID_DATA,
                    "target file: " + where + ": found " + found + ", expected " + expected);
}

std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

// Returns a text without NUL.
Result<std::string> text_of(const json& value, const std::string& where) {
  if (!value.is_string()) return fail(where, shown(value), "a text");
  std::string text = value.get<std::string>();
  if (text.find('\0') != std::string::npos) return fail(where, "a text with a NUL", "a text without one");
  return text;
}

}  // namespace

class TargetFile::Parser {
 public:
  explicit Parser(TargetFile& out) : out_(out) {}

  Status parse(std::string_view text) {
    if (text.size() > kMaxTextBytes)
      return fail("its size", std::to_string(text.size()) + " bytes", "at most 1 MiB");
    json file;
    try {
      file = json::parse(text);
    } catch (const json::parse_error& error) {
      return make_error(Code::INVALID_DATA, std::string("target file: ") + error.what());
    }
    if (!file.is_object()) return fail("the file", shown(file), "an object");
    if (const auto version = file.find("target_version"); version == file.end() || *version != 1)
      return fail("target_version", version == file.end() ? "none" : shown(*version), "1");
    for (const auto& [key, value] : file.items()) ETB_TRY(member(key, value));
    out_.target_.struct_size = ETB_INIT_SIZE(etb_target);
    out_.target_.kind = out_.kind_.c_str();
    out_.target_.name = out_.name_.c_str();
    out_.target_.attributes = out_.attributes_.data();
    out_.target_.attribute_count = out_.attributes_.size();
    return {};
  }

 private:
  Status member(const std::string& key, const json& value) {
    if (key == "target_version" || key.starts_with("x-")) return {};
    if (key == "kind") return assign(out_.kind_, value, key);
    if (key == "name") return assign(out_.name_, value, key);
    if (key == "fingerprint") return fingerprint(value);
    if (key != "attributes")
      return fail("member '" + key + "'", "it",
                  "kind, name, fingerprint, attributes, or a name that begins with x-");
    if (!value.is_object() || value.size() > kMaxItems)
      return fail(key, shown(value), "an object with at most 4096 attributes");
    for (const auto& [name, item] : value.items()) {
      ETB_ASSIGN(const etb_option attribute, option(name, item, "attribute '" + name + "'", true));
      out_.attributes_.push_back(attribute);
    }
    return {};
  }

  static Status assign(std::string& out, const json& value, const std::string& key) {
    ETB_ASSIGN(out, text_of(value, key));
    return {};
  }

  Status fingerprint(const json& value) {
    ETB_ASSIGN(const std::string text, text_of(value, "fingerprint"));
    const auto bytes = format::parse_hex<ETB_FINGERPRINT_NBYTES>(text);
    if (!bytes) return fail("fingerprint", shown(value), "64 lower-case hexadecimal digits");
    std::copy(bytes->begin(), bytes->end(), out_.target_.fingerprint);
    return {};
  }

  const std::string& keep(std::string text) { return out_.texts_.emplace_back(std::move(text)); }

  Result<etb_option> option(const std::string& key, const json& value, const std::string& where,
                            bool may_be_list) {
    if (key.empty() && may_be_list) return fail(where, "an empty name", "a name");
    ETB_ASSIGN(const std::string name, text_of(json(key), where));
    etb_option out{};
    out.struct_size = ETB_INIT_SIZE(etb_option);
    out.key = keep(name).c_str();
    if (value.is_boolean()) {
      out.type = ETB_OPTION_BOOL;
      out.i64 = value.get<bool>() ? 1 : 0;
    } else if (value.is_number_integer() && !is_too_large(value)) {
      out.type = ETB_OPTION_I64;
      out.i64 = value.get<int64_t>();
    } else if (value.is_number_float()) {
      out.type = ETB_OPTION_F64;
      out.f64 = value.get<double>();
    } else if (value.is_string()) {
      ETB_ASSIGN(std::string text, text_of(value, where));
      out.type = ETB_OPTION_TEXT;
      out.text = keep(std::move(text)).c_str();
    } else if (value.is_object()) {
      ETB_TRY(bytes(value, where, out));
    } else if (value.is_array() && may_be_list && value.size() <= kMaxItems) {
      ETB_TRY(list(value, where, out));
    } else {
      return fail(where, shown(value),
                  "true, false, a number of 64 bits, a text, {\"hex\": ...}, or a list of these");
    }
    return out;
  }

  static bool is_too_large(const json& value) {
    return value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  }

  Status bytes(const json& value, const std::string& where, etb_option& out) {
    const auto hex = value.find("hex");
    if (value.size() != 1 || hex == value.end())
      return fail(where, shown(value), "an object with only 'hex'");
    ETB_ASSIGN(const std::string digits, text_of(*hex, where));
    if (digits.size() % 2 != 0) return fail(where, shown(value), "an even number of digits");
    std::string raw;
    for (size_t i = 0; i < digits.size(); i += 2) {
      const auto byte = format::parse_hex<1>(std::string_view(digits).substr(i, 2));
      if (!byte) return fail(where, shown(value), "lower-case hexadecimal digits");
      raw += static_cast<char>((*byte)[0]);
    }
    out.type = ETB_OPTION_BYTES;
    const std::string& kept = keep(std::move(raw));
    out.bytes = {kept.data(), kept.size()};
    return {};
  }

  Status list(const json& value, const std::string& where, etb_option& out) {
    std::vector<etb_option>& items = out_.items_.emplace_back();
    for (const json& item : value) {
      ETB_ASSIGN(const etb_option made, option("", item, where, false));
      items.push_back(made);
    }
    out.type = ETB_OPTION_LIST;
    out.items = items.data();
    out.item_count = static_cast<uint32_t>(items.size());
    return {};
  }

  TargetFile& out_;
};

Result<std::shared_ptr<const TargetFile>> TargetFile::parse(std::string_view text) {
  const std::shared_ptr<TargetFile> out(new TargetFile);
  ETB_TRY(Parser(*out).parse(text));
  return out;
}

}  // namespace etb::partition
