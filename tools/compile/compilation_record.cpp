// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/compilation_record.hpp"

#include <algorithm>

#include "partitioner_sdk/import/mapped_file.hpp"
#include "partitioner_sdk/import/zip_archive.hpp"
#include "partitioner_sdk/record/graph_json.hpp"
#include "partitioner_sdk/record/saved_values.hpp"

namespace etb::tools {
namespace {

// A delegate may report one name for several of its nodes.
record::DelegateCall call_of(const emit::Delegate& delegate) {
  record::DelegateCall call{delegate.id, {}};
  for (const emit::DebugName& entry : delegate.debug_names) {
    record::Handles& handles = call.handles[entry.name];
    for (const uint32_t handle : entry.handles)
      if (handle != 0 && std::find(handles.begin(), handles.end(), handle) == handles.end())
        handles.push_back(handle);
  }
  return call;
}

}  // namespace

void CompilationRecord::add_exported(ir::Module& module) {
  if (module.name == "forward")
    record_.exported_program =
        record::SavedProgram{module.name, record::exported_program_json(module), {}, {}, {}};
}

void CompilationRecord::add_inputs(const std::string& archive, const std::string& model) {
  const auto file = pt2::MappedFile::open(archive);
  const auto zip = file ? pt2::ZipArchive::open((*file)->bytes()) : tl::make_unexpected(file.error());
  if (!zip) return;
  const std::string ending = "/data/sample_inputs/" + (model.empty() ? "model" : model) + ".pt";
  for (const auto& [name, bytes] : zip->records()) {
    if (!name.ends_with(ending)) continue;
    // A pair of positional and named inputs; a record has a list.
    const auto inputs = record::read_saved_value(bytes);
    const auto* pair = inputs ? inputs->get_if<record::SavedValue::List>() : nullptr;
    if (pair == nullptr || pair->size() != 2) return;
    const auto* named = (*pair)[1].get_if<record::SavedValue::Dict>();
    if (named == nullptr || !named->empty()) return;
    if (auto saved = record::write_saved_value((*pair)[0])) record_.representative_inputs = *std::move(saved);
  }
}

void CompilationRecord::add_edge(ir::Module& module) {
  record_.edge_programs.push_back({module.name, record::edge_program_json(module), {}, {}, {}});
}

void CompilationRecord::add_maps(const emit::Program& program, std::span<const emit::Delegate> delegates) {
  for (const emit::MethodReport& method : program.methods) {
    record::MethodMaps& maps = record_.methods.emplace_back();
    maps.name = method.name;
    for (uint32_t i = 0; i < method.debug_handles.size(); ++i)
      if (method.debug_handles[i] != 0) maps.handles[i] = {method.debug_handles[i]};
    for (const auto& call : method.delegate_calls) {
      const emit::Delegate& delegate = delegates[call.delegate];
      maps.handles[call.instruction_index] = delegate.debug_handles;
      maps.delegates[call.instruction_index] = call_of(delegate);
      maps.output_counts[call.instruction_index] = call.output_count;
    }
  }
}

}  // namespace etb::tools
