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
// Bits of the byte of a role.
constexpr uint32_t kStepBit = 1u << 4;   // the value is a step
constexpr uint32_t kCodesBit = 1u << 5;  // the constant has codes
constexpr uint32_t kCodesNbytes = 14;

void write_codes(ByteWriter& writer, const Codes& codes) {
  writer.write(static_cast<uint8_t>(codes.bits)).write(static_cast<uint8_t>(codes.axis));
  writer.write(codes.group).write(codes.scales).write(codes.zero_points);
}

void write_value(ByteWriter& writer, const GpuValue& value) {
  const auto type = static_cast<uint32_t>(value.type), host = static_cast<uint32_t>(value.host);
  const uint32_t role = static_cast<uint32_t>(value.role) | (value.is_step ? kStepBit : 0) |
                        (value.codes.bits != 0 ? kCodesBit : 0);
  writer.write(static_cast<uint8_t>(role)).write(static_cast<uint8_t>(type | host << kHostShift));
  if (value.role == ValueRole::kResult) return;
  writer.write(static_cast<uint8_t>(value.shape.rank));
  for (uint32_t d = 0; d < value.shape.rank; ++d) writer.write(value.shape.sizes[d]);
  if (value.role == ValueRole::kConstant) {
    writer.write(static_cast<uint32_t>(value.key.size()));
    writer.write_bytes(std::as_bytes(std::span(value.key)));
    if (value.codes.bits != 0) write_codes(writer, value.codes);
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
  if (host == static_cast<uint32_t>(HostNumbers::kHalves) && version >= 3 &&
      value.type == DataType::kFloat32 && value.role != ValueRole::kInline) {
    value.host = HostNumbers::kHalves;
    return {};
  }
  const bool may_be_bools = version >= 2 && value.type == DataType::kFloat32 &&
                            (value.role == ValueRole::kInput || value.role == ValueRole::kResult);
  const bool is_position =
      host == static_cast<uint32_t>(HostNumbers::kIntegers) && value.role == ValueRole::kResult;
  if (!may_be_bools || (host != static_cast<uint32_t>(HostNumbers::kBools) && !is_position))
    return invalid("numbers " + std::to_string(host) + " of a value");
  value.host = static_cast<HostNumbers>(host);
  return {};
}

// Checks what does not depend on other values: verify_codes() does the rest.
Result<Codes> read_codes(ByteReader& reader, const GpuValue& value, uint32_t version) {
  if (version < 3 || value.role != ValueRole::kConstant || value.type != DataType::kFloat32 ||
      value.host != HostNumbers::kSame)
    return invalid("codes of a value, expected those of a constant of floats");
  if (!reader.fits(1, kCodesNbytes)) return invalid("codes past the end");
  Codes codes;
  codes.bits = reader.read<uint8_t>();
  codes.axis = reader.read<uint8_t>();
  codes.group = reader.read<uint32_t>();
  codes.scales = reader.read<uint32_t>();
  codes.zero_points = reader.read<uint32_t>();
  if (codes.bits != 8 && codes.bits != 4)
    return invalid("codes of " + std::to_string(codes.bits) + " bits, expected 4 or 8");
  return codes;
}

Status read_key(ByteReader& reader, GpuValue& value) {
  const auto nbytes = reader.read<uint32_t>();
  if (nbytes == 0 || nbytes > kMaxKeyNbytes) return invalid("a key of " + std::to_string(nbytes) + " bytes");
  const auto key = reader.read_bytes(nbytes);
  value.key.assign(reinterpret_cast<const char*>(key.data()), key.size());
  if (value.key.find('\0') != std::string::npos) return invalid("a key with a zero byte");
  return {};
}

Result<GpuValue> read_value(ByteReader& reader, uint32_t version) {
  GpuValue value;
  const auto role_byte = reader.read<uint8_t>(), both = reader.read<uint8_t>();
  const uint32_t role = role_byte & ~(kStepBit | kCodesBit);
  const bool has_codes = (role_byte & kCodesBit) != 0;
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
  if (has_codes && value.role != ValueRole::kConstant) return invalid("codes of a value that is no constant");
  if (value.role == ValueRole::kResult) return value;
  ETB_ASSIGN(value.shape, read_shape(reader));
  if (value.role == ValueRole::kConstant) {
    ETB_TRY(read_key(reader, value));
    if (has_codes) {
      ETB_ASSIGN(value.codes, read_codes(reader, value, version));
    }
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

Result<GpuNode> read_node(ByteReader& reader, uint32_t version) {
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
  if (node.op == Operator::kEmbedding && ints != 0 && (version < 4 || node.ints[field::kFirstRow] < 0))
    return invalid("a table of version " + std::to_string(version) + " that begins at row " +
                   std::to_string(node.ints[field::kFirstRow]));
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

// Checks the scales or zero points of a constant of codes.
Status verify_factors(const GpuGraph& graph, const GpuValue& value, uint32_t id) {
  const bool is_known = id < graph.values.size();
  const GpuValue* factors = is_known ? &graph.value(id) : nullptr;
  if (factors == nullptr || factors->type != DataType::kFloat32 || factors->codes.bits != 0 ||
      (factors->role != ValueRole::kConstant && factors->role != ValueRole::kInline))
    return invalid("scales " + std::to_string(id) + ", expected a constant of floats");
  const Codes& codes = value.codes;
  const uint64_t expected =
      uint64_t{value.shape.sizes[codes.axis]} * (codes.group == 0 ? 1 : value.shape.sizes[1] / codes.group);
  const uint64_t count = factors->shape.numel();
  if (count != expected && (count != 1 || codes.group != 0))
    return invalid(std::to_string(count) + " scales, expected " + std::to_string(expected));
  return {};
}

Status verify_codes(const GpuGraph& graph) {
  for (const GpuValue& value : graph.values) {
    const Codes& codes = value.codes;
    if (codes.bits == 0) continue;
    if (codes.axis >= value.shape.rank)
      return invalid("codes of dimension " + std::to_string(codes.axis) + ", rank is " +
                     std::to_string(value.shape.rank));
    if (codes.group != 0 &&
        (value.shape.rank != 2 || codes.axis != 0 || value.shape.sizes[1] % codes.group != 0))
      return invalid("groups of " + std::to_string(codes.group) + " codes, expected parts of a row");
    ETB_TRY(verify_factors(graph, value, codes.scales));
    if (codes.zero_points != kNoValue) ETB_TRY(verify_factors(graph, value, codes.zero_points));
  }
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
  const bool is_fourth = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const GpuNode& node) {
    return node.op == Operator::kEmbedding && !node.ints.empty();
  });
  if (is_fourth) return 4;
  const bool is_third = std::any_of(graph.values.begin(), graph.values.end(), [](const GpuValue& value) {
    return value.codes.bits != 0 || value.host == HostNumbers::kHalves;
  });
  if (is_third) return 3;
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
    ETB_ASSIGN(GpuNode node, read_node(reader, version));
    graph.nodes.push_back(std::move(node));
  }
  for (uint32_t i = 0; i < outputs; ++i) graph.outputs.push_back(reader.read<uint32_t>());
  if (const Status whole = reader.finish(); !whole) return invalid(whole.error().message);
  ETB_TRY(verify_order(graph));
  ETB_TRY(verify_codes(graph));
  ETB_TRY(verify_outputs(graph));
  return graph;
}

}  // namespace etb::gpu
