// SPDX-License-Identifier: Apache-2.0
// RecordIndex: finds the source nodes of the events of a run in the record of the compilation.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/format/etdump.hpp"
#include "partitioner_sdk/record/record.hpp"
#include "partitioner_sdk/record/recorded_nodes.hpp"

namespace etb::inspector {

// The part of the model that an event ran. Nodes are those of the index.
struct Origin {
  std::vector<uint32_t> debug_handles;
  std::vector<const record::RecordedNode*> nodes;
  std::string backend_id;  // of a delegate call, and of the events inside
  uint32_t output_count = 1;
};

// True for the events of the run time itself, which no node caused: "Method::execute", "Method::init",
// "Program::load_method".
bool is_of_whole_method(const format::EtdumpEvent& event);

// "add" of "native_call_add.out" and of "aten.add.Tensor".
std::string base_of_op(std::string_view op);

class MethodIndex {
 public:
  MethodIndex(record::MethodMaps maps, std::vector<record::RecordedNode> nodes);

  const std::string& name() const { return maps_.name; }
  Origin find(const format::EtdumpEvent& event) const { return find(event, event.name); }
  // For values, too, which have the same indices.
  template <class Event>
  Origin find(const Event& event, const std::string& name) const {
    return find(event.instruction_index, event.delegate_debug_name, event.delegate_debug_id, name);
  }

  // How well the events of a run agree with the method's instructions.
  struct Fit {
    uint64_t matches = 0;    // operators that a node of the instruction has, and calls of delegates
    uint64_t strangers = 0;  // operators that no node of the instruction has
    std::string conflict;    // an instruction that is another one in the record; "" for none
  };
  Fit fit(const format::EtdumpBlock& block) const;

 private:
  Origin find(int32_t instruction, const std::string& delegate_name, int32_t delegate_id,
              const std::string& name) const;
  void add_nodes(Origin& origin) const;

  record::MethodMaps maps_;
  std::vector<record::RecordedNode> nodes_;
  std::map<uint32_t, std::vector<uint32_t>> by_handle_;  // indices of nodes
};

class RecordIndex {
 public:
  [[nodiscard]] static Result<RecordIndex> make(record::Record record);

  const record::Record& record() const { return record_; }

  // Rejects a profile whose digest is another program's. Files of other writers have no digest and pass.
  [[nodiscard]] Status expect_program_of(std::span<const format::EtdumpBlock> blocks,
                                         const std::string& profile_name,
                                         const std::string& record_name) const;

  // Returns the method whose instructions the events are; null if no event is of an instruction. The format does not
  // name the method of a run. Rejects events that fit no method.
  [[nodiscard]] Result<const MethodIndex*> find_method(const format::EtdumpBlock& block) const;

 private:
  record::Record record_;
  std::vector<std::unique_ptr<MethodIndex>> methods_;
};

}  // namespace etb::inspector
