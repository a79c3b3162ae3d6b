// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/inspector/event_blocks.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace etb::inspector {
namespace {

using format::EtdumpBlock;
using format::EtdumpDebugEvent;
using format::EtdumpEvent;

// Instruction, chain, id and name inside the delegate.
using Place = std::tuple<int32_t, int32_t, int32_t, std::string>;

template <class Event>
Place place_of(const Event& event) {
  return {event.instruction_index, event.chain_index, event.delegate_debug_id, event.delegate_debug_name};
}

// The events and values of one instruction, or of one name inside a delegate, in one run.
struct Group {
  std::vector<std::pair<std::string, std::vector<const EtdumpEvent*>>> events;  // by name
  std::vector<const EtdumpDebugEvent*> values;
};

class RunGroups {
 public:
  explicit RunGroups(const EtdumpBlock& block) {
    // Both lists are sorted by position.
    size_t next_value = 0;
    const auto add_values = [&](uint32_t before) {
      for (; next_value < block.values.size() && block.values[next_value].position < before; ++next_value)
        add(block.values[next_value]);
    };
    for (const EtdumpEvent& event : block.events) {
      add_values(event.position);
      add(event);
    }
    add_values(UINT32_MAX);
  }

  const std::vector<std::pair<Place, Group>>& groups() const { return groups_; }
  const std::vector<const EtdumpDebugEvent*>& outputs() const { return outputs_; }

  // Equal for runs of one block.
  std::string signature() const {
    std::string out;
    const auto put = [&](const std::string& text) { out += std::to_string(text.size()) + ':' + text; };
    for (const auto& [place, group] : groups_) {
      put(std::to_string(std::get<0>(place)) + ',' + std::to_string(std::get<2>(place)) + ',' +
          std::get<3>(place));
      for (const auto& [name, events] : group.events) put(name);
      put(group.values.empty() ? "" : "value " + group.values.front()->name);
    }
    return out;
  }

 private:
  Group& group_of(const Place& place) {
    const auto [found, is_new] = indices_.try_emplace(place, groups_.size());
    if (is_new) groups_.emplace_back(place, Group{});
    return groups_[found->second].second;
  }
  void add(const EtdumpEvent& event) {
    auto& events = group_of(place_of(event)).events;
    const auto found =
        std::find_if(events.begin(), events.end(), [&](const auto& row) { return row.first == event.name; });
    if (found != events.end())
      found->second.push_back(&event);
    else
      events.push_back({event.name, {&event}});
  }
  void add(const EtdumpDebugEvent& value) {
    if (value.is_output)
      outputs_.push_back(&value);
    else
      group_of(place_of(value)).values.push_back(&value);
  }

  std::vector<std::pair<Place, Group>> groups_;
  std::map<Place, size_t> indices_;
  std::vector<const EtdumpDebugEvent*> outputs_;
};

std::string name_inside(const Place& place) {
  return std::get<3>(place).empty() ? std::to_string(std::get<2>(place)) : std::get<3>(place);
}

InspectedEvent make_event(const Place& place, const Group& group, const std::string& name) {
  InspectedEvent out;
  out.instruction_index = std::get<0>(place);
  out.is_inside_delegate = std::get<2>(place) >= 0 || !std::get<3>(place).empty();
  if (out.is_inside_delegate && std::get<3>(place).empty()) out.delegate_debug_id = std::get<2>(place);
  out.name = out.is_inside_delegate ? name_inside(place) : name;
  out.values = group.values;
  return out;
}

void add_times(InspectedEvent& to, const std::vector<const EtdumpEvent*>& events, double factor) {
  double sum = 0;
  for (const EtdumpEvent* event : events) sum += static_cast<double>(event->elapsed_ns()) / factor;
  to.times.push_back(sum);
  to.start_times.push_back(events.front()->begin_ns);
  to.metadata.emplace_back(reinterpret_cast<const char*>(events.front()->metadata.data()),
                           events.front()->metadata.size());
}

class BlockBuilder {
 public:
  BlockBuilder(const RecordIndex* record, double factor) : record_(record), factor_(factor) {}

  Status add(const EtdumpBlock& block) {
    const RunGroups run(block);
    if (run.groups().empty() && run.outputs().empty()) return {};
    const auto [found, is_new] =
        indices_.try_emplace({block.name, block.bundled_input_index, run.signature()}, blocks_.size());
    if (is_new) ETB_TRY(open(block, run));
    InspectedBlock& to = blocks_[found->second];
    ++to.run_count;
    size_t row = 0;
    for (const auto& [place, group] : run.groups()) {
      for (const auto& [name, events] : group.events) add_times(to.events[row++], events, factor_);
      if (group.events.empty()) ++row;
    }
    return {};
  }

  std::vector<InspectedBlock> take() {
    for (InspectedBlock& block : blocks_)
      for (InspectedEvent& event : block.events)
        if (std::all_of(event.metadata.begin(), event.metadata.end(),
                        [](const std::string& text) { return text.empty(); }))
          event.metadata.clear();
    return std::move(blocks_);
  }

 private:
  Status open(const EtdumpBlock& block, const RunGroups& run) {
    InspectedBlock& made = blocks_.emplace_back();
    made.name = block.name;
    made.bundled_input_index = block.bundled_input_index;
    made.outputs = run.outputs();
    const MethodIndex* method = nullptr;
    if (record_ != nullptr) {
      ETB_ASSIGN(method, record_->find_method(block));
    }
    if (method != nullptr) made.method = method->name();
    for (const auto& [place, group] : run.groups()) {
      for (const auto& [name, events] : group.events) {
        InspectedEvent& event = made.events.emplace_back(make_event(place, group, name));
        if (method != nullptr && !is_of_whole_method(*events.front()))
          event.origin = method->find(*events.front());
      }
      if (!group.events.empty()) continue;
      const EtdumpDebugEvent& value = *group.values.front();
      InspectedEvent& event = made.events.emplace_back(make_event(place, group, value.name));
      if (method != nullptr) event.origin = method->find(value, value.name);
    }
    return {};
  }

  const RecordIndex* record_;
  double factor_;
  std::vector<InspectedBlock> blocks_;
  std::map<std::tuple<std::string, int32_t, std::string>, size_t> indices_;
};

bool is_in_module(const Origin& origin, std::string_view module) {
  for (const record::RecordedNode* node : origin.nodes)
    for (const record::ModuleFrame& frame : node->modules)
      if (frame.path.find(module) != std::string::npos || frame.key.find(module) != std::string::npos ||
          frame.type.substr(frame.type.rfind('.') + 1) == module)
        return true;
  return false;
}

// True if another event of the instruction has the time of this one in parts.
bool has_parts(const InspectedBlock& block, const InspectedEvent& call) {
  return std::any_of(block.events.begin(), block.events.end(), [&](const InspectedEvent& event) {
    if (event.instruction_index != call.instruction_index || event.times.empty()) return false;
    return call.name == "DELEGATE_CALL" ? event.is_inside_delegate && !event.origin.nodes.empty()
                                        : event.name.starts_with("native_call_");
  });
}

}  // namespace

Result<std::vector<InspectedBlock>> inspect_blocks(std::span<const EtdumpBlock> blocks,
                                                   const RecordIndex* record, const InspectOptions& options) {
  BlockBuilder builder(record, scale_factor(options.source, options.target));
  size_t skipped = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].name == "Execute" && skipped < options.skipped_runs) {
      ++skipped;
      continue;
    }
    if (Status added = builder.add(blocks[i]); !added)
      return tl::make_unexpected(with_context(std::move(added).error(), "block " + std::to_string(i)));
  }
  return builder.take();
}

double find_total_for_module(std::span<const InspectedBlock> blocks, std::string_view module) {
  double total = 0;
  for (const InspectedBlock& block : blocks)
    for (const InspectedEvent& event : block.events) {
      const bool is_call = event.name == "OPERATOR_CALL" || event.name == "DELEGATE_CALL";
      if (is_in_module(event.origin, module) && !(is_call && has_parts(block, event)))
        total += mean(event.times);
    }
  return total;
}

}  // namespace etb::inspector
