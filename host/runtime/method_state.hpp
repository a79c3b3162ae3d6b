// Internal to Method: what load builds and execute walks. All of it lies in the caller's state memory.
#pragma once

#include <span>

#include "host/runtime/method.hpp"

namespace etb::host {

// One instruction with everything resolved, so that running it looks nothing up.
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
  bool checks_arguments;  // kKernel: some argument may have changed its kind or memory since load
  bool checks_overlap;    // kKernel, kDelegate: some argument may lie elsewhere than at load
  bool repeats_itself;    // kJumpFalse: a jump back over nothing that could change its condition
};

// Where a chain starts among all instructions.
struct ChainStart {
  uint32_t first;
};

// Memory that the caller gave for an input or output.
struct LentMemory {
  const void* data;
  uint64_t nbytes;
};

struct MethodState {
  MethodMeta meta;
  const Program* program = nullptr;
  MethodOptions options;
  NamedDataMap named_data;
  std::span<EValue> values;
  std::span<EValue*> inputs;
  std::span<EValue*> outputs;
  std::span<LentMemory> lent;  // of inputs, then outputs
  std::span<Instruction> instructions;
  std::span<ChainStart> chains;
  std::span<MethodDelegate*> delegates;
  std::span<DataBlock> external_data;  // of constants in data files
  bool has_views = false;              // some instruction makes a view
  uint32_t next = 0;                   // instruction to run
  uint64_t executed_count = 0;         // since the start of this run; counted by runs that have limits
  uint64_t looped_count = 0;           // instructions that jumps back have added to this run, at most
  etb_error error = ETB_ERROR_INIT;    // what kernels write to
  KernelContext context{{}};

  const format::MethodView& view() const noexcept { return meta.view(); }
  // Chain and instruction number in its chain, for messages and events.
  void locate(uint32_t instruction, int32_t* out_chain, int32_t* out_index) const noexcept;
};

// How many things of each kind a method has; from these follow the sizes of all arrays.
struct MethodCounts {
  uint64_t values = 0;
  uint64_t tensors = 0;
  uint64_t dims = 0;        // of all tensors together
  uint64_t references = 0;  // pointers to values: list items, arguments, inputs, outputs
  uint64_t instructions = 0;
  uint64_t chains = 0;
  uint64_t operators = 0;
  uint64_t delegates = 0;
  uint64_t external = 0;  // constants in data files
  uint64_t lent = 0;      // inputs and outputs

  explicit MethodCounts(const format::MethodView& method) noexcept;
  uint64_t state_nbytes() const noexcept;
};

// An operator of the program while its kernels are looked up. It lies in the state memory, which is all that load has.
struct OperatorKernel {
  const Kernel* kernel = nullptr;
  bool is_looked_up = false;
  bool is_specialised = false;  // has rows for some dtypes only, so each call looks for itself
  bool is_reported = false;
};

// Gives each call its kernel; `kernels` has an entry an operator. OPERATOR_MISSING names all that are missing.
etb_status find_kernels(MethodState& state, std::span<OperatorKernel> kernels, etb_error* error) noexcept;

// What may happen to a value after loading.
enum Change : uint8_t {
  kMayChange = 1,  // another kind, or memory taken away
  kMayMove = 2     // other memory; kMayChange, too
};

// Kinds and memory of most values never change, so their arguments are checked here once. What changes: both ends of moves, freed
// tensors, results of the core's own ops and of delegates, and tensors whose memory the caller brings, which `changes`, one a
// value, has already.
void mark_changing_arguments(MethodState& state, std::span<uint8_t> changes) noexcept;

// Returns ETB_INVALID_PROGRAM for the first instruction that writes memory of which another of its operands has a part. Leaves out
// those that are checked before each run instead.
etb_status check_operands(const MethodState& state, std::span<const std::span<std::byte>> arenas,
                          etb_error* error) noexcept;

// The same before one instruction runs, into state.error.
etb_status check_operands(MethodState& state, const Instruction& instruction) noexcept;

// The core's own ops: arithmetic on sizes and numbers, and views that share memory. Never null for a known name.
const Kernel* find_prim_op(std::string_view name, std::string_view overload) noexcept;
bool is_prim_op(const Kernel& kernel) noexcept;
bool is_view_op(const Kernel& kernel) noexcept;  // makes an argument a view of another

// "float32 [2, 3]" or "int" into `out`.
void describe(const EValue& value, std::span<char> out) noexcept;
void describe(std::span<const int64_t> numbers, std::span<char> out) noexcept;
void describe(Dtype dtype, std::span<const int64_t> sizes, std::span<char> out) noexcept;

}  // namespace etb::host
