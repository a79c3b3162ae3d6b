// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/compilation_record.hpp"

#include <algorithm>

#include "partitioner_sdk/import/import.hpp"
#include "partitioner_sdk/import/mapped_file.hpp"
#include "partitioner_sdk/import/zip_archive.hpp"
#include "partitioner_sdk/record/graph_json.hpp"
#include "partitioner_sdk/record/weights.hpp"

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

// The exporter's example inputs, as torch.save wrote them. Empty without any, and for objects that official readers of
// records reject.
struct ExampleInputs {
  std::string file;
  record::SavedValue value;
};

ExampleInputs find_example_inputs(const std::string& archive, const std::string& model) {
  const auto file = pt2::MappedFile::open(archive);
  const auto zip = file ? pt2::ZipArchive::open((*file)->bytes()) : tl::make_unexpected(file.error());
  if (!zip) return {};
  const std::string ending = "/data/sample_inputs/" + (model.empty() ? "model" : model) + ".pt";
  for (const auto& [name, bytes] : zip->records())
    if (name.ends_with(ending))
      if (auto value = record::read_saved_value(bytes))
        return {{reinterpret_cast<const char*>(bytes.data()), bytes.size()}, *std::move(value)};
  return {};
}

}  // namespace

Result<record::SavedProgram> CompilationRecord::save(ir::Module& module, const std::string& name,
                                                     std::string json) const {
  record::SavedProgram program{name, std::move(json), {}, {}, {}};
  if (has_weights_)
    if (Status added = record::add_weights(module, program); !added)
      return tl::make_unexpected(with_context(std::move(added).error(), "--etrecord-weights: " + name));
  return program;
}

Status CompilationRecord::add_exported(ir::Module& module) {
  if (module.name != "forward") return {};
  ETB_ASSIGN(record_.exported_program, save(module, module.name, record::exported_program_json(module)));
  return {};
}

Status CompilationRecord::add_modules(const std::vector<std::pair<std::string, std::string>>& archives,
                                      const std::shared_ptr<const ops::CustomOps>& custom_ops) {
  for (const auto& [name, path] : archives) {
    auto module = pt2::import_archive(path, {"", custom_ops});
    if (!module)
      return tl::make_unexpected(with_context(std::move(module).error(), "--etrecord-module " + name));
    ETB_ASSIGN(record::SavedProgram program,
               save(*module, name + "/forward", record::exported_program_json(*module)));
    program.example_inputs = find_example_inputs(path, "").file;
    record_.extra_programs.push_back(std::move(program));
  }
  return {};
}

Status CompilationRecord::set_inputs(const record::SavedValue& inputs) {
  ETB_ASSIGN(record_.representative_inputs, record::write_saved_value(inputs));
  return {};
}

Status CompilationRecord::set_outputs(const record::SavedValue& outputs) {
  ETB_ASSIGN(record_.reference_outputs, record::write_saved_value(outputs));
  return {};
}

void CompilationRecord::add_inputs(const std::string& archive, const std::string& model) {
  const ExampleInputs found = find_example_inputs(archive, model);
  if (record_.exported_program) record_.exported_program->example_inputs = found.file;
  // A pair of positional and named inputs; a record has a list.
  const auto* pair = found.value.get_if<record::SavedValue::List>();
  if (pair == nullptr || pair->size() != 2) return;
  const auto* named = (*pair)[1].get_if<record::SavedValue::Dict>();
  if (named == nullptr || !named->empty()) return;
  if (auto saved = record::write_saved_value((*pair)[0])) record_.representative_inputs = *std::move(saved);
}

Status CompilationRecord::add_edge(ir::Module& module) {
  ETB_ASSIGN(record::SavedProgram program, save(module, module.name, record::edge_program_json(module)));
  record_.edge_programs.push_back(std::move(program));
  return {};
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
