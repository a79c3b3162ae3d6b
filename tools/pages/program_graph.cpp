// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "api/format/tensor_layout.hpp"
#include "tools/pages/graph_document.hpp"

namespace etb::pages {
namespace {

using format::InstructionKind;
using format::ValueKind;

// The instructions of a method as nodes. A program does not state which arguments an instruction writes: those that no
// instruction before named, and the last one of a kernel.
class MethodRows {
 public:
  MethodRows(const format::MethodView& method, std::vector<std::string>& plugins)
      : method_(method), plugins_(plugins) {}

  Json rows() {
    for (const int32_t input : method_.inputs()) {
      define(input, static_cast<uint32_t>(rows_.size()));
      rows_.push_back({{"op", "input"}, {"name", name_of(input)}, {"spec", spec(input)}});
    }
    for (uint32_t c = 0; c < method_.chain_count(); ++c)
      for (uint32_t i = 0; i < method_.chain(c).instruction_count(); ++i)
        add(method_.chain(c).instruction(i), (c == 0 ? "" : std::to_string(c) + ":") + std::to_string(i));
    uint32_t index = 0;
    for (const int32_t output : method_.outputs()) {
      Json row{{"op", "output"}, {"name", std::to_string(index++)}, {"spec", spec(output)}};
      std::set<uint32_t> needs;
      add_need(output, needs);
      row["needs"] = needs;
      rows_.push_back(std::move(row));
    }
    return std::move(rows_);
  }

 private:
  void define(int32_t value, uint32_t row) {
    definer_[value] = row;
    const auto view = method_.value(static_cast<uint32_t>(value));
    if (view.kind() != ValueKind::kTensorList && view.kind() != ValueKind::kOptionalTensorList) return;
    for (const int32_t item : view.tensor_list())
      if (item >= 0) definer_[item] = row;
  }
  void add_need(int32_t value, std::set<uint32_t>& needs) const {
    if (const auto found = definer_.find(value); found != definer_.end()) needs.insert(found->second);
    const auto view = method_.value(static_cast<uint32_t>(value));
    if (view.kind() != ValueKind::kTensorList && view.kind() != ValueKind::kOptionalTensorList) return;
    for (const int32_t item : view.tensor_list())
      if (const auto found = definer_.find(item); found != definer_.end()) needs.insert(found->second);
  }
  std::string name_of(int32_t value) const {
    const auto view = method_.value(static_cast<uint32_t>(value));
    if (view.kind() == ValueKind::kTensor && !view.as_tensor().name.empty())
      return std::string(view.as_tensor().name);
    return "value " + std::to_string(value);
  }
  std::string spec(int32_t value) const {
    const auto view = method_.value(static_cast<uint32_t>(value));
    if (view.kind() != ValueKind::kTensor) return format::to_text(view.kind());
    const auto tensor = view.as_tensor();
    std::string text = std::string(format::dtype_text(tensor.dtype)) + "[";
    for (size_t i = 0; i < tensor.sizes.size(); ++i)
      text += (i == 0 ? "" : ", ") + std::string(tensor.dynamism == format::Dynamism::kBounded ? "≤" : "") +
              std::to_string(tensor.sizes[i]);
    return text + "]";
  }
  bool is_constant(int32_t value) const {
    const auto view = method_.value(static_cast<uint32_t>(value));
    if (view.kind() != ValueKind::kTensor) return false;
    const format::Storage storage = view.as_tensor().storage;
    return storage == format::Storage::kConstant || storage == format::Storage::kExternal;
  }
  bool is_tensor(int32_t value) const {
    const ValueKind kind = method_.value(static_cast<uint32_t>(value)).kind();
    return kind == ValueKind::kTensor || kind == ValueKind::kTensorList;
  }
  size_t plugin(std::string_view id) {
    const auto index =
        static_cast<size_t>(std::find(plugins_.begin(), plugins_.end(), id) - plugins_.begin());
    if (index == plugins_.size()) plugins_.emplace_back(id);
    return index;
  }

  void add(const format::InstructionView& instruction, const std::string& place) {
    const auto index = static_cast<uint32_t>(rows_.size());
    Json row{{"op", ""}, {"name", "instruction " + place}, {"spec", ""}};
    std::vector<int32_t> args(instruction.args.begin(), instruction.args.end());
    switch (instruction.kind) {
      case InstructionKind::kKernel: {
        const auto op = method_.op(instruction.a);
        row["op"] = std::string(op.name) + (op.overload.empty() ? "" : "." + std::string(op.overload));
        break;
      }
      case InstructionKind::kDelegate: {
        const std::string id(method_.delegate(instruction.a).id());
        row["op"] = id;
        row["plugin"] = plugin(id);
        row["region"] = instruction.a;
        break;
      }
      case InstructionKind::kMove:
        row["op"] = "move";
        args = {static_cast<int32_t>(instruction.a), static_cast<int32_t>(instruction.b)};
        break;
      case InstructionKind::kJumpFalse:
        row["op"] = "jump if false";
        row["attrs"] = {{"to instruction", std::to_string(instruction.b)}};
        args = {static_cast<int32_t>(instruction.a)};
        break;
      case InstructionKind::kFree:
        row["op"] = "free";
        args = {static_cast<int32_t>(instruction.a)};
        break;
    }
    add_values(args, instruction.kind, index, row);
    rows_.push_back(std::move(row));
  }

  void add_values(const std::vector<int32_t>& args, InstructionKind kind, uint32_t index, Json& row) {
    const bool writes_last = kind == InstructionKind::kKernel || kind == InstructionKind::kMove;
    std::set<uint32_t> needs;
    std::set<int32_t> written;
    Json constants = Json::array();
    for (size_t i = 0; i < args.size(); ++i) {
      const int32_t value = args[i];
      if (value < 0) continue;
      if (is_constant(value)) {
        constants.push_back(name_of(value) + " " + spec(value));
      } else if (is_tensor(value) && ((writes_last && value == args.back()) ||
                                      (definer_.count(value) == 0 && !is_state(value)))) {
        written.insert(value);
        if (definer_.count(value) != 0) add_need(value, needs);
      } else {
        add_need(value, needs);
      }
    }
    std::string specs;
    for (const int32_t value : written) {
      specs += (specs.empty() ? "" : ", ") + spec(value);
      define(value, index);
    }
    row["spec"] = specs;
    row["needs"] = needs;
    if (!constants.empty()) row["constants"] = std::move(constants);
  }
  bool is_state(int32_t value) const {
    const auto view = method_.value(static_cast<uint32_t>(value));
    if (view.kind() != ValueKind::kTensor) return false;
    const format::Storage storage = view.as_tensor().storage;
    return storage == format::Storage::kPlannedInitialized || storage == format::Storage::kPlannedExternal;
  }

  const format::MethodView& method_;
  std::vector<std::string>& plugins_;
  std::map<int32_t, uint32_t> definer_;  // row that wrote a value last
  Json rows_ = Json::array();
};

}  // namespace

Json program_graphs(const format::ProgramView& program, std::vector<std::string>& plugins) {
  Json graphs = Json::array();
  for (uint32_t i = 0; i < program.method_count(); ++i) {
    const format::MethodView method = program.method(i);
    graphs.push_back({{"name", method.name()}, {"nodes", MethodRows(method, plugins).rows()}});
  }
  return graphs;
}

}  // namespace etb::pages
