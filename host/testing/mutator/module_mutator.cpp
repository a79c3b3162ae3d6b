// SPDX-License-Identifier: Apache-2.0
// libFuzzer's custom mutator: changes bytes in one of eight calls, else the structure of the decoded program.
#include <cstring>

#include "host/testing/mutator/program_decoder.hpp"
#include "host/testing/mutator/program_mutator.hpp"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  etb::host::ProgramMutator mutator(seed);
  const auto* first = reinterpret_cast<const std::byte*>(data);
  auto program = etb::host::decode_program(std::vector<std::byte>(first, first + size));
  if (!program || mutator.generator().one_in(8)) return LLVMFuzzerMutate(data, size, max_size);
  for (uint32_t edits = 1 + mutator.generator().below(4); edits > 0; --edits) mutator.mutate(*program);
  const std::vector<std::byte> written = etb::format::build_program(*program);
  if (written.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, written.data(), written.size());
  return written.size();
}
