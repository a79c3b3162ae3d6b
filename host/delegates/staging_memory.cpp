// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/staging_memory.hpp"

#include <algorithm>
#include <string>

namespace etb::host {

Status StagingMemory::reserve(size_t index, uint64_t nbytes, uint64_t alignment) {
  if (index >= blocks_.size()) blocks_.resize(index + 1);
  Block& block = blocks_[index];
  if (block.memory != nullptr && block.nbytes >= nbytes && block.alignment >= alignment) return {};
  block.nbytes = std::max(block.nbytes, nbytes);
  block.alignment = std::max(block.alignment, alignment);
  block.memory.reset();
  const std::align_val_t boundary{static_cast<size_t>(block.alignment)};
  auto* const memory =
      static_cast<std::byte*>(::operator new(static_cast<size_t>(block.nbytes), boundary, std::nothrow));
  if (memory == nullptr)
    return make_error(Code::OUT_OF_MEMORY, std::to_string(block.nbytes) + " bytes for a copy");
  block.memory = std::unique_ptr<std::byte, AlignedFree>(memory, {boundary});
  return {};
}

}  // namespace etb::host
