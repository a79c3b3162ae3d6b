// SPDX-License-Identifier: Apache-2.0
#include "host/services/field.hpp"

#include <fmt/format.h>

namespace etb::host {
namespace {

std::string format_list(const etb_option& option) {
  std::string text = "[";
  for (uint32_t i = 0; option.items != nullptr && i < option.item_count; ++i) {
    const etb_option& item = *ETB_AT(etb_option, option.items, i);
    if (i != 0) text += ", ";
    text +=
        item.type == ETB_OPTION_LIST ? "?" : format_value(item);  // a list must not contain a list: end here
  }
  return text + "]";
}

}  // namespace

std::string format_value(const etb_option& option) {
  switch (option.type) {
    case ETB_OPTION_BOOL:
      return option.i64 != 0 ? "true" : "false";
    case ETB_OPTION_I64:
      return fmt::format("{}", option.i64);
    case ETB_OPTION_F64:
      return fmt::format("{}", option.f64);
    case ETB_OPTION_TEXT:
      return option.text == nullptr ? "" : option.text;
    case ETB_OPTION_BYTES:
      return fmt::format("{} bytes", option.bytes.nbytes);
    case ETB_OPTION_LIST:
      return format_list(option);
    default:
      return fmt::format("value of unknown type {}", option.type);
  }
}

std::vector<Field> to_fields(const etb_option* options, uint64_t option_count) {
  std::vector<Field> fields;
  for (uint64_t i = 0; options != nullptr && i < option_count; ++i) {
    const etb_option& option = *ETB_AT(etb_option, options, i);
    fields.push_back({option.key == nullptr ? "" : option.key, format_value(option)});
  }
  return fields;
}

}  // namespace etb::host
