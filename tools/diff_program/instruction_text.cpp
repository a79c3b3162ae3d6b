// SPDX-License-Identifier: Apache-2.0
#include "tools/diff_program/instruction_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/format/tensor_layout.hpp"

namespace etb::tools {
namespace {

using format::InstructionKind;
using format::MethodView;
using format::Storage;
using format::ValueKind;

std::string tensor_text(const format::TensorRecord& tensor) {
  std::string text = fmt::format("{} [{}]", format::dtype_text(tensor.dtype), fmt::join(tensor.sizes, ", "));
  for (size_t i = 0; i < tensor.dim_order.size(); ++i)
    if (tensor.dim_order[i] != i) {
      text += fmt::format(" in order {}", fmt::join(tensor.dim_order, ""));
      break;
    }
  if (tensor.dynamism != format::Dynamism::kStatic) text += " dynamic";
  if (tensor.storage == Storage::kConstant) text += " constant";
  if (tensor.storage == Storage::kPlannedInitialized) text += " state";
  if (tensor.storage == Storage::kExternal || tensor.storage == Storage::kPlannedExternal)
    text += fmt::format(" external '{}'", tensor.name);
  return text;
}

// "1.0", not "1", which is an int.
std::string double_text(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

std::string list_text(const MethodView& method, std::span<const int64_t> values) {
  std::vector<std::string> items;
  for (const int64_t value : values) items.push_back(value_text(method, static_cast<uint32_t>(value)));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

}  // namespace

std::string operator_text(const format::OperatorView& op) {
  return op.overload.empty() ? std::string(op.name) : fmt::format("{}.{}", op.name, op.overload);
}

std::string value_text(const MethodView& method, uint32_t index) {
  const auto value = method.value(index);
  switch (value.kind()) {
    case ValueKind::kNull:
      return "none";
    case ValueKind::kInt:
      return std::to_string(value.as_int());
    case ValueKind::kBool:
      return value.as_bool() ? "true" : "false";
    case ValueKind::kDouble:
      return double_text(value.as_double());
    case ValueKind::kTensor:
      return tensor_text(value.as_tensor());
    case ValueKind::kString:
      return fmt::format("'{}'", value.as_string());
    case ValueKind::kIntList:
      return list_text(method, value.int_list());
    case ValueKind::kDoubleList: {
      std::vector<std::string> items;
      for (const double item : value.double_list()) items.push_back(double_text(item));
      return fmt::format("[{}]", fmt::join(items, ", "));
    }
    case ValueKind::kBoolList: {
      std::vector<const char*> items;
      for (const uint8_t item : value.bool_list()) items.push_back(item != 0 ? "true" : "false");
      return fmt::format("[{}]", fmt::join(items, ", "));
    }
    case ValueKind::kTensorList:
    case ValueKind::kOptionalTensorList:
      break;
  }
  std::vector<std::string> items;
  for (const int32_t item : value.tensor_list())
    items.push_back(item < 0 ? "none" : value_text(method, static_cast<uint32_t>(item)));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string instruction_text(const MethodView& method, const format::InstructionView& instruction) {
  const auto call = [&](const std::string& name) {
    std::vector<std::string> args;
    for (const int32_t arg : instruction.args) args.push_back(value_text(method, static_cast<uint32_t>(arg)));
    return fmt::format("{}({})", name, fmt::join(args, ", "));
  };
  switch (instruction.kind) {
    case InstructionKind::kKernel:
      return call(operator_text(method.op(instruction.a)));
    case InstructionKind::kDelegate:
      return call(fmt::format("delegate {}", method.delegate(instruction.a).id()));
    case InstructionKind::kMove:
      return fmt::format("move({}, {})", value_text(method, instruction.a),
                         value_text(method, instruction.b));
    case InstructionKind::kJumpFalse:
      return fmt::format("jump_false({})", value_text(method, instruction.a));
    case InstructionKind::kFree:
      return fmt::format("free({})", value_text(method, instruction.a));
  }
  return "unknown";
}

std::vector<PlacedInstruction> instructions_of(const MethodView& method) {
  std::vector<PlacedInstruction> out;
  for (uint32_t c = 0; c < method.chain_count(); ++c)
    for (uint32_t i = 0; i < method.chain(c).instruction_count(); ++i)
      out.push_back({c, i, method.chain(c).instruction(i)});
  return out;
}

std::vector<uint32_t> tensors_of(const MethodView& method, const format::InstructionView& instruction) {
  std::vector<uint32_t> out;
  for (const int32_t arg : instruction.args) {
    const auto value = method.value(static_cast<uint32_t>(arg));
    if (value.kind() == ValueKind::kTensor) out.push_back(static_cast<uint32_t>(arg));
    if (value.kind() != ValueKind::kTensorList && value.kind() != ValueKind::kOptionalTensorList) continue;
    for (const int32_t item : value.tensor_list())
      if (item >= 0) out.push_back(static_cast<uint32_t>(item));
  }
  return out;
}

}  // namespace etb::tools
