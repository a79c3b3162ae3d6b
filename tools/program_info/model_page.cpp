// SPDX-License-Identifier: Apache-2.0
#include "tools/program_info/model_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/format/tensor_layout.hpp"
#include "tools/pages/graph_document.hpp"
#include "tools/pages/reports.hpp"
#include "tools/pages/weight_tree.hpp"
#include "tools/program_info/memory_timeline.hpp"
#include "tools/quantity.hpp"
#include "tools/run/array.hpp"

namespace etb::tools {
namespace {

using pages::Json;

std::string shape_of(const format::TensorRecord& tensor) {
  const std::vector<int64_t> sizes(tensor.sizes.begin(), tensor.sizes.end());
  return format_shape(static_cast<host::Dtype>(tensor.dtype), sizes);
}

// Names of all instructions, over all chains.
std::vector<std::string> step_names(const format::MethodView& method) {
  std::vector<std::string> names;
  for (uint32_t c = 0; c < method.chain_count(); ++c)
    for (uint32_t i = 0; i < method.chain(c).instruction_count(); ++i) {
      const auto instruction = method.chain(c).instruction(i);
      switch (instruction.kind) {
        case format::InstructionKind::kKernel: {
          const auto op = method.op(instruction.a);
          names.push_back(std::string(op.name) + (op.overload.empty() ? "" : "." + std::string(op.overload)));
          break;
        }
        case format::InstructionKind::kDelegate:
          names.emplace_back(method.delegate(instruction.a).id());
          break;
        case format::InstructionKind::kMove:
          names.emplace_back("move");
          break;
        case format::InstructionKind::kJumpFalse:
          names.emplace_back("jump if false");
          break;
        case format::InstructionKind::kFree:
          names.emplace_back("free");
          break;
      }
    }
  return names;
}

struct Peak {
  uint32_t step = 0;
  uint64_t nbytes = 0;
};
// Bytes that some tensor covers. Values may share bytes: views that the plan removed.
uint64_t covered_nbytes(const std::multimap<uint64_t, uint64_t>& ends_by_begin) {
  uint64_t sum = 0, reached = 0;
  for (const auto& [begin, end] : ends_by_begin) {
    if (end <= reached) continue;
    sum += end - std::max(begin, reached);
    reached = end;
  }
  return sum;
}

Peak find_peak(const std::vector<TensorLife>& lives, uint32_t memory_id, uint32_t count) {
  std::multimap<uint32_t, const TensorLife*> begins, ends;
  for (const TensorLife& life : lives) {
    if (life.memory_id != memory_id) continue;
    begins.emplace(life.first, &life);
    ends.emplace(life.last, &life);
  }
  std::multimap<uint64_t, uint64_t> alive;  // ends by begin
  Peak peak;
  for (uint32_t step = 0; step < count; ++step) {
    const auto [first, last] = begins.equal_range(step);
    for (auto at = first; at != last; ++at)
      alive.emplace(at->second->offset, at->second->offset + at->second->nbytes);
    if (first != last)
      if (const uint64_t nbytes = covered_nbytes(alive); nbytes > peak.nbytes) peak = {step, nbytes};
    const auto [over, end] = ends.equal_range(step);
    for (auto at = over; at != end; ++at) {
      auto [entry, stop] = alive.equal_range(at->second->offset);
      while (entry != stop && entry->second != at->second->offset + at->second->nbytes) ++entry;
      if (entry != stop) alive.erase(entry);
    }
  }
  return peak;
}

// The kernel that uses a constant first names its layer: programs have no names of modules.
std::vector<pages::Weight> program_weights(const format::ProgramView& program) {
  std::vector<pages::Weight> weights;
  std::set<uint32_t> constants;
  for (uint32_t m = 0; m < program.method_count(); ++m) {
    const format::MethodView method = program.method(m);
    std::map<int32_t, std::string> user;
    for (uint32_t c = 0; c < method.chain_count(); ++c)
      for (uint32_t i = 0; i < method.chain(c).instruction_count(); ++i) {
        const auto instruction = method.chain(c).instruction(i);
        if (instruction.kind != format::InstructionKind::kKernel) continue;
        for (const int32_t value : instruction.args)
          user.try_emplace(value, std::string(method.op(instruction.a).name) + " #" + std::to_string(i));
      }
    for (uint32_t i = 0; i < method.value_count(); ++i) {
      const auto value = method.value(i);
      if (value.kind() != format::ValueKind::kTensor) continue;
      const auto tensor = value.as_tensor();
      if (tensor.storage != format::Storage::kConstant || !constants.insert(tensor.data_index).second)
        continue;
      const auto found = user.find(static_cast<int32_t>(i));
      const std::string own =
          tensor.name.empty() ? "constant " + std::to_string(tensor.data_index) : std::string(tensor.name);
      weights.push_back(
          {"kernels." + (tensor.name.empty() && found != user.end() ? found->second + "." : "") + own,
           shape_of(tensor), tensor.nbytes});
    }
  }
  std::set<uint32_t> segments;
  for (uint32_t i = 0; i < program.named_data_count(); ++i)
    if (segments.insert(program.named_data_segment(i)).second)
      weights.push_back({"named data." + std::string(program.named_data_key(i)), "",
                         program.segment(program.named_data_segment(i)).nbytes});
  return weights;
}

Json delegate_table(const Json& report) {
  Json rows = Json::array();
  for (const Json& method : report["methods"])
    for (const Json& delegate : method["delegates"])
      rows.push_back({method["name"], delegate["id"], delegate["payload_nbytes"], delegate["location"]});
  return pages::make_table(
      "Delegates", "Each payload belongs to the plugin that serves the delegate id.",
      {{"method", "text", true}, {"delegate id", "plugin", true}, {"payload", "bytes"}, {"stored"}},
      std::move(rows));
}

Json operator_table(const Json& report) {
  std::map<std::string, uint64_t> calls;
  for (const Json& method : report["methods"])
    for (const Json& op : method["operators"])
      calls[op["name"].get<std::string>()] += op["calls"].get<uint64_t>();
  Json rows = Json::array();
  for (const auto& [name, count] : calls) rows.push_back({name, count});
  std::stable_sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) { return a[1] > b[1]; });
  return pages::make_table("Operators of kernels", "", {{"operator", "text", true}, {"calls", "number"}},
                           std::move(rows));
}

Json signature_table(const format::ProgramView& program) {
  Json rows = Json::array();
  for (uint32_t m = 0; m < program.method_count(); ++m) {
    const format::MethodView method = program.method(m);
    for (const auto& [kind, values] :
         {std::pair("input", method.inputs()), std::pair("output", method.outputs())}) {
      uint32_t index = 0;
      for (const int32_t id : values) {
        const auto value = method.value(static_cast<uint32_t>(id));
        const bool is_tensor = value.kind() == format::ValueKind::kTensor;
        rows.push_back({method.name(), fmt::format("{} {}", kind, index++),
                        is_tensor ? shape_of(value.as_tensor()) : format::to_text(value.kind()),
                        is_tensor ? Json(value.as_tensor().nbytes) : Json(nullptr)});
      }
    }
  }
  return pages::make_table(
      "Inputs and outputs", "",
      {{"method", "text", true}, {"value", "text", true}, {"type and shape"}, {"size", "bytes"}},
      std::move(rows));
}

Json module_operators(const ir::Module& module) {
  std::map<std::string, uint64_t> calls;
  for (const ir::Graph& graph : module.graphs)
    for (const ir::Node& node : graph.nodes) ++calls[module.op(node).name];
  Json rows = Json::array();
  for (const auto& [name, count] : calls) rows.push_back({name, count});
  std::stable_sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) { return a[1] > b[1]; });
  return pages::make_table("Operators", "", {{"operator", "text", true}, {"nodes", "number"}},
                           std::move(rows));
}

}  // namespace

Json arena_part(const format::MethodView& method, uint32_t memory_id) {
  const MemoryTimeline timeline = trace_memory(method);
  const auto size = static_cast<uint64_t>(method.arena_sizes()[memory_id]);
  const Peak peak = find_peak(timeline.lives, memory_id, timeline.instruction_count);
  const std::vector<std::string> steps = step_names(method);
  Json boxes = Json::array();
  const TensorLife* largest = nullptr;
  for (const TensorLife& life : timeline.lives) {
    if (life.memory_id != memory_id) continue;
    const auto tensor = method.value(life.value_index).as_tensor();
    boxes.push_back(
        {tensor.name.empty() ? "value " + std::to_string(life.value_index) : std::string(tensor.name),
         shape_of(tensor), life.offset, life.nbytes, life.first, life.last,
         life.is_io ? "input or output" : ""});
    if (life.first <= peak.step && life.last >= peak.step &&
        (largest == nullptr || life.nbytes > largest->nbytes))
      largest = &life;
  }
  std::string note = fmt::format("Arena of {}.", nbytes_text(size));
  if (largest != nullptr)
    note += fmt::format(
        " Most is in use at instruction {} ({}): {}. The largest tensor then is value {}, {} of {}.",
        peak.step, peak.step < steps.size() ? steps[peak.step] : "", nbytes_text(peak.nbytes),
        largest->value_index, nbytes_text(largest->nbytes),
        shape_of(method.value(largest->value_index).as_tensor()));
  Json part = pages::make_part(
      "arena",
      fmt::format("Memory of {}{}", method.name(),
                  method.arena_sizes().size() > 2 ? fmt::format(", arena {}", memory_id - 1) : ""),
      note);
  part["nbytes"] = size;
  part["steps"] = steps;
  part["peak"] = peak.step;
  part["boxes"] = std::move(boxes);
  return part;
}

ModelPage program_page(const ProgramFile& file, const Json& report, const pages::Facts& facts) {
  ModelPage out;
  out.graphs = pages::program_graphs(file.view, out.plugins);
  Json& document = out.document =
      pages::make_document("program", "Program " + file.path,
                           "The instructions of each method, their memory, and the weights.", facts);
  document["plugins"] = out.plugins;
  uint64_t arena = 0, instructions = 0, delegates = 0;
  for (const Json& method : report["methods"]) {
    uint64_t sum = 0;
    for (const Json& nbytes : method["arena_nbytes"]) sum += nbytes.get<uint64_t>();
    arena = std::max(arena, sum);
    instructions += method["instructions"]["total"].get<uint64_t>();
    delegates += method["delegates"].size();
  }
  pages::add_card(document, "File", report["nbytes"], "bytes");
  pages::add_card(document, "Weights", report["weights"]["nbytes"], "bytes");
  pages::add_card(document, "Working memory", arena, "bytes");
  pages::add_card(document, "Instructions", instructions);
  pages::add_card(document, "Delegates", delegates);
  pages::add_card(document, "Methods", report["methods"].size());
  Json& sections = document["sections"];
  sections.push_back(pages::graph_part(out.graphs, out.plugins, "portable kernels"));
  for (uint32_t m = 0; m < file.view.method_count(); ++m)
    for (uint32_t id = 1; id < file.view.method(m).arena_sizes().size(); ++id)
      sections.push_back(arena_part(file.view.method(m), id));
  sections.push_back(pages::weight_part(
      program_weights(file.view),
      "Constants of kernels by the instruction that uses them first, and the data of delegates. "
      "The page of the archive (.pt2) has the names of layers."));
  sections.push_back(delegate_table(report));
  sections.push_back(operator_table(report));
  sections.push_back(signature_table(file.view));
  return out;
}

ModelPage archive_page(const ir::Module& module, const pages::Facts& facts, uint64_t nbytes,
                       const partition::Report* report) {
  ModelPage out;
  out.graphs =
      report == nullptr ? pages::module_graphs(module) : pages::reported_graphs({&module, 1}, *report);
  Json& document = out.document = pages::make_document(
      "model", "Model " + facts.model,
      report == nullptr ? "The exported graph before compilation."
                        : "The graph as the compiler passes it to plugins, and their answers.",
      facts);
  if (report != nullptr) {
    document["plugins"] = out.plugins = report->plugins;
    for (const partition::PluginError& error : report->plugin_errors)
      document["warnings"].push_back("skipped plugin '" + error.plugin + "': " + error.text);
    for (const partition::FailedClaim& claim : report->failed_claims)
      document["warnings"].push_back(partition::to_text(claim));
  }
  std::vector<pages::Weight> weights;
  uint64_t weight_nbytes = 0, nodes = 0;
  std::set<uint32_t> seen;
  for (const ir::Input& input : module.main().inputs) {
    if (input.constant == ir::kNone || !seen.insert(input.constant).second) continue;
    const ir::Constant& constant = module.constants[input.constant];
    weights.push_back({input.target.empty() ? constant.name : input.target,
                       format_shape(static_cast<host::Dtype>(constant.dtype), constant.sizes),
                       constant.nbytes()});
    weight_nbytes += constant.nbytes();
  }
  for (const ir::Graph& graph : module.graphs) nodes += graph.nodes.size();
  if (nbytes != 0) pages::add_card(document, "File", nbytes, "bytes");
  pages::add_card(document, "Weights", weight_nbytes, "bytes");
  pages::add_card(document, "Tensors of weights", weights.size());
  pages::add_card(document, "Nodes", nodes);
  Json& sections = document["sections"];
  sections.push_back(pages::graph_part(out.graphs, out.plugins,
                                       report == nullptr ? "not compiled yet" : "portable kernels"));
  if (report != nullptr)
    for (Json& part : pages::rejection_parts(*report)) sections.push_back(std::move(part));
  sections.push_back(pages::weight_part(weights, "Parameters, buffers and constants, each once."));
  sections.push_back(module_operators(module));
  return out;
}

}  // namespace etb::tools
