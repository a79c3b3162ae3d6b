// SPDX-License-Identifier: Apache-2.0
// Traces in the format of Chrome's trace viewer.
#include <nlohmann/json.hpp>

#include "partitioner_sdk/inspector/event_rows.hpp"
#include "partitioner_sdk/inspector/source_rows.hpp"

namespace etb::inspector {
namespace {

using Json = nlohmann::ordered_json;

Json arguments_of(const format::EtdumpEvent& event, const Origin& origin) {
  Json out = {{"chain", event.chain_index}, {"instruction", event.instruction_index}};
  if (!origin.backend_id.empty()) out["backend"] = origin.backend_id;
  if (!origin.debug_handles.empty()) out["debug_handles"] = origin.debug_handles;
  Json nodes = Json::array(), lines = Json::array();
  for (const record::RecordedNode* node : origin.nodes) {
    nodes.push_back(node->op);
    if (const std::string line = line_of(*node); !line.empty() && (lines.empty() || lines.back() != line))
      lines.push_back(line);
  }
  if (!nodes.empty()) out["ops"] = std::move(nodes);
  if (!lines.empty()) out["source"] = std::move(lines);
  return out;
}

}  // namespace

Result<std::string> to_perfetto(std::span<const format::EtdumpBlock> blocks, const RecordIndex* record) {
  Json events = Json::array();
  for (const format::EtdumpBlock& block : blocks) {
    const MethodIndex* method = nullptr;
    if (record != nullptr) {
      ETB_ASSIGN(method, record->find_method(block));
    }
    for (const format::EtdumpEvent& event : block.events) {
      const bool is_inside = event.is_of_delegate();
      const Origin origin = method == nullptr || is_of_whole_method(event) ? Origin{} : method->find(event);
      // A delegate's clock may be another one, so its events have a line of their own.
      events.push_back({{"name", is_inside ? name_inside_delegate(event) : event.name},
                        {"cat", is_inside ? "delegate" : "runtime"},
                        {"ph", "X"},
                        {"ts", static_cast<double>(event.begin_ns) / 1e3},
                        {"dur", static_cast<double>(event.elapsed_ns()) / 1e3},
                        {"pid", 1},
                        {"tid", is_inside ? 2 : 1},
                        {"args", arguments_of(event, origin)}});
    }
  }
  return Json{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}}.dump(
             1, ' ', true, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace etb::inspector
