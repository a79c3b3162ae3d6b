// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/compile/lowering_context.hpp"

#include <algorithm>
#include <cstring>

#include "etb/cpp/bytes.hpp"
#include "plugins/gpu/compile/op.hpp"
#include "plugins/gpu/run/host_numbers.hpp"

namespace etb::gpu {

namespace {

std::string quoted(const Value& value) { return "'" + std::string(value.name()) + "'"; }

Result<Shape> shape_of(const Value& value) {
  const etb_graph_spec spec = value.spec();
  if (spec.rank > kMaxRank)
    return reject("rank", quoted(value) + ": rank " + std::to_string(spec.rank) + ", expected at most " +
                              std::to_string(kMaxRank));
  Shape shape;
  shape.rank = spec.rank;
  uint64_t numel = 1;
  for (uint32_t d = 0; d < spec.rank; ++d) {
    if (spec.sizes[d] < 0)
      return reject("dynamic",
                    quoted(value) + ": dimension " + std::to_string(d) + " without an upper bound");
    if (spec.sizes[d] > static_cast<int64_t>(kMaxNumel))
      return reject("attribute", quoted(value) + ": too many elements");
    shape.sizes[d] = static_cast<uint32_t>(spec.sizes[d]);
    numel *= std::max<uint64_t>(shape.sizes[d], 1);
    if (numel > kMaxNumel) return reject("attribute", quoted(value) + ": too many elements");
  }
  return shape;
}

std::optional<etb_graph_constant> find_constant(const Graph& image, uint32_t value) {
  if (value >= image.input_count()) return std::nullopt;
  const etb_graph_input input = image.input(value);
  if (input.constant == graph::kNone || input.updated_by != graph::kNone) return std::nullopt;
  return etb_graph_get_constant(&image.view(), input.constant);
}

template <class T>
float read_as(std::span<const std::byte> bytes) {
  T number{};
  std::memcpy(&number, bytes.data(), sizeof(T));
  return static_cast<float>(number);
}

}  // namespace

GraphFacts::GraphFacts(const Graph& graph)
    : use_counts(graph.value_count(), 0), producers(graph.value_count(), graph::kNone) {
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node node = graph.node(i);
    for (const Value& result : node.results()) producers[result.id()] = i;
    if (node.gives_numbers()) continue;  // sizes, which the payload's rules compute
    for (const Value& operand : node.operands()) ++use_counts[operand.id()];
  }
  for (uint32_t i = 0; i < graph.output_count(); ++i) ++use_counts[graph.output(i).id()];
}

namespace {

bool is_wanted(uint32_t dtype, Entered wanted) {
  const bool is_float = dtype == ETB_DTYPE_FLOAT32 || dtype == ETB_DTYPE_FLOAT16,
             is_bool = dtype == ETB_DTYPE_BOOL,
             is_index = dtype == ETB_DTYPE_INT64 || dtype == ETB_DTYPE_INT32;
  switch (wanted) {
    case Entered::kFloats:
      return is_float;
    case Entered::kBools:
      return is_bool;
    case Entered::kFloatsOrBools:
      return is_float || is_bool;
    case Entered::kIndices:
      return is_index;
    case Entered::kAny:
      return is_float || is_bool || is_index;
  }
  return false;
}

// Bools of the program become floats in the payload.
Status enter_bools(const LoweringState& state, uint32_t value, GpuValue& made) {
  constexpr uint64_t kMost = 1 << 18;
  if (made.shape.numel() > kMost)
    return reject("attribute", quoted(state.image.value(value)) + ": more than " + std::to_string(kMost) +
                                   " constant bools");
  made.role = ValueRole::kInline;
  made.floats.assign(made.shape.numel(), 1);
  if (state.region == nullptr) return {};  // a claim: any bools
  std::optional<Payload> owner;
  ETB_ASSIGN(const std::span<const std::byte> bytes, constant_bytes(state, value, owner));
  if (bytes.size() < made.floats.size())
    return make_error(Code::INVALID_DATA, "a constant without all its elements");
  for (size_t i = 0; i < made.floats.size(); ++i) made.floats[i] = bytes[i] == std::byte{0} ? 0.0f : 1.0f;
  return {};
}

}  // namespace

HostNumbers host_numbers_of(uint32_t dtype) {
  switch (dtype) {
    case ETB_DTYPE_FLOAT16:
      return HostNumbers::kHalves;
    case ETB_DTYPE_BOOL:
      return HostNumbers::kBools;
    case ETB_DTYPE_INT64:
      return HostNumbers::kIntegers;
    default:
      return HostNumbers::kSame;
  }
}

Result<uint32_t> enter(LoweringState& state, uint32_t value, Entered wanted) {
  const Value entered = state.image.value(value);
  if (!entered.is_tensor()) return reject("dtype", quoted(entered) + ": no tensor");
  const uint32_t dtype = entered.spec().dtype;
  if (!is_wanted(dtype, wanted))
    return reject("dtype", quoted(entered) + ": " + dtype_text(static_cast<etb_dtype>(dtype)));
  GpuValue made;
  if (dtype == ETB_DTYPE_INT64) made.type = DataType::kInt64;
  if (dtype == ETB_DTYPE_INT32) made.type = DataType::kInt32;
  ETB_ASSIGN(made.shape, shape_of(entered));
  made.role = find_constant(state.image, value) ? ValueRole::kConstant : ValueRole::kInput;
  const bool is_constant = made.role == ValueRole::kConstant;
  if (dtype == ETB_DTYPE_BOOL && is_constant) ETB_TRY(enter_bools(state, value, made));
  if ((dtype == ETB_DTYPE_BOOL && !is_constant) || dtype == ETB_DTYPE_FLOAT16)
    made.host = host_numbers_of(dtype);
  const auto id = static_cast<uint32_t>(state.graph.values.size());
  if (made.role == ValueRole::kInput) state.graph.inputs.push_back(id);
  if (made.role == ValueRole::kConstant) {
    made.key = "unnamed";  // the region names it by its content
    state.constants[id] = value;
  }
  state.graph.values.push_back(std::move(made));
  state.ids[value] = id;
  ++state.id_uses[id];
  return id;
}

Result<std::span<const std::byte>> constant_bytes(const LoweringState& state, uint32_t value,
                                                  std::optional<Payload>& owner) {
  const auto constant = find_constant(state.image, value);
  if (!constant) return make_error(Code::INTERNAL, "value " + std::to_string(value) + ": no constant");
  const auto nbytes = static_cast<size_t>(constant->nbytes);
  if (constant->data != nullptr) return std::span(static_cast<const std::byte*>(constant->data), nbytes);
  if (state.region == nullptr) return make_error(Code::INTERNAL, "a claim reads a constant");
  ETB_ASSIGN(owner, state.region->read_constant(constant->key));
  if (owner->bytes().size() < nbytes)
    return make_error(Code::INVALID_DATA, "constant '" + std::string(constant->key) + "' of " +
                                              std::to_string(owner->bytes().size()) + " bytes, expected " +
                                              std::to_string(nbytes));
  return owner->bytes().first(nbytes);
}

Result<Shape> LoweringContext::bounds(uint32_t value) const { return shape_of(state_.image.value(value)); }

bool LoweringContext::is_constant(uint32_t value) const {
  return find_constant(state_.image, value).has_value();
}

void LoweringContext::lower_decoder(uint32_t value) {
  const uint32_t producer = state_.facts.producers[value];
  if (state_.region != nullptr || producer == graph::kNone || state_.ids.count(value) != 0) return;
  const Node node = state_.image.node(producer);
  const Op* op = find_op(node.op_name());
  if (op == nullptr || !op->is_decoder) return;
  LoweringContext context(state_, node);
  // A node that is rejected is computed elsewhere, and its result is an input.
  if (detail::check_row(node, *detail::find_row(op_rows(), node.op_name())).is_claimed)
    (void)op->lower(context);
}

Result<uint32_t> LoweringContext::find_or_enter(uint32_t value, Entered wanted) {
  lower_decoder(value);
  const auto found = state_.ids.find(value);
  if (found == state_.ids.end()) return enter(state_, value, wanted);
  const Value known = state_.image.value(value);
  const uint32_t dtype = known.spec().dtype;
  if (!is_wanted(dtype, wanted))
    return reject("dtype", quoted(known) + ": " + dtype_text(static_cast<etb_dtype>(dtype)));
  return found->second;
}

Result<uint32_t> LoweringContext::operand(uint32_t value) { return find_or_enter(value, Entered::kFloats); }

Result<uint32_t> LoweringContext::operand(const char* name) {
  ETB_ASSIGN(const uint32_t value, args_.tensor(name));
  return operand(value);
}

Result<uint32_t> LoweringContext::bool_operand(const char* name) {
  ETB_ASSIGN(const uint32_t value, args_.tensor(name));
  return find_or_enter(value, Entered::kBools);
}

Result<uint32_t> LoweringContext::moved_operand(uint32_t value) {
  return find_or_enter(value, Entered::kFloatsOrBools);
}

Result<uint32_t> LoweringContext::moved_operand(const char* name) {
  ETB_ASSIGN(const uint32_t value, args_.tensor(name));
  return moved_operand(value);
}

Result<uint32_t> LoweringContext::index_operand(const char* name) {
  ETB_ASSIGN(const uint32_t value, args_.tensor(name));
  return index_operand(value);
}

Result<uint32_t> LoweringContext::index_operand(uint32_t value) {
  return find_or_enter(value, Entered::kIndices);
}

Result<uint32_t> LoweringContext::constant(const char* name) {
  ETB_ASSIGN(const uint32_t value, args_.tensor(name));
  ETB_ASSIGN(const uint32_t id, operand(value));
  const ValueRole role = state_.graph.value(id).role;
  if (role != ValueRole::kConstant && role != ValueRole::kInline)
    return reject("constant", std::string(name) + ": known only at run time, expected a constant");
  return id;
}

Result<uint32_t> LoweringContext::constant_as(const char* name, const Shape& shape) {
  ETB_ASSIGN(const uint32_t id, constant(name));
  GpuValue made = state_.graph.value(id);
  made.shape = shape;
  state_.graph.values.push_back(std::move(made));
  const auto as = static_cast<uint32_t>(state_.graph.values.size() - 1);
  if (const auto named = state_.constants.find(id); named != state_.constants.end())
    state_.constants[as] = named->second;
  return as;
}

Result<uint32_t> LoweringContext::constant_part(uint32_t value, uint64_t first_element, const Shape& shape) {
  const auto dtype = static_cast<etb_dtype>(spec(value).dtype);
  if (!is_wanted(dtype, Entered::kFloats))
    return reject("dtype", quoted(state_.image.value(value)) + ": " + dtype_text(dtype));
  GpuValue made;
  made.role = ValueRole::kConstant;
  made.shape = shape;
  made.key = "unnamed";  // the region names it by its content
  made.host = host_numbers_of(dtype);
  const auto id = static_cast<uint32_t>(state_.graph.values.size());
  state_.graph.values.push_back(std::move(made));
  state_.constants[id] = value;
  const uint64_t element_nbytes = dtype_bits(dtype) / 8;
  state_.parts[id] = {first_element * element_nbytes, shape.numel() * element_nbytes};
  return id;
}

Result<std::vector<float>> LoweringContext::read_floats(uint32_t value) const {
  if (!is_constant(value))
    return reject("constant", quoted(state_.image.value(value)) + ": expected a constant");
  ETB_ASSIGN(const Shape shape, bounds(value));
  std::vector<float> numbers(shape.numel(), 0.0f);
  if (state_.region == nullptr) return numbers;
  std::optional<Payload> owner;
  ETB_ASSIGN(const std::span<const std::byte> bytes, constant_bytes(state_, value, owner));
  const auto dtype = static_cast<etb_dtype>(spec(value).dtype);
  if (bytes.size() < numbers.size() * dtype_bits(dtype) / 8)
    return make_error(Code::INVALID_DATA, "a constant without all its elements");
  read_numbers(bytes.data(), dtype, numbers);
  return numbers;
}

Status LoweringContext::define_codes(uint32_t value, const Codes& codes) {
  GpuValue made;
  ETB_ASSIGN(made.shape, bounds(value));
  made.role = ValueRole::kConstant;
  made.key = "unnamed";  // the region names it by its content
  made.codes = codes;
  const auto id = static_cast<uint32_t>(state_.graph.values.size());
  state_.graph.values.push_back(std::move(made));
  state_.constants[id] = value;
  define(0, id);
  return {};
}

// Numbers that the exporter made tensors have other dtypes than the tensors beside them.
Result<float> LoweringContext::read_number(uint32_t value) const {
  if (state_.region == nullptr) return 1.0f;  // a claim: any number
  std::optional<Payload> owner;
  ETB_ASSIGN(const std::span<const std::byte> bytes, constant_bytes(state_, value, owner));
  const uint32_t dtype = spec(value).dtype;
  if (bytes.size() < dtype_bits(static_cast<etb_dtype>(dtype)) / 8)
    return make_error(Code::INVALID_DATA, "a constant without its element");
  switch (dtype) {
    case ETB_DTYPE_FLOAT64:
      return read_as<double>(bytes);
    case ETB_DTYPE_INT64:
      return read_as<int64_t>(bytes);
    case ETB_DTYPE_INT32:
      return read_as<int32_t>(bytes);
    default:
      return reject("dtype", "a constant of another dtype than the other operand");
  }
}

Result<uint32_t> LoweringContext::operand_or_number(const char* name) {
  const auto found = args_.find(name);
  if (!found || !found->value()) {
    ETB_ASSIGN(const double number, args_.number(name, 0));
    return add_floats({static_cast<float>(number)}, true);
  }
  const uint32_t value = *found->value();
  if (!state_.image.value(value).is_tensor())
    return reject("dynamic", std::string(name) + ": a number at run time");
  const etb_graph_spec of = spec(value);
  const bool is_number =
      of.rank == 0 && is_constant(value) &&
      (of.dtype == ETB_DTYPE_FLOAT64 || of.dtype == ETB_DTYPE_INT64 || of.dtype == ETB_DTYPE_INT32);
  if (!is_number) return operand(value);
  ETB_ASSIGN(const float number, read_number(value));
  return add_floats({number}, true);
}

uint32_t LoweringContext::add_floats(std::vector<float> floats, bool is_scalar) {
  GpuValue made;
  made.role = ValueRole::kInline;
  made.shape.rank = is_scalar ? 0 : 1;
  if (!is_scalar) made.shape.sizes[0] = static_cast<uint32_t>(floats.size());
  made.floats = std::move(floats);
  state_.graph.values.push_back(std::move(made));
  return static_cast<uint32_t>(state_.graph.values.size() - 1);
}

uint32_t LoweringContext::add_node(GpuNode node) {
  const auto id = static_cast<uint32_t>(state_.graph.values.size());
  state_.graph.values.emplace_back().is_step = true;
  node.output = id;
  state_.graph.nodes.push_back(std::move(node));
  return id;
}

Status LoweringContext::add_result_node(GpuNode node, uint32_t index, Entered dtypes) {
  const Value made = state_.image.value(result(index));
  if (!made.is_tensor()) return reject("op", quoted(made) + ": result is no tensor");
  if (!is_wanted(made.spec().dtype, dtypes))
    return reject("dtype", quoted(made) + ": " + dtype_text(static_cast<etb_dtype>(made.spec().dtype)));
  ETB_TRY(shape_of(made));
  define(index, add_node(std::move(node)));
  return {};
}

void LoweringContext::define(uint32_t index, uint32_t id) {
  GpuValue& value = state_.graph.values[id];
  const uint32_t dtype = spec(result(index)).dtype;
  if (value.role == ValueRole::kResult) {
    value.is_step = false;
    value.host = host_numbers_of(dtype);
  }
  state_.ids[result(index)] = id;
  ++state_.id_uses[id];
}

GpuNode* LoweringContext::find_only_producer(uint32_t id) {
  if (state_.id_uses[id] != 1) return nullptr;
  for (const auto& [value, known] : state_.ids)
    if (known == id && use_count(value) != 1) return nullptr;
  for (GpuNode& node : state_.graph.nodes)
    if (node.output == id) return &node;
  return nullptr;
}

Status LoweringContext::check_only_first_result_is_read(const char* what) const {
  for (uint32_t i = 1; i < result_count(); ++i)
    if (use_count(result(i)) != 0) return reject("attribute", std::string(what) + " that a node reads");
  return {};
}

}  // namespace etb::gpu
