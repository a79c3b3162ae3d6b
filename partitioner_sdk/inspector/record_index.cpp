// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/inspector/record_index.hpp"

#include <algorithm>

#include "api/format/etdump_program.hpp"
#include "api/format/printable_text.hpp"

namespace etb::inspector {
namespace {

constexpr std::string_view kNativeCall = "native_call_", kDelegateCall = "DELEGATE_CALL";
// So many operators that a record does not know are no accident of a pass.
constexpr uint64_t kStrangerLimit = 4;

std::string quoted(const std::string& text) { return "'" + format::made_printable(text) + "'"; }

std::string program_text(const format::ProgramIdentity& program) {
  return quoted(program.name) + " (SHA-256 " + program.sha256.substr(0, 12) + "...)";
}

}  // namespace

bool is_of_whole_method(const format::EtdumpEvent& event) {
  return event.name == "Method::execute" || event.name == "Method::init" ||
         event.name == "Program::load_method";
}

std::string base_of_op(std::string_view op) {
  if (op.starts_with(kNativeCall)) {
    op.remove_prefix(kNativeCall.size());
  } else if (const size_t dot = op.find('.'); dot != op.npos) {
    op.remove_prefix(dot + 1);
  }
  return std::string(op.substr(0, op.find('.')));
}

MethodIndex::MethodIndex(record::MethodMaps maps, std::vector<record::RecordedNode> nodes)
    : maps_(std::move(maps)), nodes_(std::move(nodes)) {
  for (uint32_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].debug_handle != 0) by_handle_[nodes_[i].debug_handle].push_back(i);
}

void MethodIndex::add_nodes(Origin& origin) const {
  for (const uint32_t handle : origin.debug_handles) {
    const auto found = by_handle_.find(handle);
    if (found == by_handle_.end()) continue;
    for (const uint32_t index : found->second) origin.nodes.push_back(&nodes_[index]);
  }
}

Origin MethodIndex::find(int32_t instruction, const std::string& delegate_name, int32_t delegate_id,
                         const std::string& name) const {
  Origin origin;
  if (instruction < 0) return origin;
  const auto index = static_cast<uint32_t>(instruction);
  const auto handles = maps_.handles.find(index);
  const auto call = maps_.delegates.find(index);
  if (const auto count = maps_.output_counts.find(index); count != maps_.output_counts.end())
    origin.output_count = count->second;
  const bool is_inside = delegate_id >= 0 || !delegate_name.empty();
  if (call != maps_.delegates.end() && (is_inside || name == kDelegateCall))
    origin.backend_id = call->second.backend_id;
  if (is_inside && call != maps_.delegates.end()) {
    const auto& map = call->second.handles;
    const auto found = map.find(delegate_name.empty() ? std::to_string(delegate_id) : delegate_name);
    if (found != map.end()) origin.debug_handles = found->second;
  } else if (handles != maps_.handles.end()) {
    origin.debug_handles = handles->second;
  }
  add_nodes(origin);
  return origin;
}

MethodIndex::Fit MethodIndex::fit(const format::EtdumpBlock& block) const {
  Fit fit;
  for (const format::EtdumpEvent& event : block.events) {
    if (event.is_of_delegate() || event.instruction_index < 0 || event.chain_index > 0) continue;
    const auto index = static_cast<uint32_t>(event.instruction_index);
    const auto call = maps_.delegates.find(index);
    const auto conflict = [&](const std::string& found, const std::string& expected) {
      if (fit.conflict.empty())
        fit.conflict = "instruction " + std::to_string(index) + ": the profile has " + found +
                       ", the record " + expected;
    };
    if (event.name == kDelegateCall) {
      if (call != maps_.delegates.end())
        ++fit.matches;
      else
        conflict("a call of a delegate", "none");
    } else if (event.name.starts_with(kNativeCall)) {
      const std::string op = base_of_op(event.name);
      if (call != maps_.delegates.end()) {
        conflict("the operator " + quoted(op), "a call of " + quoted(call->second.backend_id));
        continue;
      }
      const Origin origin = find(event);
      if (origin.nodes.empty()) continue;  // the emitter added the instruction
      const bool is_known = std::any_of(origin.nodes.begin(), origin.nodes.end(),
                                        [&](const auto* node) { return base_of_op(node->op) == op; });
      ++(is_known ? fit.matches : fit.strangers);
    }
  }
  return fit;
}

Result<RecordIndex> RecordIndex::make(record::Record record) {
  RecordIndex out;
  for (const record::MethodMaps& maps : record.methods) {
    std::vector<record::RecordedNode> nodes;
    if (const record::SavedProgram* program = record.find_edge_program(maps.name)) {
      ETB_ASSIGN(nodes, record::read_nodes(*program));
    }
    out.methods_.push_back(std::make_unique<MethodIndex>(maps, std::move(nodes)));
  }
  out.record_ = std::move(record);
  return out;
}

Status RecordIndex::expect_program_of(std::span<const format::EtdumpBlock> blocks,
                                      const std::string& profile_name, const std::string& record_name) const {
  const auto program = format::find_program(blocks);
  if (!program || !record_.program || program->sha256 == record_.program->sha256) return {};
  return make_error(
      Code::INVALID_DATA,
      quoted(profile_name) + " is a profile of " + program_text(*program) + ", " + quoted(record_name) +
          " is the record of " + program_text(*record_.program) +
          "\nhint: pass the record that `etbackend compile --etrecord` wrote with this program");
}

Result<const MethodIndex*> RecordIndex::find_method(const format::EtdumpBlock& block) const {
  const MethodIndex* best = nullptr;
  MethodIndex::Fit best_fit;
  const auto rank = [](const MethodIndex& method, const MethodIndex::Fit& fit) {
    return std::tuple(fit.conflict.empty(),
                      static_cast<int64_t>(fit.matches) - static_cast<int64_t>(fit.strangers),
                      method.name() == "forward");
  };
  const bool has_instructions =
      std::any_of(block.events.begin(), block.events.end(), [](const format::EtdumpEvent& event) {
        return event.instruction_index >= 0 && !is_of_whole_method(event);
      });
  if (!has_instructions || methods_.empty()) return static_cast<const MethodIndex*>(nullptr);
  for (const auto& method : methods_) {
    const MethodIndex::Fit fit = method->fit(block);
    if (best != nullptr && rank(*method, fit) <= rank(*best, best_fit)) continue;
    best = method.get();
    best_fit = fit;
  }
  if (best_fit.conflict.empty() && (best_fit.matches > 0 || best_fit.strangers < kStrangerLimit)) return best;
  const std::string why = best_fit.conflict.empty()
                              ? "none of " + std::to_string(best_fit.strangers) +
                                    " operators of the profile is that of its node in the record"
                              : best_fit.conflict;
  return make_error(Code::INVALID_DATA, "the profile is of another program than the record: method '" +
                                            format::made_printable(best->name()) + "' fits best, and " + why);
}

}  // namespace etb::inspector
