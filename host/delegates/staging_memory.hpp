// SPDX-License-Identifier: Apache-2.0
// StagingMemory: memory for copies of arguments that do not meet a plugin's alignment or padding. The delegates
// of a method share it, because one runs at a time and copies last for one run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "etb/cpp/result.hpp"

namespace etb::host {

// [serial:staging_memory] while the method loads; afterwards any thread may call block().
class StagingMemory {
 public:
  // Makes block `index` at least this large and aligned. Blocks are made in order. The block may
  // move and loses its contents.
  [[nodiscard]] Status reserve(size_t index, uint64_t nbytes, uint64_t alignment);

  std::byte* block(size_t index) const noexcept { return blocks_[index].memory.get(); }

 private:
  struct AlignedFree {
    std::align_val_t alignment;
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, alignment); }
  };
  struct Block {
    uint64_t nbytes = 0, alignment = 1;
    std::unique_ptr<std::byte, AlignedFree> memory{nullptr, {std::align_val_t{1}}};
  };

  std::vector<Block> blocks_;
};

}  // namespace etb::host
