// SPDX-License-Identifier: Apache-2.0
// Emits arguments: literals, each value once, lists of tensors and numbers.
#include "partitioner_sdk/emit/method_emitter.hpp"

namespace etb::emit {

namespace {

template <class T>
void append_bytes(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}
template <class T>
void append_items(std::string& out, const std::vector<T>& items) {
  for (const T& item : items) append_bytes(out, item);
}

// Encodes a literal: equal texts mean equal values of one kind.
struct LiteralKey {
  std::string& out;
  void operator()(std::monostate) const {}
  void operator()(int64_t value) const { append_bytes(out, value); }
  void operator()(bool value) const { append_bytes(out, value); }
  void operator()(double value) const { append_bytes(out, value); }
  void operator()(const std::string& value) const { out += value; }
  void operator()(const format::IntListSpec& list) const { append_items(out, list.items); }
  void operator()(const format::DoubleListSpec& list) const { append_items(out, list.items); }
  void operator()(const format::BoolListSpec& list) const { append_items(out, list.items); }
  template <class T>
  void operator()(const T&) const {}  // tensors are no literals
};

}  // namespace

MethodEmitter::ValueIndex MethodEmitter::literal(format::ValueSpec value) {
  std::string key(1, static_cast<char>(value.index()));
  std::visit(LiteralKey{key}, value);
  const auto [found, is_new] = literals_.try_emplace(std::move(key), 0);
  if (is_new) found->second = add_value(std::move(value));
  return found->second;
}

MethodEmitter::ValueIndex MethodEmitter::tensor_list(const Frame& frame, const ir::ValueList& list,
                                                     bool is_optional) {
  std::vector<int32_t> items;
  for (const ir::ValueId id : list.ids) {
    items.push_back(id == ir::kNoValue ? -1 : frame.indices[id]);
    if (id != ir::kNoValue) use(items.back());
  }
  if (is_optional) return add_value(format::OptionalTensorListSpec{std::move(items)});
  return add_value(format::TensorListSpec{std::move(items)});
}

MethodEmitter::ValueIndex MethodEmitter::argument(const Frame& frame, const ir::Argument& item,
                                                  const ops::Type* type) {
  const bool wants_float = type != nullptr && type->base == ops::BaseType::kFloat;
  if (const auto* ref = ir::get_if<ir::ValueRef>(item)) return frame.indices[ref->id];
  if (const auto* list = ir::get_if<ir::ValueList>(item)) {
    return tensor_list(frame, *list, type != nullptr && type->has_optional_items);
  }
  if (const auto* dim = ir::get_if<ir::Dim>(item)) {
    if (wants_float && dim->is_static()) return literal(static_cast<double>(dim->value()));
    return number(*dim);
  }
  if (const auto* value = ir::get_if<double>(item)) return literal(*value);
  if (const auto* value = ir::get_if<bool>(item)) return literal(*value);
  if (const auto* value = ir::get_if<std::string>(item)) return literal(*value);
  if (const auto* dtype = ir::get_if<ir::Dtype>(item)) return literal(static_cast<int64_t>(*dtype));
  if (const auto* format = ir::get_if<ir::MemoryFormat>(item)) return literal(static_cast<int64_t>(*format));
  if (ir::get_if<ir::Layout>(item) != nullptr) return literal(int64_t{0});
  if (const auto* dims = ir::get_if<ir::Dims>(item)) {
    format::IntListSpec ints;
    if (wants_float) {
      format::DoubleListSpec floats;
      for (const ir::Dim dim : *dims) floats.items.push_back(static_cast<double>(dim.value()));
      return literal(std::move(floats));
    }
    for (const ir::Dim dim : *dims) {
      ints.items.push_back(number(dim));
      use(static_cast<ValueIndex>(ints.items.back()));
    }
    return literal(std::move(ints));
  }
  if (const auto* floats = ir::get_if<ir::FloatList>(item)) return literal(format::DoubleListSpec{*floats});
  if (const auto* bools = ir::get_if<ir::BoolList>(item)) {
    return literal(format::BoolListSpec{std::vector<uint8_t>(bools->begin(), bools->end())});
  }
  return literal(std::monostate{});  // none, or a device, which the runtime knows itself
}

}  // namespace etb::emit
