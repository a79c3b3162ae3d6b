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
  const auto put = [this](EValue value) -> Status {
    pointers_.push_back(keep(value));
    return {};
  };
  const auto unsupported = [&]() -> Status {
    return make_error(Code::NOT_SUPPORTED, "argument '" + std::string(argument.name()) + "' of kind " +
                                               std::to_string(argument.kind()));
  };
  return argument.visit(graph::Overloaded{
      [&](graph::arg::None) { return put(EValue()); },
      [&](graph::arg::Value used) -> Status {
        EValue* const value = find(used.index);
        if (value == nullptr) return unsupported();
        pointers_.push_back(value);
        return {};
      },
      [&](const graph::arg::Values& ids) -> Status {
        std::vector<EValue*>& items = lists_.emplace_back();
        for (const uint32_t id : ids) {
          items.push_back(id == graph::kNone ? keep(EValue()) : find(id));
          if (items.back() == nullptr) return unsupported();
        }
        return put(type.has_optional_items ? EValue::optional_tensor_list(items)
                                           : EValue::tensor_list(items));
      },
      [&](int64_t value) {
        if (type.is_list) return add_ints({value});
        return put(type.base == ops::BaseType::kFloat ? EValue(static_cast<double>(value)) : EValue(value));
      },
      [&](double value) { return put(EValue(value)); }, [&](bool value) { return put(EValue(value)); },
      [&](std::string_view text) { return put(EValue(std::string_view(texts_.emplace_back(text)))); },
      [&](graph::arg::Dtype dtype) { return put(EValue(widened_dtype(dtype.code))); },
      [&](graph::arg::Layout layout) { return put(EValue(layout.code)); },
      [&](graph::arg::MemoryFormat format) { return put(EValue(format.code)); },
      [&](const graph::arg::Ints& ints) {
        return add_ints({ints.begin(), ints.end()});
      },
      [&](const graph::arg::Floats& floats) {
        return put(EValue::double_list(doubles_.emplace_back(floats.begin(), floats.end())));
      },
      [&](const graph::arg::Bools& bools) {
        return put(EValue::bool_list(bools_.emplace_back(bools.begin(), bools.end())));
      },
      [&](const auto&) { return unsupported(); }});
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
