// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/official/lowering.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "api/format/printable_text.hpp"
#include "plugins/gpu/graph/shapes.hpp"
#include "plugins/gpu/official/constants.hpp"
#include "plugins/gpu/official/ops.hpp"

namespace etb::gpu {

namespace fb = vulkan_schema;

// Many tensors may refer to one constant. Limits the numbers to a few times those that the program stores.
Status LoweringOfFile::count_numbers(int32_t constant, uint64_t count) {
  constexpr uint64_t kMostCopies = 16;
  if (constants_read.insert(constant).second) distinct_count += count;
  number_count += count;
  if (number_count > kMostCopies * distinct_count)
    return bad("constants of ", number_count, " numbers, of which ", distinct_count, " differ");
  return {};
}

Result<uint32_t> LoweringOfFile::enter_constant(uint32_t value) {
  ETB_ASSIGN(FileConstant made, read_constant(file, value, data));
  if (made.value.role == ValueRole::kInline)
    ETB_TRY(count_numbers(file.tensor(value)->constant, made.value.floats.size()));
  ids[value] = static_cast<uint32_t>(graph.values.size());
  constants[ids[value]] = value;
  graph.values.push_back(std::move(made.value));
  magnitudes.push_back(made.magnitude);
  return ids[value];
}

namespace {

HostNumbers host_numbers(const FileTensor& tensor) {
  switch (tensor.type) {
    case ElementType::kBool:
      return HostNumbers::kBools;
    case ElementType::kUint8:
      return HostNumbers::kUint8;
    case ElementType::kInt8:
      return HostNumbers::kInt8;
    case ElementType::kInt32:
    case ElementType::kInt64:
      return HostNumbers::kIntegers;
    default:
      return tensor.is_half_outside ? HostNumbers::kHalves : HostNumbers::kFloats;
  }
}

// Returns one error that names all operators that have no row.
Status check_operators(const VulkanFile& file) {
  std::set<std::string_view> unknown;
  const auto* calls = file.graph().calls();
  for (uint32_t i = 0; calls != nullptr && i < calls->size(); ++i)
    if (const auto name = calls->Get(i)->op()->string_view(); find_official_op(name) == nullptr)
      unknown.insert(name);
  if (unknown.empty()) return {};
  std::string text;
  for (const std::string_view name : unknown) {
    constexpr size_t kMost = 96;
    text += (text.empty() ? "" : ", ") + std::string(name.substr(0, kMost));
  }
  return make_error(Code::NOT_SUPPORTED, "operators without a kernel here: " + text);
}

// An integer that is passed is a dimension of a value without elements. Its bound is that of the results whose sizes it is.
Status add_size_input(LoweringOfFile& state, uint32_t value) {
  const auto id = static_cast<uint32_t>(state.graph.values.size());
  GpuValue made;
  made.role = ValueRole::kInput;
  made.shape.rank = 1;
  made.host = HostNumbers::kSize;
  state.graph.values.push_back(std::move(made));
  state.graph.inputs.push_back(id);
  state.magnitudes.push_back(0);
  if (!state.sizes.emplace(value, RuntimeSize{id, 0}).second)
    return bad("value ", value, " is an input twice");
  return {};
}

Status add_inputs(LoweringOfFile& state) {
  const auto* inputs = state.file.graph().inputs();
  for (uint32_t i = 0; inputs != nullptr && i < inputs->size(); ++i) {
    const uint32_t value = inputs->Get(i);
    if (state.file.tensor(value) == nullptr) {
      ETB_TRY(add_size_input(state, value));
      continue;
    }
    const FileTensor& tensor = *state.file.tensor(value);
    if (tensor.constant >= 0) return bad("input ", i, ": value ", value, " is a constant");
    if (state.ids[value] != kNoValue) return bad("input ", i, ": value ", value, " is an input twice");
    const auto id = static_cast<uint32_t>(state.graph.values.size());
    GpuValue made;
    made.role = ValueRole::kInput;
    made.shape = tensor.shape;
    made.host = host_numbers(tensor);
    state.graph.values.push_back(std::move(made));
    state.graph.inputs.push_back(id);
    state.ids[value] = id;
    const uint32_t nbytes = nbytes_of(tensor.type);
    const bool is_float = kind_of(tensor.type) == NumberKind::kFloat;
    state.magnitudes.push_back(is_float                            ? std::numeric_limits<double>::infinity()
                               : tensor.type == ElementType::kBool ? 1
                               : nbytes == 1 ? (tensor.type == ElementType::kInt8 ? 128 : 255)
                                             : state.input_limit);
  }
  return {};
}

Status lower_call(LoweringOfFile& state, const fb::Call& call) {
  const OfficialOp& op = *find_official_op(call.op()->string_view());
  CallContext context(state, call);
  const uint32_t count = context.argument_count();
  if (count < op.min_arguments || count > op.max_arguments)
    return bad(count, " arguments, expected ", static_cast<int>(op.min_arguments));
  for (uint32_t i = 0; !op.gives_size && i < std::max(context.result_count(), 1u); ++i)
    if (const auto found = context.find_result(i); !found) return tl::make_unexpected(found.error());
  return op.lower(context);
}

Status lower_calls(LoweringOfFile& state) {
  const auto* calls = state.file.graph().calls();
  for (uint32_t i = 0; calls != nullptr && i < calls->size(); ++i) {
    const fb::Call& call = *calls->Get(i);
    if (Status lowered = lower_call(state, call); !lowered)
      return tl::make_unexpected(with_context(std::move(lowered).error(),
                                              "call " + std::to_string(i) + " (" + call.op()->str() + ")"));
  }
  return {};
}

// A copy, for an output that is an input, a constant or another output.
uint32_t add_copy(GpuGraph& graph, uint32_t id, uint32_t rank) {
  const auto made = static_cast<uint32_t>(graph.values.size());
  graph.values.emplace_back();
  GpuNode node{Operator::kReshape, {id}, made};
  for (uint32_t d = 0; d < rank; ++d) node.ints.push_back(kCopiedSize - static_cast<int32_t>(d));
  graph.nodes.push_back(std::move(node));
  return made;
}

// A size that the program gets: the one dimension of a value, which is a zero expanded to it.
Status add_size_output(LoweringOfFile& state, uint32_t value) {
  const auto found = state.sizes.find(value);
  if (found == state.sizes.end()) return bad("value ", value, " is never computed");
  const RuntimeSize size = found->second;
  if (size.value == kNoValue)
    return make_error(Code::NOT_SUPPORTED,
                      "value " + std::to_string(value) + ", a size that is computed at run time");
  const auto zero = static_cast<uint32_t>(state.graph.values.size()), made = zero + 1;
  GpuValue number, output;
  number.role = ValueRole::kInline;
  number.floats = {0};
  output.host = HostNumbers::kSize;
  state.graph.values.push_back(std::move(number));
  state.graph.values.push_back(std::move(output));
  state.magnitudes.resize(state.graph.values.size());
  state.graph.nodes.push_back({Operator::kExpand,
                               {zero, size.value},
                               made,
                               {kCopiedSize - static_cast<int32_t>(kMaxRank + size.dim)}});
  state.graph.outputs.push_back(made);
  return {};
}

// True if the region only passes an input of integers on, as integers: then they need not become floats.
bool is_only_passed_on(const LoweringOfFile& state, uint32_t id) {
  if (state.graph.value(id).host != HostNumbers::kIntegers) return false;
  const auto* outputs = state.file.graph().outputs();
  for (uint32_t i = 0; outputs != nullptr && i < outputs->size(); ++i) {
    const FileTensor* tensor = state.file.tensor(outputs->Get(i));
    const bool is_other = tensor != nullptr && host_numbers(*tensor) != HostNumbers::kIntegers;
    if (state.ids[outputs->Get(i)] == id && is_other) return false;
  }
  return std::none_of(state.graph.nodes.begin(), state.graph.nodes.end(), [&](const GpuNode& node) {
    return std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end();
  });
}

Status add_outputs(LoweringOfFile& state) {
  const auto* outputs = state.file.graph().outputs();
  std::set<uint32_t> known, passed_on;
  for (const uint32_t input : state.graph.inputs)
    if (is_only_passed_on(state, input)) passed_on.insert(input);
  for (const uint32_t input : passed_on) state.graph.values[input].host = HostNumbers::kInt32Bits;
  for (uint32_t i = 0; outputs != nullptr && i < outputs->size(); ++i) {
    const uint32_t value = outputs->Get(i);
    if (state.file.tensor(value) == nullptr) {
      if (Status added = add_size_output(state, value); !added)
        return tl::make_unexpected(with_context(std::move(added).error(), "output " + std::to_string(i)));
      continue;
    }
    const FileTensor& tensor = *state.file.tensor(value);
    uint32_t id = state.ids[value];
    if (id == kNoValue && tensor.constant >= 0) {
      ETB_ASSIGN(id, state.enter_constant(value));
    }
    if (id == kNoValue) return bad("output ", i, ": value ", value, " is never computed");
    const bool has_bits = passed_on.count(id) != 0;
    if (state.graph.value(id).role != ValueRole::kResult || known.count(id) != 0)
      id = add_copy(state.graph, id, tensor.shape.rank);
    known.insert(id);
    state.graph.values[id].host = has_bits ? HostNumbers::kInt32Bits : host_numbers(tensor);
    state.graph.outputs.push_back(id);
  }
  return {};
}

// The rules of this plugin must compute the sizes that the file declares: arguments of a call depend on them.
Status check_sizes(const LoweringOfFile& state) {
  std::vector<Shape> shapes;
  for (const GpuValue& value : state.graph.values) shapes.push_back(value.shape);
  if (Status inferred = infer_shapes(state.graph, shapes); !inferred) {
    inferred.error().code = Code::INVALID_DATA;
    return inferred;
  }
  for (uint32_t i = 0; i < state.file.value_count(); ++i) {
    if (state.ids[i] == kNoValue || state.file.tensor(i)->shape == shapes[state.ids[i]]) continue;
    const auto sizes = [](const Shape& shape) {
      std::string text = "[";
      for (uint32_t d = 0; d < shape.rank; ++d) text += (d == 0 ? "" : ", ") + std::to_string(shape.sizes[d]);
      return text + "]";
    };
    return bad("value ", i, ": sizes ", sizes(state.file.tensor(i)->shape), ", the operator computes ",
               sizes(shapes[state.ids[i]]));
  }
  return {};
}

Status lower_all(LoweringOfFile& state) {
  state.ids.assign(state.file.value_count(), kNoValue);
  state.graph.integer_limit = static_cast<int64_t>(state.input_limit);
  state.graph.has_smaller_bounds = state.file.has_smaller_bounds();
  ETB_TRY(add_inputs(state));
  ETB_TRY(lower_calls(state));
  ETB_TRY(add_outputs(state));
  for (const uint32_t input : state.graph.inputs) {
    GpuValue& value = state.graph.values[input];
    const bool has_no_bound = value.host == HostNumbers::kSize && value.shape.sizes[0] == 0;
    if (has_no_bound) value.shape.sizes[0] = static_cast<uint32_t>(kMaxNumel);
  }
  return check_sizes(state);
}

Result<GpuGraph> lower_file(const VulkanFile& file, const NamedData& data) {
  ETB_TRY(check_operators(file));
  constexpr double kLeastLimit = 4096;
  for (double limit = kExactIntegers;; limit /= 8) {
    LoweringOfFile state{file, data, limit};
    const Status lowered = lower_all(state);
    if (lowered) return std::move(state.graph);
    if (!state.is_too_large || limit <= kLeastLimit) return tl::make_unexpected(lowered.error());
  }
}

}  // namespace

Result<GpuGraph> read_official_payload(std::span<const std::byte> bytes, const NamedData& data) {
  // Messages have texts of the file.
  const auto failed = [](Error error) {
    error.message = format::made_printable(error.message);
    return tl::make_unexpected(with_context(std::move(error), "payload of " + std::string(kOfficialBackend)));
  };
  auto file = VulkanFile::read(bytes);
  if (!file) return failed(std::move(file).error());
  auto graph = lower_file(*file, data);
  if (!graph) return failed(std::move(graph).error());
  return graph;
}

const OfficialOp* find_official_op(std::string_view name) {
  for (const OfficialOpList* list : kOfficialOps)
    for (const OfficialOp& op : *list)
      if (name == op.name) return &op;
  return nullptr;
}

}  // namespace etb::gpu
