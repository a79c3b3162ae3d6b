// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/event_blocks_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "api/format/printable_text.hpp"
#include "etb/cpp/tensor.hpp"

namespace etb::tools {
namespace {

using Json = nlohmann::ordered_json;
using inspector::InspectedBlock;
using inspector::InspectedEvent;
using inspector::quantile;

Json tensor_json(const format::EtdumpTensor& tensor) {
  return {{"dtype", dtype_text(static_cast<etb_dtype>(tensor.dtype))},
          {"sizes", tensor.sizes},
          {"strides", tensor.strides},
          {"offset", tensor.offset}};
}

Json value_json(const format::EtdumpDebugEvent& event) {
  const format::EtdumpValue& value = event.value;
  switch (value.kind) {
    case format::EtdumpValueKind::kInt:
      return {{"int", value.integer}};
    case format::EtdumpValueKind::kBool:
      return {{"bool", value.boolean}};
    case format::EtdumpValueKind::kFloat:
    case format::EtdumpValueKind::kDouble:
      return {{"float", value.real}};
    case format::EtdumpValueKind::kTensor:
      return {{"tensor", value.tensors.empty() ? Json(nullptr) : tensor_json(value.tensors.front())}};
    case format::EtdumpValueKind::kTensorList: {
      Json list = Json::array();
      for (const format::EtdumpTensor& tensor : value.tensors) list.push_back(tensor_json(tensor));
      return {{"tensors", std::move(list)}};
    }
    default:
      return nullptr;
  }
}

Json values_json(const std::vector<const format::EtdumpDebugEvent*>& values) {
  Json out = Json::array();
  for (const format::EtdumpDebugEvent* value : values) out.push_back(value_json(*value));
  return out;
}

std::vector<std::string> op_types(const InspectedEvent& event) {
  std::vector<std::string> out;
  for (const record::RecordedNode* node : event.origin.nodes) out.push_back(node->op);
  return out;
}

// As in the official data: one module stack for each node, by its name.
Json modules_json(const record::RecordedNode& node) {
  Json out = Json::object();
  for (const record::ModuleFrame& frame : node.modules)
    out[frame.key.empty() ? frame.path : frame.key] = Json::array({frame.path, frame.type});
  return out;
}

Json identifier_json(const InspectedEvent& event) {
  if (!event.is_inside_delegate) return nullptr;
  return event.delegate_debug_id ? Json(*event.delegate_debug_id) : Json(event.name);
}

Json event_json(const InspectedEvent& event) {
  Json traces = Json::object(), modules = Json::object(), sources = Json::array();
  for (const record::RecordedNode* node : event.origin.nodes) {
    traces[node->name] = node->stack_trace.empty() ? Json(nullptr) : Json(node->stack_trace);
    modules[node->name] = modules_json(*node);
    sources.push_back(node_json(*node));
  }
  const bool has_times = !event.times.empty();
  const auto number = [&](double value) { return has_times ? Json(value) : Json(nullptr); };
  return {{"name", event.name},
          {"instruction_id", event.instruction_index},
          {"raw", has_times ? Json(event.times) : Json(nullptr)},
          {"p10", number(quantile(event.times, 0.1))},
          {"p50", number(quantile(event.times, 0.5))},
          {"p90", number(quantile(event.times, 0.9))},
          {"avg", number(inspector::mean(event.times))},
          {"min", number(quantile(event.times, 0))},
          {"max", number(quantile(event.times, 1))},
          {"op_types", op_types(event)},
          {"delegate_debug_identifier", identifier_json(event)},
          {"debug_handles", event.origin.debug_handles},
          {"num_outputs", event.origin.output_count},
          {"stack_traces", std::move(traces)},
          {"module_hierarchy", std::move(modules)},
          {"sources", std::move(sources)},
          {"is_delegated_op", event.is_inside_delegate},
          {"delegate_backend_name",
           event.origin.backend_id.empty() ? Json(nullptr) : Json(event.origin.backend_id)},
          {"delegate_debug_metadatas", event.metadata},
          {"debug_data", values_json(event.values)},
          {"start_time", event.start_times}};
}

// A list as Python prints it.
std::string python_list(const std::vector<std::string>& items) {
  if (items.size() > 4)
    return fmt::format("['{}', '{}' ... '{}'] ({} total)", items[0], items[1], items.back(), items.size());
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "'" : ", '") + item + "'";
  return "[" + out + "]";
}

std::string tsv_row(const InspectedBlock& block, const InspectedEvent& event) {
  std::string out = format::made_printable(block.name) + '\t' + format::made_printable(event.name);
  for (const double value :
       {quantile(event.times, 0.1), quantile(event.times, 0.5), quantile(event.times, 0.9),
        inspector::mean(event.times), quantile(event.times, 0), quantile(event.times, 1)})
    out += event.times.empty() ? "\t" : fmt::format("\t{}", value);
  return out + '\t' + format::made_printable(python_list(op_types(event)), SIZE_MAX) + '\t' +
         (event.is_inside_delegate ? "True" : "False") + '\t' +
         format::made_printable(event.origin.backend_id) + '\t' +
         fmt::format("[{}]", fmt::join(event.start_times, ", "));
}

}  // namespace

Json node_json(const record::RecordedNode& node) {
  return {{"node", node.name},
          {"op", node.op},
          {"debug_handle", node.debug_handle},
          {"file", node.file},
          {"line", node.line},
          {"function", node.function},
          {"module", node.modules.empty() ? "" : node.modules.back().path},
          {"module_type", node.modules.empty() ? "" : node.modules.back().type}};
}

Json event_blocks_json(std::span<const InspectedBlock> blocks, const inspector::InspectOptions& options) {
  Json out = Json::array();
  for (const InspectedBlock& block : blocks) {
    Json events = Json::array();
    for (const InspectedEvent& event : block.events) events.push_back(event_json(event));
    out.push_back({{"name", block.name},
                   {"method", block.method.empty() ? Json(nullptr) : Json(block.method)},
                   {"bundled_input_index",
                    block.bundled_input_index < 0 ? Json(nullptr) : Json(block.bundled_input_index)},
                   {"runs", block.run_count},
                   {"source_time_scale", to_text(options.source)},
                   {"target_time_scale", to_text(options.target)},
                   {"run_output", values_json(block.outputs)},
                   {"events", std::move(events)}});
  }
  return out;
}

std::string event_blocks_tsv(std::span<const InspectedBlock> blocks, inspector::TimeScale target) {
  std::string out = "\tevent_block_name\tevent_name";
  for (const char* name : {"p10", "p50", "p90", "avg", "min", "max"})
    out += fmt::format("\t{} ({})", name, to_text(target));
  out += "\top_types\tis_delegated_op\tdelegate_backend_name\tstart_time\n";
  size_t row = 0;
  for (const InspectedBlock& block : blocks)
    for (const InspectedEvent& event : block.events)
      if (event.name.find("OPERATOR_CALL") == std::string::npos)
        out += std::to_string(row++) + '\t' + tsv_row(block, event) + '\n';
  return out;
}

}  // namespace etb::tools
