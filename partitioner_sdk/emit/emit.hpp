// From edge graphs to a program file: methods, instructions, planned memory, constants.
#pragma once

#include <string>
#include <vector>

#include "api/format/output_file.hpp"
#include "partitioner_sdk/emit/method_emitter.hpp"

namespace etb::emit {

struct MethodReport {
  std::string name;
  uint64_t arena_nbytes = 0;
  uint64_t arena_lower_bound_nbytes = 0;  // what the best plan could have
  size_t instruction_count = 0;
  std::vector<MethodEmitter::DelegateCall> delegate_calls;
  std::vector<uint32_t> debug_handles;  // by instruction; 0 for what comes from no node
  std::set<std::string> own_kernels;    // of declared ops: the application brings them along
};

// Views of constants, payloads and named data: write it while they live.
struct Program {
  format::ProgramParts parts;
  std::vector<std::vector<format::SegmentPiece>> segments;
  std::vector<MethodReport> methods;
  // What lies outside, when asked for.
  format::DataParts external;
  std::vector<format::SegmentPiece> external_segments;
};

// A method that takes nothing and gives numbers that are known now, such as get_vocab_size.
struct ConstantMethod {
  std::string name;
  std::vector<format::ValueSpec> values;  // int64, double, bool or text
};

// Bytes that delegates find by key.
struct NamedBytes {
  std::string key;
  std::span<const std::byte> bytes;
  uint64_t alignment = 0;  // 0: the file's
};

struct EmitOptions {
  HasKernel has_kernel;  // empty: any kernel will be there
  std::span<const Delegate> delegates = {};
  std::span<const NamedBytes> named_data = {};
  std::vector<ConstantMethod> constant_methods = {};
  bool has_external_data = false;  // constants and named data into Program::external
  // False: the caller of the method brings that memory, and the arena has no place for it.
  bool plans_inputs = true;
  bool plans_outputs = true;
};

// One method a module, by the module's name.
[[nodiscard]] Result<Program> emit(std::span<ir::Module> methods, const EmitOptions& options = {});

// Writes beside the file and renames, so that a failure leaves no half of one. Constants that lie in `files` are copied from there.
[[nodiscard]] Status write_file(const Program& program, const std::string& path,
                                std::span<const ir::FileBytes> files = {});
// The same into a file that is open.
[[nodiscard]] Status write_file(const Program& program, format::OutputFile& file,
                                std::span<const ir::FileBytes> files = {});
// The data file that belongs to it.
[[nodiscard]] Status write_external_file(const Program& program, const std::string& path,
                                         std::span<const ir::FileBytes> files = {});

}  // namespace etb::emit
