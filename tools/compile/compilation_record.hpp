// SPDX-License-Identifier: Apache-2.0
// Gathers the record of a compilation (.etrecord) while `etbackend compile` makes the program.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "partitioner_sdk/emit/emit.hpp"
#include "partitioner_sdk/record/record.hpp"
#include "partitioner_sdk/record/saved_values.hpp"

namespace etb::tools {

class CompilationRecord {
 public:
  // Graphs that are added afterwards bring their weights.
  void store_weights() { has_weights_ = true; }
  // Stores a method's graph as it was imported. A record has one: that of the method "forward".
  [[nodiscard]] Status add_exported(ir::Module& module);
  // Stores the example inputs of the archive's model, for the method "forward". An archive need not have any.
  void add_inputs(const std::string& archive, const std::string& model);
  [[nodiscard]] Status set_inputs(const record::SavedValue& inputs);
  // {method: [[output, ...]]}
  [[nodiscard]] Status set_outputs(const record::SavedValue& outputs);
  // Stores a method's graph in the edge dialect, before delegation.
  [[nodiscard]] Status add_edge(ir::Module& module);
  // Stores the graphs of other archives, by name.
  [[nodiscard]] Status add_modules(const std::vector<std::pair<std::string, std::string>>& archives,
                                   const std::shared_ptr<const ops::CustomOps>& custom_ops);
  // Stores the instructions' source nodes.
  void add_maps(const emit::Program& program, std::span<const emit::Delegate> delegates);
  void set_program(format::ProgramIdentity program) { record_.program = std::move(program); }
  [[nodiscard]] Status write(const std::string& path) const {
    return record::write_record_file(record_, path);
  }

 private:
  Result<record::SavedProgram> save(ir::Module& module, const std::string& name, std::string json) const;

  record::Record record_;
  bool has_weights_ = false;
};

}  // namespace etb::tools
