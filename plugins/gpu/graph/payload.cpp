// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/graph/payload.hpp"

#include <algorithm>
#include <optional>

#include "etb/cpp/bytes.hpp"

namespace etb::gpu {

namespace {

// How many inputs, integers and floats a node of an operator has.
struct OperatorRow {
  Operator op;
  const char* name;
  uint32_t min_inputs, max_inputs, min_ints, max_ints, floats;
};

constexpr OperatorRow kOperators[] = {
#define ETB_GPU_OPERATOR(name, code, ...) {Operator::k##name, #name, __VA_ARGS__},
#include "plugins/gpu/graph/operators.def"
#undef ETB_GPU_OPERATOR
};

const OperatorRow* find_operator(uint16_t code) {
  for (const OperatorRow& row : kOperators)
    if (static_cast<uint16_t>(row.op) == code) return &row;
  return nullptr;
}

constexpr uint32_t kMaxKeyNbytes = 4096;

tl::unexpected<Error> invalid(const std::string& text) {
  return make_error(Code::INVALID_DATA, "payload: " + text);
}

// Rejects a count of items that the rest of the bytes cannot hold, before memory is allocated for them.
Result<uint32_t> read_count(ByteReader& reader, uint32_t item_nbytes, const char* what) {
  const auto count = reader.read<uint32_t>();
  if (!reader.fits(count, item_nbytes))
    return invalid(std::to_string(count) + " " + what + ", more than fit");
  return count;
}

// The type of a value is in the lower half of a byte, and that of its numbers in the host's memory in the upper half.
constexpr uint32_t kHostShift = 4;
constexpr uint32_t kStepBit = 1u << 4;  // set in the byte of a role: the value is a step

void write_value(ByteWriter& writer, const GpuValue& value) {
  const auto type = static_cast<uint32_t>(value.type), host = static_cast<uint32_t>(value.host);
  const uint32_t role = static_cast<uint32_t>(value.role) | (value.is_step ? kStepBit : 0);
  writer.write(static_cast<uint8_t>(role)).write(static_cast<uint8_t>(type | host << kHostShift));
  if (value.role == ValueRole::kResult) return;
  writer.write(static_cast<uint8_t>(value.shape.rank));
  for (uint32_t d = 0; d < value.shape.rank; ++d) writer.write(value.shape.sizes[d]);
  if (value.role == ValueRole::kConstant) {
    writer.write(static_cast<uint32_t>(value.key.size()));
    writer.write_bytes(std::as_bytes(std::span(value.key)));
  } else if (value.role == ValueRole::kInline) {
    for (const float number : value.floats) writer.write(number);
  }
}

Result<Shape> read_shape(ByteReader& reader) {
  Shape shape;
  shape.rank = reader.read<uint8_t>();
  if (shape.rank > kMaxRank)
    return invalid("rank " + std::to_string(shape.rank) + ", expected at most " + std::to_string(kMaxRank));
  uint64_t numel = 1;
  for (uint32_t d = 0; d < shape.rank; ++d) {
    shape.sizes[d] = reader.read<uint32_t>();
    // Sizes beside a 0 are limited, too: plans multiply parts of them.
    numel *= std::max<uint64_t>(shape.sizes[d], 1);
    if (numel > kMaxNumel) return invalid("a value of more than " + std::to_string(kMaxNumel) + " elements");
  }
  return shape;
}

// Checks the numbers that a value has in the host's memory.
Status take_host_numbers(uint32_t host, uint32_t version, GpuValue& value) {
  if (host == static_cast<uint32_t>(HostNumbers::kSame)) return {};
  const bool may_be_bools = version >= 2 && value.type == DataType::kFloat32 &&
                            (value.role == ValueRole::kInput || value.role == ValueRole::kResult);
  const bool is_position =
      host == static_cast<uint32_t>(HostNumbers::kIntegers) && value.role == ValueRole::kResult;
  if (!may_be_bools || (host != static_cast<uint32_t>(HostNumbers::kBools) && !is_position))
    return invalid("numbers " + std::to_string(host) + " of a value");
  value.host = static_cast<HostNumbers>(host);
  return {};
}

Result<GpuValue> read_value(ByteReader& reader, uint32_t version) {
  GpuValue value;
  const auto role_byte = reader.read<uint8_t>(), both = reader.read<uint8_t>();
  const uint32_t role = role_byte & ~kStepBit;
  const uint32_t type = both & ((1u << kHostShift) - 1);
  if (role > static_cast<uint8_t>(ValueRole::kResult))
    return invalid("role " + std::to_string(role) + " of a value");
  if (type > static_cast<uint8_t>(DataType::kInt64))
    return invalid("type " + std::to_string(type) + " of a value");
  value.role = static_cast<ValueRole>(role);
  value.is_step = (role_byte & kStepBit) != 0;
  if (value.is_step && (version < 2 || value.role != ValueRole::kResult))
    return invalid("a step that is no result");
  value.type = static_cast<DataType>(type);
  ETB_TRY(take_host_numbers(both >> kHostShift, version, value));
  if (value.role == ValueRole::kResult) return value;
  ETB_ASSIGN(value.shape, read_shape(reader));
  if (value.role == ValueRole::kConstant) {
    const auto nbytes = reader.read<uint32_t>();
    if (nbytes == 0 || nbytes > kMaxKeyNbytes)
      return invalid("a key of " + std::to_string(nbytes) + " bytes");
    const auto key = reader.read_bytes(nbytes);
    value.key.assign(reinterpret_cast<const char*>(key.data()), key.size());
    if (value.key.find('\0') != std::string::npos) return invalid("a key with a zero byte");
  } else if (value.role == ValueRole::kInline) {
    if (value.type != DataType::kFloat32) return invalid("inline numbers, expected floats");
    if (!reader.fits(value.shape.numel(), sizeof(float))) return invalid("inline floats past the end");
    for (uint64_t i = 0; i < value.shape.numel(); ++i) value.floats.push_back(reader.read<float>());
  }
  return value;
}

void write_node(ByteWriter& writer, const GpuNode& node) {
  writer.write(static_cast<uint16_t>(node.op));
  writer.write(static_cast<uint8_t>(node.inputs.size()));
  writer.write(static_cast<uint8_t>(node.ints.size()));
  writer.write(static_cast<uint8_t>(node.floats.size()));
  for (const uint32_t input : node.inputs) writer.write(input);
  writer.write(node.output);
  for (const int32_t number : node.ints) writer.write(number);
  for (const float number : node.floats) writer.write(number);
}

Result<GpuNode> read_node(ByteReader& reader) {
  const auto code = reader.read<uint16_t>();
  const OperatorRow* row = find_operator(code);
  if (row == nullptr)
    return invalid("operator " + std::to_string(code) + ", which this plugin does not know");
  const auto inputs = reader.read<uint8_t>(), ints = reader.read<uint8_t>(), floats = reader.read<uint8_t>();
  if (inputs < row->min_inputs || inputs > row->max_inputs || ints < row->min_ints || ints > row->max_ints ||
      floats != row->floats)
    return invalid(std::string(row->name) + " with " + std::to_string(inputs) + " inputs, " +
                   std::to_string(ints) + " integers and " + std::to_string(floats) + " floats");
  GpuNode node;
  node.op = row->op;
  for (uint32_t i = 0; i < inputs; ++i) node.inputs.push_back(reader.read<uint32_t>());
  node.output = reader.read<uint32_t>();
  for (uint32_t i = 0; i < ints; ++i) node.ints.push_back(reader.read<int32_t>());
  for (uint32_t i = 0; i < floats; ++i) node.floats.push_back(reader.read<float>());
  return node;
}

// Checks that nodes read what earlier ones computed, and that each result has one node.
Status verify_order(const GpuGraph& graph) {
  std::vector<bool> exists;
  for (const GpuValue& value : graph.values) exists.push_back(value.role != ValueRole::kResult);
  for (const GpuNode& node : graph.nodes) {
    for (const uint32_t input : node.inputs) {
      if (input >= graph.values.size() || !exists[input])
        return invalid(std::string(to_text(node.op)) + " reads value " + std::to_string(input) +
                       ", not known before it");
    }
    if (node.output >= graph.values.size() || exists[node.output])
      return invalid(std::string(to_text(node.op)) + " writes value " + std::to_string(node.output) +
                     ", expected a new result");
    exists[node.output] = true;
  }
  if (std::find(exists.begin(), exists.end(), false) != exists.end())
    return invalid("a result without a node");
  return {};
}

Status verify_outputs(const GpuGraph& graph) {
  std::vector<bool> is_output(graph.values.size(), false);
  for (const uint32_t output : graph.outputs) {
    if (output >= graph.values.size() || graph.value(output).role != ValueRole::kResult || is_output[output])
      return invalid("output " + std::to_string(output) + ", expected a result, each once");
    is_output[output] = true;
  }
  return {};
}

}  // namespace

const char* to_text(Operator op) {
  const OperatorRow* row = find_operator(static_cast<uint16_t>(op));
  return row != nullptr ? row->name : "unknown operator";
}

std::string event_name(const GpuNode& node) {
  return std::string(to_text(node.op)) + " #" + std::to_string(node.output);
}

uint32_t payload_version(const GpuGraph& graph) {
  const bool is_second = std::any_of(graph.values.begin(), graph.values.end(), [](const GpuValue& value) {
    return value.host != HostNumbers::kSame || value.is_step;
  });
  return is_second ? 2 : 1;
}

std::vector<std::byte> write_payload(const GpuGraph& graph) {
  ByteWriter writer;
  writer.write(kPayloadMagic).write(payload_version(graph));
  writer.write(static_cast<uint32_t>(graph.values.size()));
  writer.write(static_cast<uint32_t>(graph.nodes.size()));
  writer.write(static_cast<uint32_t>(graph.outputs.size()));
  for (const GpuValue& value : graph.values) write_value(writer, value);
  for (const GpuNode& node : graph.nodes) write_node(writer, node);
  for (const uint32_t output : graph.outputs) writer.write(output);
  return writer.take();
}

Result<GpuGraph> read_payload(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  if (reader.read<uint32_t>() != kPayloadMagic) return invalid("does not begin with ETBG");
  const auto version = reader.read<uint32_t>();
  if (version == 0 || version > kPayloadVersion)
    return make_error(Code::INCOMPATIBLE, "payload: version " + std::to_string(version) +
                                              ", plugin reads 1 to " + std::to_string(kPayloadVersion));
  ETB_ASSIGN(const uint32_t values, read_count(reader, 2, "values"));
  ETB_ASSIGN(const uint32_t nodes, read_count(reader, 9, "nodes"));
  ETB_ASSIGN(const uint32_t outputs, read_count(reader, 4, "outputs"));
  GpuGraph graph;
  for (uint32_t i = 0; i < values; ++i) {
    ETB_ASSIGN(GpuValue value, read_value(reader, version));
    if (value.role == ValueRole::kInput) graph.inputs.push_back(i);
    graph.values.push_back(std::move(value));
  }
  for (uint32_t i = 0; i < nodes; ++i) {
    ETB_ASSIGN(GpuNode node, read_node(reader));
    graph.nodes.push_back(std::move(node));
  }
  for (uint32_t i = 0; i < outputs; ++i) graph.outputs.push_back(reader.read<uint32_t>());
  if (const Status whole = reader.finish(); !whole) return invalid(whole.error().message);
  ETB_TRY(verify_order(graph));
  ETB_TRY(verify_outputs(graph));
  return graph;
}

}  // namespace etb::gpu
