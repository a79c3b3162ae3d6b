// SPDX-License-Identifier: Apache-2.0
// Fuzzes the whole compiler: any bytes as an archive are rejected, or become a program.
#include <cstdint>
#include <cstdlib>

#include "partitioner_sdk/emit/emit.hpp"
#include "partitioner_sdk/import/import.hpp"
#include "partitioner_sdk/ir/verify.hpp"
#include "partitioner_sdk/passes/pipeline.hpp"

namespace {

using etb::ir::Module;

// Lowers without folding constants: the runtime computes those, and has its own fuzz targets.
bool is_lowered(Module& module) {
  return etb::passes::to_edge(module) && etb::passes::simplify(module) && etb::passes::to_portable(module);
}

void compile(const std::shared_ptr<const etb::pt2::MappedFile>& file) {
  auto module = etb::pt2::import_archive(file);
  if (!module || !is_lowered(*module)) return;
  if (!etb::ir::verify(*module)) std::abort();
  const auto program = etb::emit::emit({&*module, 1});
  if (!program) return;
  const auto head = etb::format::make_program_head(program->parts);
  if (head.file_nbytes < head.bytes.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t nbytes) {
  const auto file = etb::pt2::MappedFile::borrow(std::as_bytes(std::span(data, nbytes)));
  compile(file);
  return 0;
}
