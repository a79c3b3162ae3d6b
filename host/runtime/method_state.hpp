// SPDX-License-Identifier: Apache-2.0
// Internal to Method: the structures that load builds and execute reads. All are stored in
// the caller's state memory.
#pragma once

#include <span>

#include "host/runtime/method.hpp"

namespace etb::host {

// One instruction with all names resolved, so that running it needs no lookup.
struct Instruction {
  const Kernel* kernel;  // kKernel
  EValue** arguments;    // kKernel, kDelegate
  EValue* value;         // kMove: to; kJumpFalse: condition; kFree: the tensor
  union {
    EValue* from;       // kMove
    uint32_t target;    // kJumpFalse: index into all instructions
    uint32_t delegate;  // kDelegate
  };
  uint32_t argument_count;
  format::InstructionKind kind;
  bool checks_arguments;  // some argument may change its kind or memory after load
  bool checks_overlap;    // some argument may change its address after load
  bool repeats_itself;    // a jump back over nothing that could change its condition
};

// Index of a chain's first instruction among all instructions.
struct ChainStart {
  uint32_t first;
};

// Memory that the caller set for an input or output, and what the program says of it. A run with small inputs
// would notice the time to read that from the file each time.
struct CallerMemory {
  const void* data;
  uint64_t nbytes;
  uint64_t upper_nbytes;  // at the largest sizes
  bool is_tensor;
  bool is_planned;  // the program has memory of its own for this tensor
};

struct MethodState {
  MethodState(const Program& from, const MethodMeta& method, const MethodOptions& given,
              std::span<std::byte> scratch) noexcept
      : meta(method),
        program(&from),
        options(given),
        named_data(&from, given.data_files),
        context(scratch, given.kernels == nullptr ? nullptr : given.kernels->vector_table(), &error,
                given.parallel, given.random_seed) {}

  MethodMeta meta;
  const Program* program;
  MethodOptions options;
  NamedDataMap named_data;
  std::span<EValue> values;
  std::span<EValue*> inputs;
  std::span<EValue*> outputs;
  std::span<CallerMemory> caller_memory;  // memory of inputs, then outputs
  std::span<Instruction> instructions;
  std::span<ChainStart> chains;
  std::span<MethodDelegate*> delegates;
  std::span<DataBlock> external_data;  // blocks of constants in data files
  bool has_views = false;              // some instruction makes a view
  uint32_t next = 0;                   // instruction to run
  uint64_t executed_count = 0;         // since the start of this run; counted by runs that have limits
  uint64_t looped_count = 0;           // instructions that jumps back have added to this run, at most
  uint64_t begin_ns = 0;               // of this run; only with a tracer, as the next field
  uint64_t traced_ns = 0;              // end of the latest event
  etb_error error = ETB_ERROR_INIT;    // what kernels write to
  KernelContext context;

  const format::MethodView& view() const noexcept { return meta.view(); }
  // Returns the chain and the instruction's index in it, for messages and events.
  void locate(uint32_t instruction, int32_t* out_chain, int32_t* out_index) const noexcept;
};

// Count of objects of each kind in a method. They determine the sizes of all arrays. The verifier's WorkBudget bounds them.
struct MethodCounts {
  size_t values = 0;
  size_t tensors = 0;
  size_t dims = 0;        // dimensions of all tensors together
  size_t references = 0;  // pointers to values: list items, arguments, inputs, outputs
  size_t instructions = 0;
  size_t chains = 0;
  size_t operators = 0;
  size_t delegates = 0;
  size_t external = 0;       // constants in data files
  size_t caller_memory = 0;  // inputs and outputs

  explicit MethodCounts(const format::MethodView& method) noexcept;
  uint64_t state_nbytes() const noexcept;
};

// An operator of the program while load looks up its kernels. Stored in the state memory,
// because load has no other.
struct OperatorKernel {
  const Kernel* kernel = nullptr;
  bool is_looked_up = false;
  bool is_specialised = false;  // only rows for some dtypes, so each call is looked up
  bool is_reported = false;
};

// Sets the kernel of each call. `kernels` has one entry for each operator. OPERATOR_MISSING names all missing
// ones.
etb_status find_kernels(MethodState& state, std::span<OperatorKernel> kernels, etb_error* error) noexcept;

// Possible changes of a value after loading.
enum Change : uint8_t {
  kMayChange = 1,  // another kind, or memory taken away
  kMayMove = 2     // other memory; kMayChange, too
};

// Checks the arguments of most calls once, at load, because most values never change their kind or
// memory. Values that may change: both ends of moves, freed tensors, results of the core's own ops and
// of delegates, and tensors whose memory the caller sets. `changes` has one entry for each value and
// already marks the last ones.
void mark_changing_arguments(MethodState& state, std::span<uint8_t> changes) noexcept;

// Returns ETB_INVALID_PROGRAM for the first instruction that writes memory shared with another of its
// operands. Skips instructions that are checked before each run.
etb_status check_operands(const MethodState& state, std::span<const std::span<std::byte>> arenas,
                          etb_error* error) noexcept;

// Checks one instruction before it runs, and writes the error into state.error.
etb_status check_operands(MethodState& state, const Instruction& instruction) noexcept;

// Runs the instruction at state.next and advances it. `events` receives the events of a delegate; null: none are wanted.
etb_status run_instruction(MethodState& state, const Instruction& instruction, const RunLimits& limits,
                           const etb_event_sink* events) noexcept;

// Name of an instruction in messages and events.
const char* event_name(const MethodState& state, const Instruction& instruction) noexcept;

uint64_t now_ns(const MethodState& state) noexcept;

struct TraceFunctions {
  // Runs an instruction and reports it.
  etb_status (*run)(MethodState& state, const Instruction& instruction, const RunLimits& limits) noexcept;
  // Reports the end of a run.
  void (*end_run)(const MethodState& state) noexcept;
  // Report the begin of loading, with its time, and its end when all has succeeded. The official run time reports two steps,
  // one inside of the other, which is `init`.
  uint64_t (*begin_load)(const MethodOptions& options, const MethodMeta& meta,
                         const MethodMemory& memory) noexcept;
  void (*end_load)(const MethodState& state, uint64_t begin_ns, uint64_t init_begin_ns) noexcept;
};

struct DelegateFunctions {
  // Makes all delegates of a method.
  etb_status (*make)(MethodState& state, std::span<const std::span<std::byte>> arenas,
                     etb_error* error) noexcept;
  etb_status (*run)(MethodState& state, const Instruction& instruction, const RunLimits& limits,
                    const etb_event_sink* events) noexcept;
};

// Returns ETB_OUT_OF_RESOURCES, with the name of the limit, for more than it allows.
etb_status check_limit(const char* limit, uint64_t found, uint64_t most, etb_error* error) noexcept;

// Finds one of the core's own ops: arithmetic on sizes and numbers, and views that share memory.
// Null for an unknown name.
const Kernel* find_prim_op(std::string_view name, std::string_view overload) noexcept;
bool is_prim_op(const Kernel& kernel) noexcept;
bool is_view_op(const Kernel& kernel) noexcept;  // makes an argument a view of another

// Writes "float32 [2, 3]" or "int" into `out`, which errors without texts leave unchanged.
void describe(const EValue& value, std::span<char> out) noexcept;
void describe(std::span<const int64_t> numbers, std::span<char> out) noexcept;
void describe(Dtype dtype, std::span<const int64_t> sizes, std::span<char> out) noexcept;

}  // namespace etb::host
