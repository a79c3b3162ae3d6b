// SPDX-License-Identifier: Apache-2.0
// Emits one method of a program: values, instructions and the memory offsets of its tensors.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/format/program_writer.hpp"
#include "partitioner_sdk/emit/constant_segment.hpp"
#include "partitioner_sdk/emit/external_data.hpp"
#include "partitioner_sdk/emit/in_place.hpp"
#include "partitioner_sdk/emit/shared_state.hpp"
#include "partitioner_sdk/ir/module.hpp"
#include "partitioner_sdk/memory_plan/memories.hpp"
#include "partitioner_sdk/memory_plan/memory_plan.hpp"

namespace etb::emit {

// True if the runtime has a kernel: name "aten::add", overload "out".
using HasKernel = std::function<bool(std::string_view name, std::string_view overload)>;

// Nodes of a name, or of a number as text, in a delegate's events.
struct DebugName {
  std::string name;
  std::vector<uint32_t> handles;
};

// Callee of a node higher_order.executorch_call_delegate.default, whose first argument is an index into
// these.
struct Delegate {
  std::string id;  // "XnnpackBackend"
  std::span<const std::byte> payload;
  std::vector<std::pair<std::string, std::string>> specs;
  std::vector<DebugName> debug_names = {};
  std::vector<uint32_t> debug_handles = {};  // of all nodes of the region
};

constexpr uint64_t kArenaAlignment = 16;

// Data shared by the methods of a program.
struct ProgramData {
  DataSegment constants;
  DataSegment states;  // initial values of state
  SharedState shared_state;
  ExternalData external;
  bool is_external = false;  // constants go to the external file
  bool plans_inputs = true, plans_outputs = true;
  bool keeps_branches_apart = false;
  std::span<const plan::Memory> memories = {};  // empty: one arena without a limit
  std::span<const Delegate> delegates = {};

  // The arena after those of planned tensors.
  uint32_t shared_arena_id() const {
    return memories.empty() ? 2 : static_cast<uint32_t>(memories.size()) + 1;
  }
};

// Arenas of a method by memory, and the tensors outside of the cheapest one.
struct MemoryReport {
  struct Spill {
    std::string tensor;  // "'relu_1' [1, 8] of 32 bytes"
    std::string memory;
    uint64_t nbytes = 0;
    uint32_t accesses = 0;  // instructions that read or write it
  };
  std::vector<plan::Memory> memories;
  std::vector<plan::MemoryUse> uses;  // by memory
  std::vector<Spill> spills;          // most accessed bytes first
  uint64_t shared_state_nbytes = 0;   // in an arena of its own, after the others
};

class MethodEmitter {
 public:
  // `has_kernel` may be empty: then every op of the table counts as available.
  MethodEmitter(ir::Module& module, ProgramData& data, const HasKernel& has_kernel)
      : module_(module), data_(data), has_kernel_(has_kernel) {}

  // Errors list every node that cannot be written, with its source.
  [[nodiscard]] Result<format::MethodSpec> run();
  const plan::Plan& memory_plan() const { return plan_; }
  // Size of the arena without ProgramData::keeps_branches_apart.
  uint64_t least_arena_nbytes() const { return least_arena_nbytes_; }
  // Empty without ProgramData::memories.
  const MemoryReport& memories() const { return memories_; }
  // The delegates that the method calls, in the order of its table. The caller sets the location of their
  // payloads.
  struct DelegateCall {
    uint32_t delegate = 0;           // index of the Delegate
    uint32_t instruction_index = 0;  // position of the call
    uint32_t output_count = 0;
  };
  const std::vector<DelegateCall>& delegate_calls() const { return delegate_calls_; }
  // Kernels of custom ops that the application must provide: "my::scale.out".
  const std::set<std::string>& own_kernels() const { return own_kernels_; }
  // By instruction: handle of its source node, 0 for instructions that the emitter added.
  const std::vector<uint32_t>& debug_handles() const { return debug_handles_; }

 private:
  using ValueIndex = int32_t;
  // Value indices of one graph. Branches have their own.
  struct Frame {
    const ir::Graph* graph = nullptr;
    std::vector<ValueIndex> indices;
  };
  struct Binder {  // a size of a tensor from which a symbol can be read
    ValueIndex tensor;
    int64_t dim;
    ir::SymbolBinding binding;
  };

  void fault(const ir::Node& node, const std::string& why);
  ValueIndex add_value(format::ValueSpec value);
  // Adds a value that is never written. Equal literals share one.
  ValueIndex literal(format::ValueSpec value);
  ValueIndex add_tensor(const ir::TensorSpec& spec, const std::string& who);
  void use(ValueIndex value);
  void emit_inputs(Frame& frame);
  void emit_nodes(Frame& frame);
  void emit_node(Frame& frame, const ir::Node& node);
  void emit_kernel(Frame& frame, const ir::Node& node, const ops::Schema& out);
  void emit_in_place(Frame& frame, const ir::Node& node);
  void emit_number_op(Frame& frame, const ir::Node& node, std::string_view name, std::string_view overload);
  void emit_delegate_call(Frame& frame, const ir::Node& node);
  void make_constant(ValueIndex index, const ir::Constant& constant);
  void make_state(ValueIndex index, const ir::Input& input);
  void drop_block(ValueIndex index);
  // control_flow.cpp
  void emit_control_flow(Frame& frame, const ir::Node& node);
  void emit_cond(Frame& frame, const ir::Node& node);
  void emit_branch(const ir::Node& node, uint32_t graph, const std::vector<ValueIndex>& operands,
                   const std::vector<ValueIndex>& results);
  void emit_while_loop(Frame& frame, const ir::Node& node);
  void emit_scan(Frame& frame, const ir::Node& node, size_t carry_count);
  std::vector<ValueIndex> emit_subgraph(const ir::Node& node, uint32_t graph,
                                        const std::vector<ValueIndex>& operands);
  std::vector<ValueIndex> operands_of(const Frame& frame, const ir::Node& node, size_t first_argument);
  std::vector<ValueIndex> copy_initial(Frame& frame, const ir::Node& node, size_t count,
                                       const std::vector<ValueIndex>& from);
  void update_carried(const std::vector<ValueIndex>& carried, std::vector<ValueIndex> fresh);
  void copy_tensor(ValueIndex from, ValueIndex to);
  ValueIndex like(ValueIndex tensor);
  void keep_through_loop(size_t start);
  void emit_outputs(Frame& frame);
  void emit_state_updates(Frame& frame);
  ValueIndex define(Frame& frame, ir::ValueId id);
  void bind_symbols(const ir::TensorSpec& spec, ValueIndex tensor);
  ValueIndex argument(const Frame& frame, const ir::Argument& argument, const ops::Type* type);
  ValueIndex tensor_list(const Frame& frame, const ir::ValueList& list, bool is_optional);
  // numbers.cpp
  ValueIndex number(ir::Dim dim);
  ValueIndex formula(ir::Dim dim);
  ValueIndex atom(const ir::SymbolTable::Atom& atom);
  ValueIndex prim(std::string_view name, std::vector<ValueIndex> args);
  void call(std::string_view name, std::string_view overload, std::vector<ValueIndex> args);
  void add_instruction(uint8_t kind, int32_t a, int32_t b, std::vector<ValueIndex> args);
  void leave_to_caller(const std::vector<ValueIndex>& values);
  Status place_tensors();
  // place_memories.cpp
  Status place_in_memories();
  std::vector<uint32_t> count_accesses() const;
  std::string block_text(uint32_t block) const;
  std::string step_text(uint32_t step) const;
  tl::unexpected<Error> too_large(const plan::Placement& placement,
                                  std::span<const plan::Memory> memories) const;
  void report_memories(const plan::Placement& placement, const std::vector<uint32_t>& accesses);

  ir::Module& module_;
  ProgramData& data_;
  const HasKernel& has_kernel_;
  std::vector<DelegateCall> delegate_calls_;
  std::set<std::string> own_kernels_;
  format::MethodSpec method_;
  plan::Plan plan_;
  uint64_t least_arena_nbytes_ = 0;
  MemoryReport memories_;
  std::string faults_;
  bool has_shared_state_ = false;
  std::set<const ir::Node*> in_place_;
  uint32_t debug_handle_ = 0;  // handle of the current node
  std::vector<uint32_t> debug_handles_;

  // Planned tensors: block i belongs to value block_values_[i].
  std::vector<plan::Block> blocks_;
  std::vector<ValueIndex> block_values_;
  std::map<ValueIndex, size_t> block_of_;
  std::map<ValueIndex, std::string> tensor_names_;
  // By value with aliases (results of branches): values that it keeps alive.
  std::map<ValueIndex, std::vector<ValueIndex>> stands_for_;
  std::map<std::pair<std::string, std::string>, int32_t> operators_;
  std::unordered_map<std::string, ValueIndex> literals_;  // by kind and bytes
  std::map<ir::Dim, ValueIndex> known_;                   // numbers computed so far on this path
  std::map<uint32_t, Binder> binders_;                    // by symbol
};

}  // namespace etb::emit
