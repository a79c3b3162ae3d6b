// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/recorded_values.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "api/format/etdump.hpp"
#include "api/format/input_file.hpp"
#include "partitioner_sdk/inspector/record_index.hpp"

namespace etb::diff {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{2} << 30;
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

// Finds the nodes of the model for those of a record.
class NodeIndex {
 public:
  NodeIndex(const Model& model, const record::Record& record) : model_(model) {
    const auto& nodes = model.module().main().nodes;
    users_.resize(model.module().main().values.size());
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].debug_handle != 0) by_handle_[nodes[i].debug_handle].push_back(i);
      by_op_[model.op_of(i)].push_back(i);
      for (const ir::Argument& argument : nodes[i].args)
        ir::for_each_value(argument, [&](ir::ValueId id) { users_[id].push_back(i); });
    }
    // Files of this project number the nodes as the importer does.
    has_own_handles_ = record.program.has_value();
    for (const record::SavedProgram& program : record.edge_programs) {
      if (program.name != "forward" && record.edge_programs.size() != 1) continue;
      const auto read = record::read_nodes(program);
      if (!read) continue;
      for (const record::RecordedNode& node : *read) names_by_op_[node.op].push_back(node.name);
    }
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

  void add_outputs(uint32_t node, int depth, std::vector<ir::ValueId>& out) const {
    for (const ir::ValueId id : model_.module().main().nodes[node].outputs) {
      if (std::find(out.begin(), out.end(), id) != out.end()) continue;
      out.push_back(id);
      if (depth > 0 && users_[id].size() == 1) add_outputs(users_[id][0], depth - 1, out);
    }
  }

  const Model& model_;
  std::map<uint32_t, std::vector<uint32_t>> by_handle_;
  std::map<std::string, std::vector<uint32_t>> by_op_;
  std::map<std::string, std::vector<std::string>> names_by_op_;
  std::vector<std::vector<uint32_t>> users_;  // by value
  bool has_own_handles_ = false;
};

// Assigns tensors to values.
class Assignment {
 public:
  explicit Assignment(const Model& model) : model_(model) {}

  void add(const std::vector<ir::ValueId>& candidates, TensorData tensor) {
    std::optional<ir::ValueId> best;
    double least = HUGE_VAL;
    for (const ir::ValueId id : candidates) {
      const TensorData* const known = model_.find_value(id);
      if (known == nullptr || values_.count(id) != 0 || known->shape.dtype != tensor.shape.dtype) continue;
      const auto metrics = measure(*known, tensor);
      if (!metrics || (best && metrics->mse >= least)) continue;
      best = id;
      least = metrics->mse;
    }
    if (best) values_[*best] = std::move(tensor);
  }
  std::map<ir::ValueId, TensorData> take() { return std::move(values_); }

 private:
  const Model& model_;
  std::map<ir::ValueId, TensorData> values_;
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

}  // namespace

Result<std::map<ir::ValueId, TensorData>> read_recorded_values(const Model& model,
                                                               const ProfileFiles& files) {
  if (files.debug_buffer.empty() || files.record.empty())
    return make_error(Code::INVALID_ARGUMENT, "'" + files.profile + "': a profile needs " +
                                                  (files.record.empty() ? "--etrecord" : "--debug-buffer") +
                                                  " FILE, which the run or the compilation wrote beside it");
  ETB_ASSIGN(const std::vector<format::EtdumpBlock> blocks, read_profile(files.profile));
  ETB_ASSIGN(const std::string buffer, format::read_file_text(files.debug_buffer, kMaxFileBytes));
  ETB_ASSIGN(record::Record record,
             record::read_record_file(files.record, record::Contents::kWithoutWeights));
  const NodeIndex nodes(model, record);
  ETB_ASSIGN(const inspector::RecordIndex index, inspector::RecordIndex::make(std::move(record)));
  ETB_TRY(index.expect_program_of(blocks, files.profile, files.record));
  const format::EtdumpBlock* const block = find_last_run(blocks);
  if (block == nullptr)
    return make_error(Code::INVALID_DATA,
                      "'" + files.profile + "': no values of a run\nhint: record them with a debug buffer");
  ETB_ASSIGN(const inspector::MethodIndex* method, index.find_method(*block));
  Assignment out(model);
  const std::vector<ir::ValueId> outputs = output_values(model);
  for (const format::EtdumpDebugEvent& event : block->values) {
    // Values inside of a delegate may be in any layout.
    if (event.is_of_delegate() || (!event.is_output && method == nullptr)) continue;
    const std::vector<ir::ValueId> candidates =
        event.is_output ? outputs : nodes.find_candidates(method->find(event, event.name));
    for (const format::EtdumpTensor& tensor : event.value.tensors) {
      auto data = to_data(tensor, bytes_of(buffer));
      if (!data)
        return tl::make_unexpected(with_context(std::move(data).error(), "'" + files.debug_buffer + "'"));
      out.add(candidates, *std::move(data));
    }
  }
  std::map<ir::ValueId, TensorData> values = out.take();
  if (values.empty())
    return make_error(Code::INVALID_DATA,
                      "'" + files.profile + "': no tensor belongs to a node of the model");
  return values;
}

}  // namespace etb::diff
