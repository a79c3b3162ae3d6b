// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/record/recorded_nodes.hpp"

#include <charconv>

#include "api/format/printable_text.hpp"
#include "partitioner_sdk/import/json_document.hpp"
#include "partitioner_sdk/import/source_location.hpp"

namespace etb::record {
namespace {

using pt2::Json;

// Entries are "key,path,type", joined by ';'. The outermost is the model and has no path.
std::vector<ModuleFrame> read_modules(std::string_view stack) {
  std::vector<ModuleFrame> out;
  while (!stack.empty()) {
    const size_t end = std::min(stack.find(';'), stack.size());
    const std::string_view entry = stack.substr(0, end);
    stack.remove_prefix(std::min(end + 1, stack.size()));
    const size_t first = entry.find(','), last = entry.rfind(',');
    if (first == entry.npos || last <= first) continue;
    const std::string_view path = entry.substr(first + 1, last - first - 1);
    out.push_back(
        {std::string(entry.substr(0, first)), std::string(path), std::string(entry.substr(last + 1))});
  }
  return out;
}

class Reader {
 public:
  Status add_graph(Json graph) {
    uint64_t index = 0;
    for (const Json node : graph["nodes"]) {
      ETB_TRY(add(node, index++));
      for (const Json input : node["inputs"]) {
        const Json body = input["arg"]["as_graph"]["graph"];
        if (body) ETB_TRY(add_graph(body));
      }
    }
    return {};
  }
  std::vector<RecordedNode> take() { return std::move(nodes_); }

 private:
  Status add(Json json, uint64_t index) {
    RecordedNode node;
    const auto target = json["target"].as_string();
    if (!target) return make_error(Code::INVALID_DATA, "node " + std::to_string(index) + ": has no target");
    node.op = op_of_target(*target);
    const Json metadata = json["metadata"];
    // Official files name a node by its metadata only in some releases; the first result has the same name.
    node.name = json["name"].as_string().value_or("");
    if (node.name.empty()) node.name = name_of_result(json);
    ETB_ASSIGN(node.debug_handle, read_handle(metadata["debug_handle"], node.name));
    node.stack_trace = metadata["stack_trace"].as_string().value_or("");
    ir::Source source = pt2::read_source(metadata);
    node.file = std::move(source.file);
    node.line = source.line;
    node.function = std::move(source.function);
    node.modules = read_modules(metadata["nn_module_stack"].as_string().value_or(""));
    nodes_.push_back(std::move(node));
    return {};
  }

  static std::string name_of_result(Json json) {
    for (const Json output : json["outputs"]) {
      if (const auto name = output["as_tensor"]["name"].as_string()) return std::string(*name);
      for (const Json item : output["as_tensors"])
        if (const auto name = item["name"].as_string()) return std::string(*name);
    }
    return "";
  }

  // A number as text; nodes without one have none.
  static Result<uint32_t> read_handle(Json json, const std::string& name) {
    if (const auto number = json.as_int(); number && *number >= 0 && *number <= INT32_MAX)
      return static_cast<uint32_t>(*number);
    const std::string_view text = json.as_string().value_or("");
    if (text.empty()) return 0u;
    uint32_t handle = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), handle);
    if (failed != std::errc() || end != text.data() + text.size() || handle > INT32_MAX)
      return make_error(Code::INVALID_DATA,
                        "node '" + format::made_printable(name) + "': found the debug handle '" +
                            format::made_printable(std::string(text)) + "', expected a number");
    return handle;
  }

  std::vector<RecordedNode> nodes_;
};

}  // namespace

std::string op_of_target(std::string_view target) {
  for (const std::string_view prefix :
       {"executorch.exir.dialects.edge.ops.", "executorch.exir.dialects.backend.ops.", "torch.ops."})
    if (target.starts_with(prefix)) return std::string(target.substr(prefix.size()));
  return std::string(target);
}

Result<std::vector<RecordedNode>> read_nodes(const SavedProgram& program) {
  const std::string where = "graph '" + format::made_printable(program.name) + "'";
  auto document = pt2::JsonDocument::parse(program.json, pt2::JsonDocument::Words::kAsTexts);
  if (!document) return tl::make_unexpected(with_context(std::move(document).error(), where));
  const Json graph = (*document)->root()["graph_module"]["graph"];
  if (!graph.is_object() || !graph["nodes"].is_array())
    return make_error(Code::INVALID_DATA,
                      where + ": no list graph_module.graph.nodes, expected a graph of torch.export");
  Reader reader;
  if (Status read = reader.add_graph(graph); !read)
    return tl::make_unexpected(with_context(std::move(read).error(), where));
  return reader.take();
}

}  // namespace etb::record
