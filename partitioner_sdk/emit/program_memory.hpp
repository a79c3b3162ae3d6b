// SPDX-License-Identifier: Apache-2.0
// A program file in memory, for callers that run it at once.
#pragma once

#include <memory>
#include <span>

#include "partitioner_sdk/emit/emit.hpp"

namespace etb::emit {

class ProgramMemory {
 public:
  [[nodiscard]] static Result<ProgramMemory> make(const Program& program);

  // Aligned as the run time requires. Valid as long as this object or one that was moved from it.
  std::span<const std::byte> bytes() const { return {begin_, nbytes_}; }

 private:
  explicit ProgramMemory(size_t capacity);
  Status append(std::span<const std::byte> bytes);

  std::unique_ptr<std::byte[]> memory_;
  std::byte* begin_ = nullptr;
  size_t capacity_ = 0, nbytes_ = 0;
};

}  // namespace etb::emit
