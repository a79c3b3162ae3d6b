// SPDX-License-Identifier: Apache-2.0
// Emits a program file from edge graphs: methods, instructions, planned memory, constants.
#pragma once

#include <string>
#include <vector>

#include "api/format/output_file.hpp"
#include "partitioner_sdk/emit/method_emitter.hpp"

namespace etb::emit {

struct MethodReport {
  std::string name;
  uint64_t arena_nbytes = 0;
  uint64_t arena_lower_bound_nbytes = 0;  // lower bound for any plan
  uint64_t least_arena_nbytes = 0;        // arena_nbytes without EmitOptions::keeps_branches_apart
  size_t instruction_count = 0;
  std::vector<MethodEmitter::DelegateCall> delegate_calls;
  std::vector<uint32_t> debug_handles;  // by instruction; 0 for those added by the emitter
  std::set<std::string> own_kernels;    // kernels of custom ops, which the application must provide
  MemoryReport memories = {};           // empty without EmitOptions::memories
};

// Holds views of constants, payloads and named data. Write it while they live.
struct Program {
  format::ProgramParts parts;
  std::vector<std::vector<format::SegmentPiece>> segments;
  std::vector<MethodReport> methods;
  // Contents of the external data file, if requested.
  format::DataParts external;
  std::vector<format::SegmentPiece> external_segments;
};

// A method without inputs that returns constants, such as get_vocab_size.
struct ConstantMethod {
  std::string name;
  std::vector<format::ValueSpec> values;  // int64, double, bool or text
};

// Bytes that delegates find by key.
struct NamedBytes {
  std::string key;
  std::span<const std::byte> bytes;
  uint64_t alignment = 0;  // 0: the file's
  bool is_fact = false;    // about the program: not for a data file
};

struct EmitOptions {
  HasKernel has_kernel;  // empty: every kernel counts as available
  std::span<const Delegate> delegates = {};
  std::span<const NamedBytes> named_data = {};
  std::vector<ConstantMethod> constant_methods = {};
  bool has_external_data = false;  // constants and named data go to Program::external
  // If false, the method's caller provides that memory, and the arena does not include it.
  bool plans_inputs = true;
  bool plans_outputs = true;
  // Independent branches with delegates share no memory, so that asynchronous runs do not wait for each other.
  bool keeps_branches_apart = false;
  // Arena i + 1 of a method is in memories[i]. A method that needs more is an error with its peak. Empty: one arena.
  std::vector<plan::Memory> memories = {};
};

// Emits one method per module, under the module's name.
[[nodiscard]] Result<Program> emit(std::span<ir::Module> methods, const EmitOptions& options = {});

// Writes a temporary file beside the target and renames it, so that a failure leaves no partial file.
// Constants inside `files` are copied from there.
[[nodiscard]] Status write_file(const Program& program, const std::string& path,
                                std::span<const ir::FileBytes> files = {});
// Writes to an open file.
[[nodiscard]] Status write_file(const Program& program, format::OutputFile& file,
                                std::span<const ir::FileBytes> files = {});
// Writes the program's external data file.
[[nodiscard]] Status write_external_file(const Program& program, const std::string& path,
                                         std::span<const ir::FileBytes> files = {});

}  // namespace etb::emit
