// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/ir/module.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace etb::ir {

uint64_t Constant::numel() const {
  uint64_t total = 1;
  for (const int64_t size : sizes) total *= static_cast<uint64_t>(size);
  return total;
}

bool Constant::is_contiguous() const {
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] != 1 && strides[i] != step) return false;
    step *= sizes[i];
  }
  return true;
}

std::span<const std::byte> Constant::bytes() const {
  const size_t item = ops::element_nbytes(dtype);
  const uint64_t nbytes = numel() * item;
  return nbytes == 0 ? std::span<const std::byte>{}
                     : storage.subspan(static_cast<size_t>(offset) * item, nbytes);
}

const ops::Schema* Module::find_schema(std::string_view op_name) const {
  if (const ops::Schema* known = ops::find_schema(op_name)) return known;
  return custom_ops == nullptr ? nullptr : custom_ops->find(op_name);
}

OpId Module::op(std::string_view op_name) {
  if (const auto found = find_op(op_name)) return *found;
  Op& made = ops_.emplace_back();
  made.name = op_name;
  made.schema = find_schema(op_name);
  if (made.schema != nullptr) {
    for (uint32_t i = 0; i < made.schema->argument_count(); ++i) {
      made.defaults.push_back(parse_default(made.schema->argument(i)));
    }
  }
  const auto id = static_cast<OpId>(ops_.size() - 1);
  op_ids_.emplace(made.name, id);
  return id;
}

std::optional<OpId> Module::find_op(std::string_view op_name) const {
  const auto found = op_ids_.find(op_name);
  if (found == op_ids_.end()) return std::nullopt;
  return found->second;
}

uint32_t Module::add_source(Source source) {
  const auto [found, is_new] = source_ids_.emplace(source, static_cast<uint32_t>(sources.size()));
  if (is_new) sources.push_back(std::move(source));
  return found->second;
}

uint32_t Module::add_constant(std::string constant_name, Dtype dtype, std::vector<int64_t> sizes,
                              std::vector<std::byte> data) {
  auto owned = std::make_shared<const std::vector<std::byte>>(std::move(data));
  const std::span<const std::byte> bytes = *owned;
  return add_constant(std::move(constant_name), dtype, std::move(sizes), OwnedBytes{bytes, std::move(owned)});
}

uint32_t Module::add_constant(std::string constant_name, Dtype dtype, std::vector<int64_t> sizes,
                              OwnedBytes data) {
  Constant constant;
  constant.name = std::move(constant_name);
  constant.dtype = dtype;
  constant.strides.assign(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) {
    constant.strides[i - 1] = constant.strides[i] * (sizes[i] == 0 ? 1 : sizes[i]);
  }
  constant.sizes = std::move(sizes);
  constant.storage = data.bytes;
  constant.owner = std::move(data.owner);
  constants.push_back(std::move(constant));
  return static_cast<uint32_t>(constants.size() - 1);
}

namespace {

std::vector<std::string> split_items(std::string_view text) {
  std::vector<std::string> items;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(", "), text.size());
    items.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 2, text.size()));
  }
  return items;
}

}  // namespace

Argument parse_default(const ops::Argument& argument) {
  const std::string text(argument.default_text);
  if (!argument.has_default || text == "none") return Nothing{};
  if (text == "true" || text == "false") return text == "true";
  if (text.front() == '"') return text.substr(1, text.size() - 2);
  if (argument.type.base == ops::BaseType::kMemoryFormat) {
    return text == "channels_last" ? MemoryFormat::kChannelsLast
           : text == "preserve"    ? MemoryFormat::kPreserve
                                   : MemoryFormat::kContiguous;
  }
  if (argument.type.base == ops::BaseType::kDtype) {
    const auto dtype = ops::find_dtype(text);
    return dtype ? Argument(*dtype) : Argument(Nothing{});
  }
  if (text.front() != '[') {
    if (text.find_first_of(".en") == std::string::npos) return Dim(std::strtoll(text.c_str(), nullptr, 10));
    return std::strtod(text.c_str(), nullptr);
  }
  const auto items = split_items(text);
  switch (argument.type.base) {
    case ops::BaseType::kTensor:
      return ValueList{};
    case ops::BaseType::kFloat: {
      FloatList list;
      for (const std::string& item : items) list.push_back(std::strtod(item.c_str(), nullptr));
      return list;
    }
    case ops::BaseType::kBool: {
      BoolList list;
      for (const std::string& item : items) list.push_back(item == "true");
      return list;
    }
    default: {
      Dims list;
      for (const std::string& item : items) list.emplace_back(std::strtoll(item.c_str(), nullptr, 10));
      return list;
    }
  }
}

std::string_view kind_name(const Argument& argument) {
  constexpr std::string_view kNames[] = {
      "none",           "value",         "list of values",  "int",           "float",         "bool",
      "string",         "dtype",         "layout",          "memory format", "device",        "list of ints",
      "list of floats", "list of bools", "list of strings", "graph",         "complex number"};
  static_assert(std::size(kNames) == std::variant_size_v<Argument>);
  return kNames[argument.index()];
}

std::string format_source(const Module& module, uint32_t source) {
  if (source == kNone) return {};
  const Source& at = module.sources[source];
  std::string text = at.file.empty() ? std::string() : at.file + ":" + std::to_string(at.line);
  if (!at.function.empty()) text += " in " + at.function;
  if (!at.module_path.empty()) text += (text.empty() ? "" : ", ") + ("module " + at.module_path);
  return text;
}

}  // namespace etb::ir
