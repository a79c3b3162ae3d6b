// SPDX-License-Identifier: Apache-2.0
#include "host/portable_backend/argument_values.hpp"

#include <charconv>

namespace etb::host {
namespace {

bool is_number(ops::BaseType base) {
  return base == ops::BaseType::kScalar || base == ops::BaseType::kInt || base == ops::BaseType::kFloat ||
         base == ops::BaseType::kBool;
}

std::vector<int64_t> parse_ints(std::string_view text) {
  std::vector<int64_t> out;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at != end) {
    int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error == std::errc()) {
      out.push_back(value);
      at = next;
    } else {
      ++at;
    }
  }
  return out;
}

}  // namespace

EValue* ArgumentValues::keep(EValue value) {
  values_.push_back(value);
  return &values_.back();
}

Status ArgumentValues::add_ints(const std::vector<int64_t>& ints) {
  std::vector<EValue*>& items = lists_.emplace_back();
  for (const int64_t item : ints) items.push_back(keep(EValue(item)));
  pointers_.push_back(keep(EValue::int_list(items)));
  return {};
}

void ArgumentValues::add_tensor_list(std::vector<EValue*> items) {
  lists_.push_back(std::move(items));
  pointers_.push_back(keep(EValue::tensor_list(lists_.back())));
}

int64_t ArgumentValues::widened_dtype(int64_t code) const {
  if (precision_ == Precision::kAsStored || !is_known(code) || !is_floating(static_cast<Dtype>(code)))
    return code;
  return static_cast<int64_t>(Dtype::FLOAT64);
}

Status ArgumentValues::add(const graph::Argument& argument, const ops::Type& type, const FindValue& find) {
  const auto unsupported = [&] {
    return make_error(Code::NOT_SUPPORTED, "argument '" + std::string(argument.name()) + "' of kind " +
                                               std::to_string(argument.kind()));
  };
  switch (argument.kind()) {
    case ETB_GRAPH_ARGUMENT_NONE:
      pointers_.push_back(keep(EValue()));
      return {};
    case ETB_GRAPH_ARGUMENT_VALUE: {
      EValue* const value = find(*argument.value());
      if (value == nullptr) return unsupported();
      pointers_.push_back(value);
      return {};
    }
    case ETB_GRAPH_ARGUMENT_VALUES: {
      std::vector<EValue*>& items = lists_.emplace_back();
      for (const uint32_t id : argument.values()) {
        items.push_back(id == graph::kNone ? keep(EValue()) : find(id));
        if (items.back() == nullptr) return unsupported();
      }
      pointers_.push_back(
          keep(type.has_optional_items ? EValue::optional_tensor_list(items) : EValue::tensor_list(items)));
      return {};
    }
    case ETB_GRAPH_ARGUMENT_INT:
      if (type.is_list) return add_ints({*argument.as_int()});
      pointers_.push_back(keep(type.base == ops::BaseType::kFloat
                                   ? EValue(static_cast<double>(*argument.as_int()))
                                   : EValue(*argument.as_int())));
      return {};
    case ETB_GRAPH_ARGUMENT_FLOAT:
      pointers_.push_back(keep(EValue(*argument.as_float())));
      return {};
    case ETB_GRAPH_ARGUMENT_BOOL:
      pointers_.push_back(keep(EValue(*argument.as_bool())));
      return {};
    case ETB_GRAPH_ARGUMENT_STRING:
      texts_.emplace_back(argument.as_string());
      pointers_.push_back(keep(EValue(std::string_view(texts_.back()))));
      return {};
    case ETB_GRAPH_ARGUMENT_DTYPE:
      pointers_.push_back(keep(EValue(widened_dtype(argument.c().as_int))));
      return {};
    case ETB_GRAPH_ARGUMENT_LAYOUT:
    case ETB_GRAPH_ARGUMENT_MEMORY_FORMAT:
      pointers_.push_back(keep(EValue(argument.c().as_int)));
      return {};
    case ETB_GRAPH_ARGUMENT_INTS: {
      std::vector<int64_t> ints;
      for (const int64_t item : argument.ints()) ints.push_back(item);
      return add_ints(ints);
    }
    case ETB_GRAPH_ARGUMENT_FLOATS: {
      std::vector<double>& items = doubles_.emplace_back();
      for (const double item : argument.floats()) items.push_back(item);
      pointers_.push_back(keep(EValue::double_list(items)));
      return {};
    }
    case ETB_GRAPH_ARGUMENT_BOOLS: {
      std::vector<uint8_t>& items = bools_.emplace_back();
      for (const int64_t item : argument.ints()) items.push_back(item != 0);
      pointers_.push_back(keep(EValue::bool_list(items)));
      return {};
    }
    default:
      return unsupported();
  }
}

Status ArgumentValues::add_default(std::string_view text, const ops::Type& type) {
  if (text.empty() || text == "none" || type.base == ops::BaseType::kDevice ||
      type.base == ops::BaseType::kLayout || type.base == ops::BaseType::kGenerator) {
    pointers_.push_back(keep(EValue()));
    return {};
  }
  if (text.front() == '[' || type.is_list) return add_ints(parse_ints(text));
  if (text.front() == '"') {
    pointers_.push_back(keep(EValue(text.substr(1, text.size() - 2))));
    return {};
  }
  if (text == "true" || text == "false") {
    pointers_.push_back(keep(EValue(text == "true")));
    return {};
  }
  if (type.base == ops::BaseType::kMemoryFormat) {
    pointers_.push_back(keep(EValue(int64_t{text == "contiguous" ? 0 : 1})));
    return {};
  }
  if (!is_number(type.base))
    return make_error(Code::NOT_SUPPORTED,
                      "default '" + std::string(text) + "' of a type that no kernel takes");
  const bool is_real =
      type.base == ops::BaseType::kFloat || text.find_first_of(".e") != std::string_view::npos;
  if (is_real)
    pointers_.push_back(keep(EValue(std::strtod(std::string(text).c_str(), nullptr))));
  else
    pointers_.push_back(keep(EValue(parse_ints(text).at(0))));
  return {};
}

}  // namespace etb::host
