// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "plugins/gpu/official/constants.hpp"
#include "plugins/gpu/official/lowering.hpp"
#include "plugins/gpu/official/ops.hpp"

namespace etb::gpu {

namespace fb = vulkan_schema;

NumberKind kind_of(ElementType type) {
  switch (type) {
    case ElementType::kBool:
      return NumberKind::kBool;
    case ElementType::kUint8:
    case ElementType::kInt8:
    case ElementType::kInt32:
    case ElementType::kInt64:
      return NumberKind::kInteger;
    default:
      return NumberKind::kFloat;
  }
}

float to_float(double number) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (std::abs(number) <= kLargest || std::isnan(number)) return static_cast<float>(number);
  return number > 0 ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
}

namespace {

// The verifier of FlatBuffers does not check that items of eight bytes are aligned.
template <class T>
std::vector<T> copied(const flatbuffers::Vector<T>* items) {
  std::vector<T> out(items == nullptr ? 0 : items->size());
  if (!out.empty()) std::memcpy(out.data(), items->Data(), out.size() * sizeof(T));
  return out;
}

// The largest magnitude that results of arithmetic may have.
double largest_of(ElementType type) {
  switch (type) {
    case ElementType::kBool:
      return 1;
    case ElementType::kUint8:
      return 255;
    case ElementType::kInt8:
      return 127;
    default:
      return kExactIntegers;
  }
}

}  // namespace

bool CallContext::is_null(uint32_t at) const { return value(at).content_type() == fb::Content::Nothing; }

Result<double> CallContext::number(uint32_t at) const {
  if (const fb::Integer* integer = value(at).content_as_Integer())
    return static_cast<double>(integer->value());
  if (const fb::Number* number = value(at).content_as_Number()) return number->value();
  if (const fb::Truth* truth = value(at).content_as_Truth()) return truth->value() ? 1.0 : 0.0;
  return unsupported(where(at), ": value ", id(at), ", expected a number known at load");
}

Result<int64_t> CallContext::integer(uint32_t at) const {
  if (const fb::Integer* integer = value(at).content_as_Integer()) return integer->value();
  ETB_ASSIGN(const double wide, number(at));
  if (!(std::abs(wide) < 0x1p53) || wide != std::trunc(wide))
    return bad(where(at), ": ", wide, ", expected an integer");
  return static_cast<int64_t>(wide);
}

Result<bool> CallContext::flag(uint32_t at) const {
  ETB_ASSIGN(const double wide, number(at));
  return wide != 0;
}

Result<std::vector<int64_t>> CallContext::integers(uint32_t at) const {
  constexpr uint32_t kMost = 64;
  std::vector<int64_t> out;
  if (is_null(at)) return out;
  const auto fits = [&](const auto* items) { return items == nullptr || items->size() <= kMost; };
  if (const fb::Integers* list = value(at).content_as_Integers()) {
    if (!fits(list->items())) return bad(where(at), ": more than ", kMost, " integers");
    return copied(list->items());
  }
  if (const fb::Truths* list = value(at).content_as_Truths()) {
    if (!fits(list->items())) return bad(where(at), ": more than ", kMost, " flags");
    if (list->items() != nullptr) out.assign(list->items()->begin(), list->items()->end());
    return out;
  }
  if (const fb::Values* list = value(at).content_as_Values()) {
    if (!fits(list->items())) return bad(where(at), ": more than ", kMost, " values");
    for (uint32_t i = 0; list->items() != nullptr && i < list->items()->size(); ++i) {
      const auto item = static_cast<uint32_t>(list->items()->Get(i));
      if (item >= state_.file.value_count()) return bad(where(at), ": no value ", item);
      const fb::Integer* integer = state_.file.value(item).content_as_Integer();
      if (integer == nullptr)
        return unsupported(where(at), ": value ", item, ", expected integers known at load");
      out.push_back(integer->value());
    }
    return out;
  }
  return bad(where(at), ": value ", id(at), ", expected integers");
}

Result<CallContext::SizeItem> CallContext::size_of_value(uint32_t value) const {
  if (value >= state_.file.value_count()) return bad("no value ", value);
  if (const fb::Integer* integer = state_.file.value(value).content_as_Integer())
    return SizeItem{integer->value(), {}};
  const auto found = state_.sizes.find(value);
  if (found == state_.sizes.end())
    return unsupported("value ", value, ", expected a size that this region computes");
  return SizeItem{0, found->second};
}

Result<CallContext::SizeItem> CallContext::size(uint32_t at) const {
  auto item = size_of_value(id(at));
  if (!item) return tl::make_unexpected(with_context(std::move(item).error(), where(at)));
  return item;
}

Result<std::vector<CallContext::SizeItem>> CallContext::sizes(uint32_t at) const {
  std::vector<SizeItem> out;
  const fb::Values* list = value(at).content_as_Values();
  if (list == nullptr) {
    ETB_ASSIGN(const std::vector<int64_t> numbers, integers(at));
    for (const int64_t number : numbers) out.push_back({number, {}});
  }
  for (uint32_t i = 0; list != nullptr && list->items() != nullptr && i < list->items()->size(); ++i) {
    if (i == kMaxRank) return unsupported(where(at), ": rank ", list->items()->size());
    auto item = size_of_value(static_cast<uint32_t>(list->items()->Get(i)));
    if (!item) return tl::make_unexpected(with_context(std::move(item).error(), where(at)));
    out.push_back(*item);
  }
  if (out.size() > kMaxRank) return unsupported(where(at), ": rank ", out.size());
  return out;
}

Status CallContext::define_size(RuntimeSize size) {
  const uint32_t last = id(argument_count() - 1);
  if (state_.file.value(last).content_type() != fb::Content::Size)
    return bad("result: value ", last, ", expected a size");
  if (!state_.sizes.emplace(last, size).second) return bad("result: value ", last, " exists before");
  return {};
}

void CallContext::bound_size(RuntimeSize size, uint32_t bound) {
  if (size.value == kNoValue) return;
  GpuValue& value = state_.graph.values[size.value];
  if (value.role == ValueRole::kInput && value.host == HostNumbers::kSize) value.shape.sizes[0] = bound;
}

// One size at most follows from the others; each of the rest is that of an input.
Result<uint32_t> CallContext::add_sized(Operator op, uint32_t x, const std::vector<SizeItem>& sizes) {
  std::vector<uint32_t> inputs = {x};
  std::vector<int32_t> ints;
  size_t unknown = 0;
  for (const SizeItem& size : sizes) unknown += size.runtime || size.number == -1 ? 1 : 0;
  for (const SizeItem& size : sizes) {
    if (!size.runtime) {
      ints.push_back(static_cast<int32_t>(std::clamp<int64_t>(size.number, -1, INT32_MAX)));
      continue;
    }
    const bool is_inferred = op == Operator::kReshape && (unknown == 1 || size.runtime->value == kNoValue);
    if (!is_inferred && size.runtime->value == kNoValue)
      return unsupported("a size that is computed at run time");
    if (is_inferred) {
      ints.push_back(kInferredSize);
      continue;
    }
    if (const Shape& made = result().shape; ints.size() < made.rank)
      bound_size(*size.runtime, made.sizes[ints.size()]);
    ints.push_back(kCopiedSize - static_cast<int32_t>(inputs.size() * kMaxRank + size.runtime->dim));
    inputs.push_back(size.runtime->value);
  }
  return add(op, std::move(inputs), std::move(ints));
}

Result<std::vector<double>> CallContext::numbers(uint32_t at) const {
  constexpr uint32_t kMost = 64;
  if (const fb::Numbers* list = value(at).content_as_Numbers()) {
    if (list->items() == nullptr) return std::vector<double>();
    if (list->items()->size() > kMost) return bad(where(at), ": more than ", kMost, " numbers");
    return copied(list->items());
  }
  ETB_ASSIGN(const std::vector<int64_t> whole, integers(at));
  return std::vector<double>(whole.begin(), whole.end());
}

Result<std::vector<int64_t>> CallContext::pair(uint32_t at, const std::vector<int64_t>& missing) const {
  ETB_ASSIGN(std::vector<int64_t> out, integers(at));
  if (out.empty()) out = missing;
  if (out.size() == 1) out.push_back(out[0]);
  if (out.size() != 2) return bad(where(at), ": ", out.size(), " integers, expected two");
  return out;
}

Result<std::string_view> CallContext::text(uint32_t at) const {
  const fb::Text* text = value(at).content_as_Text();
  if (text == nullptr || text->text() == nullptr)
    return bad(where(at), ": value ", id(at), ", expected a text");
  return text->text()->string_view();
}

Result<uint32_t> CallContext::dim(uint32_t at, uint32_t rank) const {
  ETB_ASSIGN(const int64_t given, integer(at));
  const int64_t dim = given < 0 ? given + rank : given;
  if (dim < 0 || dim >= static_cast<int64_t>(rank))
    return bad(where(at), ": dimension ", given, " of ", rank);
  return static_cast<uint32_t>(dim);
}

Result<uint32_t> CallContext::enter(uint32_t value) {
  if (value >= state_.file.value_count()) return bad("no value ", value);
  const FileTensor* tensor = state_.file.tensor(value);
  if (tensor == nullptr) return unsupported("value ", value, ", expected a tensor");
  if (state_.ids[value] != kNoValue) return state_.ids[value];
  if (tensor->constant < 0) return bad("value ", value, " is read before it is computed");
  return state_.enter_constant(value);
}

Result<uint32_t> CallContext::tensor(uint32_t at) {
  auto entered = enter(id(at));
  if (!entered) return tl::make_unexpected(with_context(std::move(entered).error(), where(at)));
  return entered;
}

Result<uint32_t> CallContext::floats(uint32_t at) {
  ETB_ASSIGN(const uint32_t entered, tensor(at));
  if (kind(at) != NumberKind::kFloat)
    return unsupported(where(at), ": ", to_text(declared(at).type), ", expected floats");
  return entered;
}

Result<std::vector<uint32_t>> CallContext::tensors(uint32_t at) {
  constexpr uint32_t kMost = 64;
  const fb::Values* list = value(at).content_as_Values();
  if (list == nullptr || list->items() == nullptr || list->items()->size() == 0)
    return bad(where(at), ": value ", id(at), ", expected tensors");
  if (list->items()->size() > kMost)
    return unsupported(where(at), ": ", list->items()->size(), " tensors, expected at most ", kMost);
  std::vector<uint32_t> out;
  for (const int32_t item : *list->items()) {
    auto entered = enter(static_cast<uint32_t>(item));
    if (!entered) return tl::make_unexpected(with_context(std::move(entered).error(), where(at)));
    if (kind_of(state_.file.tensor(static_cast<uint32_t>(item))->type) != kind_of(result().type))
      return unsupported(where(at), ": tensors of another type than the result");
    out.push_back(*entered);
  }
  return out;
}

Result<CallContext::Item> CallContext::only_item(uint32_t at) {
  const fb::Values* list = value(at).content_as_Values();
  std::optional<uint32_t> found;
  for (uint32_t i = 0; list != nullptr && list->items() != nullptr && i < list->items()->size(); ++i) {
    const auto item = static_cast<uint32_t>(list->items()->Get(i));
    if (item >= state_.file.value_count()) return bad(where(at), ": no value ", item);
    if (state_.file.value(item).content_type() == fb::Content::Nothing) continue;
    if (found) return unsupported(where(at), ": several tensors, expected one");
    found = i;
  }
  if (!found) return bad(where(at), ": value ", id(at), ", expected a list with a tensor");
  const auto item = static_cast<uint32_t>(list->items()->Get(*found));
  ETB_ASSIGN(const uint32_t entered, enter(item));
  return Item{entered, state_.file.tensor(item), *found};
}

bool CallContext::is_constant(uint32_t id) const {
  const ValueRole role = state_.graph.value(id).role;
  return role == ValueRole::kConstant || role == ValueRole::kInline;
}

Result<std::vector<float>> CallContext::constant_floats(uint32_t at) {
  ETB_ASSIGN(const uint32_t entered, tensor(at));
  const GpuValue& made = state_.graph.value(entered);
  if (made.role == ValueRole::kInline) return made.floats;
  if (made.role != ValueRole::kConstant)
    return unsupported(where(at), ": computed or passed, expected a constant");
  // The argument may be another name of the constant.
  const FileTensor& tensor = *state_.file.tensor(state_.constants.at(entered));
  ETB_TRY(state_.count_numbers(tensor.constant, tensor.shape.numel()));
  return read_constant_floats(state_.file, tensor, state_.data);
}

Result<uint32_t> CallContext::reshaped_constant(uint32_t id, const Shape& shape) {
  if (!is_constant(id)) return unsupported("weights that are computed or passed, expected a constant");
  GpuValue copy = state_.graph.value(id);
  const auto made = static_cast<uint32_t>(state_.graph.values.size());
  if (const auto source = state_.constants.find(id); source != state_.constants.end())
    state_.constants[made] = source->second;
  if (copy.shape.numel() != shape.numel()) return bad("a constant of another number of elements");
  copy.shape = shape;
  state_.graph.values.push_back(std::move(copy));
  state_.magnitudes.push_back(state_.magnitudes[id]);
  return made;
}

uint32_t CallContext::result_count() const {
  const fb::Values* list = value(argument_count() - 1).content_as_Values();
  return list == nullptr ? 1 : list->items() == nullptr ? 0 : list->items()->size();
}

bool CallContext::is_read(uint32_t index) const {
  const auto found = result_id(index);
  if (!found) return false;
  const fb::Graph& graph = state_.file.graph();
  const auto reads = [&](const auto* ids, uint32_t count) {
    for (uint32_t i = 0; ids != nullptr && i < count; ++i)
      if (static_cast<uint32_t>(ids->Get(i)) == *found) return true;
    return false;
  };
  if (graph.outputs() != nullptr && reads(graph.outputs(), graph.outputs()->size())) return true;
  for (uint32_t i = 0; i < graph.calls()->size(); ++i) {
    const auto* arguments = graph.calls()->Get(i)->arguments();
    if (reads(arguments, arguments->size() - 1)) return true;  // the last one is the result
  }
  return false;
}

Result<uint32_t> CallContext::result_id(uint32_t index) const {
  const uint32_t last = argument_count() - 1;
  uint32_t found = id(last);
  if (const fb::Values* list = value(last).content_as_Values()) {
    if (list->items() == nullptr || index >= list->items()->size()) return bad("result ", index, ": missing");
    found = static_cast<uint32_t>(list->items()->Get(index));
    if (found >= state_.file.value_count()) return bad("result ", index, ": no value ", found);
  } else if (index != 0) {
    return bad("result ", index, ": missing");
  }
  const FileTensor* tensor = state_.file.tensor(found);
  if (tensor == nullptr) return bad("result ", index, ": value ", found, ", expected a tensor");
  if (tensor->constant >= 0) return bad("result ", index, ": value ", found, " is a constant");
  if (state_.ids[found] != kNoValue) return bad("result ", index, ": value ", found, " exists before");
  return found;
}

Result<const FileTensor*> CallContext::find_result(uint32_t index) const {
  ETB_ASSIGN(const uint32_t found, result_id(index));
  return state_.file.tensor(found);
}

uint32_t CallContext::add(Operator op, std::vector<uint32_t> inputs, std::vector<int32_t> ints,
                          std::vector<float> floats) {
  const auto output = static_cast<uint32_t>(state_.graph.values.size());
  state_.graph.values.emplace_back();
  state_.magnitudes.push_back(0);
  state_.graph.nodes.push_back({op, std::move(inputs), output, std::move(ints), std::move(floats),
                                static_cast<int32_t>(call_.debug_id() & 0x7fffffffu)});
  return output;
}

uint32_t CallContext::add_floats(std::vector<float> numbers, const Shape& shape) {
  GpuValue made;
  made.role = ValueRole::kInline;
  made.shape = shape;
  made.floats = std::move(numbers);
  double largest = 0;
  for (const float number : made.floats) largest = std::max(largest, std::abs(static_cast<double>(number)));
  state_.graph.values.push_back(std::move(made));
  state_.magnitudes.push_back(largest);
  return static_cast<uint32_t>(state_.graph.values.size() - 1);
}

uint32_t CallContext::add_reshape(uint32_t x, const Shape& shape) {
  std::vector<int32_t> sizes;
  for (uint32_t d = 0; d < shape.rank; ++d) sizes.push_back(static_cast<int32_t>(shape.sizes[d]));
  const uint32_t made = add(Operator::kReshape, {x}, std::move(sizes));
  state_.magnitudes[made] = state_.magnitudes[x];
  return made;
}

uint32_t CallContext::add_expand(uint32_t x, const Shape& from, const Shape& to) {
  if (from == to) return x;
  std::vector<int32_t> sizes;
  const uint32_t missing = to.rank - std::min(from.rank, to.rank);
  for (uint32_t d = 0; d < to.rank; ++d) {
    const bool keeps = d >= missing && from.sizes[d - missing] == to.sizes[d] && to.sizes[d] != 1;
    sizes.push_back(keeps ? -1 : static_cast<int32_t>(to.sizes[d]));
  }
  const uint32_t made = add(Operator::kExpand, {x}, std::move(sizes));
  state_.magnitudes[made] = state_.magnitudes[x];
  return made;
}

Status CallContext::define(uint32_t id, double magnitude, uint32_t index) {
  ETB_ASSIGN(const uint32_t found, result_id(index));
  if (std::isnan(magnitude)) magnitude = std::numeric_limits<double>::infinity();
  const ElementType type = state_.file.tensor(found)->type;
  if (kind_of(type) != NumberKind::kFloat && !(magnitude <= largest_of(type))) {
    state_.is_too_large = true;
    return unsupported(to_text(type), " results that may exceed ", largest_of(type),
                       ", which floats do not represent");
  }
  state_.ids[found] = id;
  if (!is_constant(id)) state_.magnitudes[id] = magnitude;
  return {};
}

Status CallContext::define_moved(uint32_t id, uint32_t operand, uint32_t index) {
  ETB_ASSIGN(const uint32_t found, result_id(index));
  state_.ids[found] = id;
  if (!is_constant(id)) state_.magnitudes[id] = state_.magnitudes[operand];
  return {};
}

Status CallContext::define_exact(uint32_t id, double magnitude, uint32_t index) {
  ETB_ASSIGN(const uint32_t found, result_id(index));
  state_.ids[found] = id;
  state_.magnitudes[id] = magnitude;
  return {};
}

Status CallContext::define_floats(uint32_t id, uint32_t index) {
  ETB_ASSIGN(const uint32_t found, result_id(index));
  if (kind_of(state_.file.tensor(found)->type) != NumberKind::kFloat)
    return bad("result ", index, ": ", to_text(state_.file.tensor(found)->type), ", expected floats");
  state_.ids[found] = id;
  if (!is_constant(id)) state_.magnitudes[id] = std::numeric_limits<double>::infinity();
  return {};
}

Status CallContext::check_same_kind(uint32_t at, uint32_t index) const {
  ETB_ASSIGN(const FileTensor* made, find_result(index));
  if (kind_of(made->type) != kind(at))
    return bad("result ", index, ": ", to_text(made->type), " of ", to_text(declared(at).type));
  return {};
}

}  // namespace etb::gpu
