// SPDX-License-Identifier: Apache-2.0
// Gathers the record of a compilation (.etrecord) while `etbackend compile` makes the program.
#pragma once

#include <string>

#include "partitioner_sdk/emit/emit.hpp"
#include "partitioner_sdk/record/record.hpp"

namespace etb::tools {

class CompilationRecord {
 public:
  // Stores a method's graph as it was imported. A record has one: that of the method "forward".
  void add_exported(ir::Module& module);
  // Stores the example inputs of the archive's model, for the method "forward". An archive need not have any.
  void add_inputs(const std::string& archive, const std::string& model);
  // Stores a method's graph in the edge dialect, before delegation.
  void add_edge(ir::Module& module);
  // Stores the instructions' source nodes.
  void add_maps(const emit::Program& program, std::span<const emit::Delegate> delegates);
  void set_program(format::ProgramIdentity program) { record_.program = std::move(program); }
  [[nodiscard]] Status write(const std::string& path) const {
    return record::write_record_file(record_, path);
  }

 private:
  record::Record record_;
};

}  // namespace etb::tools
