// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/recorded_values.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "api/format/etdump.hpp"
#include "api/format/input_file.hpp"
#include "partitioner_sdk/inspector/record_index.hpp"

namespace etb::diff {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{2} << 30;
constexpr const char* kKernelCall = "native_call_";
constexpr const char* kDelegateCall = "DELEGATE_CALL";
// The result of a delegate belongs to the value that it is close to, in dB.
constexpr double kLeastSnrOfDelegates = 10;
constexpr int kMaxMergedNodes = 3;  // after a node, such as batch norm and relu after a convolution

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Dimensions from the outermost to the innermost; empty for row-major.
std::vector<uint8_t> dim_order_of(const format::EtdumpTensor& tensor) {
  std::vector<uint8_t> order(tensor.sizes.size());
  std::iota(order.begin(), order.end(), uint8_t{0});
  const std::vector<uint8_t> row_major = order;
  if (tensor.strides.size() != order.size()) return {};
  std::stable_sort(order.begin(), order.end(),
                   [&](uint8_t x, uint8_t y) { return tensor.strides[x] > tensor.strides[y]; });
  return order == row_major ? std::vector<uint8_t>{} : order;
}

Result<TensorData> to_data(const format::EtdumpTensor& tensor, std::span<const std::byte> debug_buffer) {
  ETB_ASSIGN(const std::span<const std::byte> elements, format::find_elements(tensor, debug_buffer));
  return TensorData{{static_cast<etb_dtype>(tensor.dtype), tensor.sizes, dim_order_of(tensor)},
                    {elements.begin(), elements.end()}};
}

// Finds the nodes of the model for those of a record, or for the operators of a run.
class NodeIndex {
 public:
  explicit NodeIndex(const Model& model) : model_(model) {
    const auto& nodes = model.module().main().nodes;
    users_.resize(model.module().main().values.size());
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].debug_handle != 0) by_handle_[nodes[i].debug_handle].push_back(i);
      by_op_[model.op_of(i)].push_back(i);
      by_base_[inspector::base_of_op(model.op_of(i))].push_back(i);
      for (const ir::Argument& argument : nodes[i].args)
        ir::for_each_value(argument, [&](ir::ValueId id) { users_[id].push_back(i); });
    }
  }

  void use_record(const record::Record& record) {
    // Files of this project number the nodes as the importer does.
    has_own_handles_ = record.program.has_value();
    for (const record::SavedProgram& program : record.edge_programs) {
      if (program.name != "forward" && record.edge_programs.size() != 1) continue;
      const auto read = record::read_nodes(program);
      if (!read) continue;
      for (const record::RecordedNode& node : *read) names_by_op_[node.op].push_back(node.name);
    }
  }

  // Without a record: the operators of a run, by name.
  void use_events(const format::EtdumpBlock& block) {
    for (const format::EtdumpEvent& event : block.events)
      if (event.name.starts_with(kKernelCall))
        instructions_by_base_[inspector::base_of_op(event.name)].insert(event.instruction_index);
  }
  std::vector<ir::ValueId> find_candidates(const std::string& event, int32_t instruction) const {
    const std::string base = inspector::base_of_op(event);
    const auto ours = by_base_.find(base);
    const auto theirs = instructions_by_base_.find(base);
    std::vector<ir::ValueId> out;
    if (ours == by_base_.end() || theirs == instructions_by_base_.end() ||
        ours->second.size() != theirs->second.size())
      return out;
    const auto at = std::distance(theirs->second.begin(), theirs->second.find(instruction));
    add_outputs(ours->second[static_cast<size_t>(at)], kMaxMergedNodes, out);
    return out;
  }

  // Values that the nodes of an event may have computed.
  std::vector<ir::ValueId> find_candidates(const inspector::Origin& origin) const {
    std::set<uint32_t> nodes;
    if (has_own_handles_) {
      for (const uint32_t handle : origin.debug_handles)
        if (const auto found = by_handle_.find(handle); found != by_handle_.end())
          nodes.insert(found->second.begin(), found->second.end());
    } else {
      for (const record::RecordedNode* node : origin.nodes)
        if (const auto found = find_by_position(*node)) nodes.insert(*found);
    }
    std::vector<ir::ValueId> out;
    for (const uint32_t node : nodes) add_outputs(node, kMaxMergedNodes, out);
    return out;
  }

 private:
  // The same op at the same position among all nodes of this op, if both graphs have equally many.
  std::optional<uint32_t> find_by_position(const record::RecordedNode& node) const {
    const auto ours = by_op_.find(node.op);
    const auto theirs = names_by_op_.find(node.op);
    if (ours == by_op_.end() || theirs == names_by_op_.end()) return std::nullopt;
    if (ours->second.size() != theirs->second.size()) return std::nullopt;
    const auto at = std::find(theirs->second.begin(), theirs->second.end(), node.name);
    if (at == theirs->second.end()) return std::nullopt;
    return ours->second[static_cast<size_t>(at - theirs->second.begin())];
  }

  bool has_own_instruction(uint32_t node) const {
    const std::string base = inspector::base_of_op(model_.op_of(node));
    const auto found = instructions_by_base_.find(base);
    return found != instructions_by_base_.end() && found->second.size() == by_base_.at(base).size();
  }

  void add_outputs(uint32_t node, int depth, std::vector<ir::ValueId>& out) const {
    for (const ir::ValueId id : model_.module().main().nodes[node].outputs) {
      if (std::find(out.begin(), out.end(), id) != out.end()) continue;
      out.push_back(id);
      if (depth > 0 && users_[id].size() == 1 && !has_own_instruction(users_[id][0]))
        add_outputs(users_[id][0], depth - 1, out);
    }
  }

  const Model& model_;
  std::map<uint32_t, std::vector<uint32_t>> by_handle_;
  std::map<std::string, std::vector<uint32_t>> by_op_, by_base_;
  std::map<std::string, std::set<int32_t>> instructions_by_base_;
  std::map<std::string, std::vector<std::string>> names_by_op_;
  std::vector<std::vector<uint32_t>> users_;  // by value
  bool has_own_handles_ = false;
};

// Assigns tensors to values.
class Assignment {
 public:
  explicit Assignment(const Model& model) : model_(model) {}

  // `least_snr`: no assignment to a value that is farther away.
  void add(const std::vector<ir::ValueId>& candidates, TensorData tensor, const std::string& instruction,
           double least_snr = -HUGE_VAL) {
    std::optional<ir::ValueId> best;
    double least = HUGE_VAL;
    for (const ir::ValueId id : candidates) {
      const TensorData* const known = model_.find_value(id);
      if (known == nullptr || out_.values.count(id) != 0 || known->shape.dtype != tensor.shape.dtype)
        continue;
      const auto metrics = measure(*known, tensor);
      if (!metrics || !(metrics->snr >= least_snr) || (best && metrics->mse >= least)) continue;
      best = id;
      least = metrics->mse;
    }
    if (!best) return;
    out_.values[*best] = std::move(tensor);
    out_.instructions[*best] = instruction;
  }
  RecordedValues take() { return std::move(out_); }

 private:
  const Model& model_;
  RecordedValues out_;
};

std::vector<ir::ValueId> output_values(const Model& model) {
  std::vector<ir::ValueId> out;
  for (const ir::Output& output : model.module().main().outputs)
    if (const auto* const value = ir::get_if<ir::ValueRef>(output.value)) out.push_back(value->id);
  return out;
}

Result<std::vector<format::EtdumpBlock>> read_profile(const std::string& path) {
  ETB_ASSIGN(const std::string file, format::read_file_text(path, kMaxFileBytes));
  auto blocks = format::read_etdump(bytes_of(file));
  if (!blocks) return tl::make_unexpected(with_context(std::move(blocks).error(), "'" + path + "'"));
  return blocks;
}

const format::EtdumpBlock* find_last_run(const std::vector<format::EtdumpBlock>& blocks) {
  for (size_t i = blocks.size(); i-- > 0;)
    if (!blocks[i].values.empty()) return &blocks[i];
  return nullptr;
}

// Operators and calls of delegates, by instruction.
std::map<int32_t, std::string> instruction_names(const format::EtdumpBlock& block) {
  std::map<int32_t, std::string> out;
  for (const format::EtdumpEvent& event : block.events)
    if (event.name.starts_with(kKernelCall) || event.name == kDelegateCall)
      out.emplace(event.instruction_index, event.name);
  return out;
}

// "instruction 5, native_call_relu.out"
std::string describe_instruction(const std::map<int32_t, std::string>& names, int32_t instruction) {
  const auto found = names.find(instruction);
  return "instruction " + std::to_string(instruction) + (found == names.end() ? "" : ", " + found->second);
}

// Adds the outputs of the program, and what `candidates_of` finds for other values.
Status add_values(const Model& model, const format::EtdumpBlock& block,
                  std::span<const std::byte> debug_buffer,
                  const std::function<void(const format::EtdumpDebugEvent&, TensorData)>& add_value,
                  Assignment& out) {
  const std::vector<ir::ValueId> outputs = output_values(model);
  for (const format::EtdumpDebugEvent& event : block.values) {
    // Values inside of a delegate may be in any layout.
    if (event.is_of_delegate()) continue;
    for (const format::EtdumpTensor& tensor : event.value.tensors) {
      ETB_ASSIGN(TensorData data, to_data(tensor, debug_buffer));
      if (event.is_output)
        out.add(outputs, std::move(data), "an output of the program");
      else
        add_value(event, std::move(data));
    }
  }
  return {};
}

Result<RecordedValues> assign_by_record(const Model& model, const ProfileFiles& files,
                                        const std::vector<format::EtdumpBlock>& blocks,
                                        const format::EtdumpBlock& block,
                                        std::span<const std::byte> debug_buffer) {
  ETB_ASSIGN(record::Record record,
             record::read_record_file(files.record, record::Contents::kWithoutWeights));
  NodeIndex nodes(model);
  nodes.use_record(record);
  ETB_ASSIGN(const inspector::RecordIndex index, inspector::RecordIndex::make(std::move(record)));
  ETB_TRY(index.expect_program_of(blocks, files.profile, files.record));
  ETB_ASSIGN(const inspector::MethodIndex* method, index.find_method(block));
  const std::map<int32_t, std::string> names = instruction_names(block);
  Assignment out(model);
  const Status added = add_values(
      model, block, debug_buffer,
      [&](const format::EtdumpDebugEvent& event, TensorData data) {
        if (method == nullptr) return;
        out.add(nodes.find_candidates(method->find(event, event.name)), std::move(data),
                describe_instruction(names, event.instruction_index));
      },
      out);
  if (!added) return tl::make_unexpected(with_context(added.error(), "'" + files.debug_buffer + "'"));
  return out.take();
}

std::vector<ir::ValueId> all_values(const Model& model) {
  std::vector<ir::ValueId> out;
  for (const ir::Node& node : model.module().main().nodes)
    out.insert(out.end(), node.outputs.begin(), node.outputs.end());
  return out;
}

}  // namespace

Result<RecordedValues> assign_values(const Model& model, const std::vector<format::EtdumpBlock>& blocks,
                                     std::span<const std::byte> debug_buffer) {
  const format::EtdumpBlock* const block = find_last_run(blocks);
  if (block == nullptr) return make_error(Code::INVALID_DATA, "no values of a run");
  NodeIndex nodes(model);
  nodes.use_events(*block);
  const std::map<int32_t, std::string> names = instruction_names(*block);
  const std::vector<ir::ValueId> all = all_values(model);
  Assignment out(model);
  ETB_TRY(add_values(
      model, *block, debug_buffer,
      [&](const format::EtdumpDebugEvent& event, TensorData data) {
        const auto found = names.find(event.instruction_index);
        if (found == names.end()) return;
        const std::string text = describe_instruction(names, event.instruction_index);
        if (found->second == kDelegateCall)
          out.add(all, std::move(data), text, kLeastSnrOfDelegates);
        else
          out.add(nodes.find_candidates(found->second, event.instruction_index), std::move(data), text);
      },
      out));
  return out.take();
}

std::string find_instruction(const std::vector<format::EtdumpBlock>& blocks,
                             std::span<const std::byte> debug_buffer, const TensorData& value) {
  const format::EtdumpBlock* const block = find_last_run(blocks);
  if (block == nullptr) return "";
  for (size_t i = block->values.size(); i-- > 0;) {
    const format::EtdumpDebugEvent& event = block->values[i];
    if (event.is_output || event.is_of_delegate()) continue;
    for (const format::EtdumpTensor& tensor : event.value.tensors) {
      const auto data = to_data(tensor, debug_buffer);
      if (data && data->bytes == value.bytes && data->shape.dtype == value.shape.dtype)
        return describe_instruction(instruction_names(*block), event.instruction_index);
    }
  }
  return "";
}

Result<RecordedValues> read_recorded_values(const Model& model, const ProfileFiles& files) {
  if (files.debug_buffer.empty())
    return make_error(
        Code::INVALID_ARGUMENT,
        "'" + files.profile + "': a profile needs --debug-buffer FILE, which the run wrote beside it");
  ETB_ASSIGN(const std::vector<format::EtdumpBlock> blocks, read_profile(files.profile));
  ETB_ASSIGN(const std::string text, format::read_file_text(files.debug_buffer, kMaxFileBytes));
  const std::span<const std::byte> buffer = bytes_of(text);
  const format::EtdumpBlock* const block = find_last_run(blocks);
  if (block == nullptr)
    return make_error(Code::INVALID_DATA,
                      "'" + files.profile + "': no values of a run\nhint: record them with a debug buffer");
  auto read = files.record.empty() ? assign_values(model, blocks, buffer)
                                   : assign_by_record(model, files, blocks, *block, buffer);
  if (!read) return tl::make_unexpected(read.error());
  if (read->values.empty())
    return make_error(Code::INVALID_DATA,
                      "'" + files.profile + "': no tensor belongs to a node of the model" +
                          (files.record.empty() ? "\nhint: --etrecord FILE, which the compilation wrote, "
                                                  "names the nodes of its instructions"
                                                : ""));
  return read;
}

}  // namespace etb::diff
