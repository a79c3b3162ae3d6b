// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/functionalized.hpp"

#include <algorithm>

#include "partitioner_sdk/import/graph_reader.hpp"
#include "partitioner_sdk/import/op_target.hpp"
#include "partitioner_sdk/import/union_member.hpp"

namespace etb::pt2 {

namespace {

constexpr std::string_view kBases = "_all_bases", kIndex = "_base_index", kAlias = "_alias";

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Returns the op that the wrapper calls, "torch.ops.llama.update_cache.default".
std::string_view wrapped_op(Json node) {
  for (const Json input : node["inputs"]) {
    const Json member = union_member(input["arg"]);
    if (member.key() == "as_operator") return member.as_string().value_or("");
  }
  return {};
}

}  // namespace

bool is_functionalized(std::string_view target) {
  constexpr std::string_view kName = "torch.ops.higher_order.auto_functionalized";
  return target == kName || target == std::string(kName) + "_v2";
}

// Finds the written arguments of auto_functionalized_v2, and the tensors that they refer to.
bool GraphReader::read_bases(Json node, const ops::Schema& schema, const Scope& scope,
                             const std::string& where, WrittenArguments& out) {
  const auto reject = [&](const std::string& why) {
    diagnostics_.add(Code::NOT_SUPPORTED, where + ": " + why);
    return false;
  };
  for (const Json input : node["inputs"]) {
    const std::string_view name = input["name"].as_string().value_or("");
    if (name.empty() || schema.find_argument(name) >= 0) continue;
    if (name == kBases) {
      const auto list = read_argument(input["arg"], scope, where);
      const auto* bases = list ? ir::get_if<ir::ValueList>(*list) : nullptr;
      if (bases == nullptr) return reject("'_all_bases' is not a list of tensors");
      out.bases = bases->ids;
    } else if (name.front() == '_' && ends_with(name, kIndex)) {
      const int position = schema.find_argument(name.substr(1, name.size() - 1 - kIndex.size()));
      const auto base = union_member(input["arg"]).as_int();
      if (position < 0 || !base) return reject("'" + shown(name) + "' is not supported");
      out.positions.emplace_back(static_cast<uint32_t>(position), *base);
    } else if (!ends_with(name, kAlias)) {
      return reject("writes through a view ('" + shown(name) +
                    "'), which is not supported\nhint: pass the whole buffer to the op");
    }
  }
  const auto count = static_cast<int64_t>(out.bases.size());
  for (const auto& [position, base] : out.positions) {
    if (base < 0 || base >= count)
      return reject("base " + std::to_string(base) + ", expected 0 to " + std::to_string(count - 1));
  }
  return true;
}

// Version 1: each argument that the op writes is passed by name.
void GraphReader::find_bases(const ir::Node& call, const ops::Schema& schema, WrittenArguments& out) {
  for (uint32_t i = 0; i < schema.argument_count(); ++i) {
    const auto* ref = ir::get_if<ir::ValueRef>(call.args[i]);
    if (ref == nullptr || !schema.argument(i).is_write) continue;
    out.positions.emplace_back(i, static_cast<int64_t>(out.bases.size()));
    out.bases.push_back(ref->id);
  }
}

// Each base is copied, and the op writes the copies; passes remove copies that are not needed.
void GraphReader::read_functionalized(Json node, ir::Node call, uint32_t index, Scope& scope,
                                      const std::string& where) {
  const std::string_view text = wrapped_op(node);
  const OpTarget target = read_target(module_, text);
  const ops::Schema* schema =
      target.name.empty() ? nullptr : module_.op(call.op = module_.op(target.name)).schema;
  const size_t errors = diagnostics_.count();
  WrittenArguments written;
  if (schema == nullptr) {
    diagnostics_.add(Code::NOT_SUPPORTED, where + ": unknown op " + shown(text) + advice_for(text));
  } else {
    const bool is_version_2 = ends_with(node["target"].as_string().value_or(""), "_v2");
    if (!is_version_2 || read_bases(node, *schema, scope, where, written)) {
      read_schema_arguments(node, call, scope, where, &written);
      if (!is_version_2) find_bases(call, *schema, written);
    }
  }
  if (diagnostics_.count() != errors) return forget_results(node, scope);
  add_written_copies(node, call, index, scope, where, written);
  module_.graphs[index].nodes.push_back(std::move(call));
}

// Defines the results: those of the op, then one for each base.
void GraphReader::add_written_copies(Json node, ir::Node& call, uint32_t index, Scope& scope,
                                     const std::string& where, const WrittenArguments& written) {
  const size_t own_count = module_.op(call).schema->result_count();
  std::vector<ir::ValueId> copies;
  size_t position = 0;
  for (const Json output : node["outputs"]) {
    if (diagnostics_.is_full()) return;
    const bool is_own = position++ < std::max<size_t>(own_count, 1);
    if (is_own && own_count == 0) continue;  // none
    const auto id = define(output, index, scope, where);
    if (!id) return;
    (is_own ? call.outputs : copies).push_back(*id);
  }
  if (copies.size() != written.bases.size()) {
    return diagnostics_.add(Code::INVALID_DATA, where + ": " + std::to_string(copies.size()) +
                                                    " new contents for " +
                                                    std::to_string(written.bases.size()) + " tensors");
  }
  const ir::OpId clone = module_.op("aten.clone.default");
  for (size_t i = 0; i < copies.size(); ++i) {
    ir::Node copy;
    copy.op = clone;
    copy.args = module_.op(clone).defaults;
    copy.args[0] = ir::ValueRef{written.bases[i]};
    copy.outputs = {copies[i]};
    copy.source = call.source;
    copy.debug_handle = call.debug_handle;
    module_.graphs[index].nodes.push_back(std::move(copy));
  }
  for (const auto& [argument, base] : written.positions)
    call.args[argument] = ir::ValueRef{copies[static_cast<size_t>(base)]};
}

}  // namespace etb::pt2
