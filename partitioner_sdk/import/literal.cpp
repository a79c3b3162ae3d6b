// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/literal.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "partitioner_sdk/import/tensor_meta.hpp"

namespace etb::pt2 {

namespace {

using ir::Argument;
using ir::Dim;

// Returns nullopt if the JSON value has another kind.
std::optional<Dim> read_int(Json json) {
  const auto value = json.as_int();
  return value ? std::optional(Dim(*value)) : std::nullopt;
}
std::optional<double> read_float(Json json) { return json.as_float(); }
std::optional<bool> read_bool(Json json) { return json.as_bool(); }
std::optional<ir::Complex> read_complex(Json json) {
  const auto real = json["real"].as_float(), imaginary = json["imag"].as_float();
  return real && imaginary ? std::optional(ir::Complex{*real, *imaginary}) : std::nullopt;
}
std::optional<std::string> read_string(Json json) {
  const auto text = json.as_string();
  return text ? std::optional(std::string(*text)) : std::nullopt;
}

tl::unexpected<Error> malformed(Json json) {
  return make_error(Code::NOT_SUPPORTED,
                    "the content of an argument of kind '" + std::string(json.key()) + "' is malformed");
}

tl::unexpected<Error> wrong_item(Json list) {
  return make_error(Code::INVALID_DATA, "an item of '" + std::string(list.key()) + "' has the wrong kind");
}

template <auto kRead>
Result<Argument> read_one(Json json) {
  auto value = kRead(json);
  if (!value) return malformed(json);
  return Argument(*std::move(value));
}

template <class List, auto kRead>
Result<Argument> read_list(Json json) {
  List items;
  for (const Json item : json) {
    auto value = kRead(item);
    if (!value) return wrong_item(json);
    items.push_back(*std::move(value));
  }
  return Argument(std::move(items));
}

Result<Argument> read_strings(Json json) {
  ir::StringList list;
  for (const Json item : json) {
    auto text = read_string(item);
    if (!text) return wrong_item(json);
    list.items.push_back(*std::move(text));
  }
  return Argument(std::move(list));
}

Result<Argument> read_dtype(Json json) {
  const int64_t code = json.as_int().value_or(-1);
  if (const auto dtype = find_dtype(code)) return Argument(*dtype);
  return make_error(Code::NOT_SUPPORTED, "unknown dtype number " + std::to_string(code));
}

Result<Argument> read_layout(Json json) {
  const int64_t code = json.as_int().value_or(-1);
  if (code == kStridedLayout) return Argument(ir::Layout::kStrided);
  return make_error(Code::NOT_SUPPORTED, "unknown layout number " + std::to_string(code));
}

Result<Argument> read_memory_format(Json json) {
  if (const auto format = find_memory_format(json.as_int().value_or(-1))) return Argument(*format);
  return malformed(json);
}

Result<Argument> read_device(Json json) {
  return Argument(ir::Device{std::string(json["type"].as_string().value_or("cpu"))});
}

struct LiteralKind {
  std::string_view name;
  LiteralReader read;
};

constexpr LiteralKind kLiteralKinds[] = {
    {"as_none", [](Json) { return Result<Argument>(ir::Nothing{}); }},
    {"as_int", read_one<read_int>},
    {"as_float", read_one<read_float>},
    {"as_bool", read_one<read_bool>},
    {"as_complex", read_one<read_complex>},
    {"as_string", read_one<read_string>},
    {"as_operator", read_one<read_string>},
    {"as_ints", read_list<ir::Dims, read_int>},
    {"as_floats", read_list<ir::FloatList, read_float>},
    {"as_bools", read_list<ir::BoolList, read_bool>},
    {"as_strings", read_strings},
    {"as_scalar_type", read_dtype},
    {"as_layout", read_layout},
    {"as_memory_format", read_memory_format},
    {"as_device", read_device},
};

}  // namespace

LiteralReader find_literal_reader(std::string_view kind) {
  const auto found = std::find_if(std::begin(kLiteralKinds), std::end(kLiteralKinds),
                                  [&](const LiteralKind& row) { return row.name == kind; });
  return found == std::end(kLiteralKinds) ? nullptr : found->read;
}

}  // namespace etb::pt2
