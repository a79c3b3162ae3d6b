// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/emit/program_memory.hpp"

#include <cstdint>
#include <cstring>

namespace etb::emit {
namespace {

constexpr size_t kAlignment = 128;  // the run time's alignment for programs

}  // namespace

ProgramMemory::ProgramMemory(size_t capacity)
    : memory_(new std::byte[capacity + kAlignment]), capacity_(capacity) {
  const size_t past = reinterpret_cast<uintptr_t>(memory_.get()) % kAlignment;
  begin_ = memory_.get() + (kAlignment - past) % kAlignment;
}

Result<ProgramMemory> ProgramMemory::make(const Program& program) {
  ProgramMemory out(format::make_program_head(program.parts).file_nbytes);
  ETB_TRY(format::write_program(program.parts, program.segments,
                                [&](std::span<const std::byte> bytes) { return out.append(bytes); }));
  return out;
}

Status ProgramMemory::append(std::span<const std::byte> bytes) {
  if (bytes.size() > capacity_ - nbytes_) return make_error(Code::INTERNAL, "program longer than announced");
  if (!bytes.empty()) std::memcpy(begin_ + nbytes_, bytes.data(), bytes.size());
  nbytes_ += bytes.size();
  return {};
}

}  // namespace etb::emit
