// SPDX-License-Identifier: Apache-2.0
// Internal to the program verifier: shared parts of its two halves (program, method).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "api/format/flat_table.hpp"
#include "api/format/segment_area.hpp"
#include "etb/cpp/fail.hpp"
#include "etb_schema/program_generated.h"

namespace etb::format {

using Count = unsigned long long;  // for printf

// Tables and vectors of a hostile file may overlap, so that a small file needs endless work. Every visited
// element is charged to a budget. Honest files, whose vectors do not overlap, never use it up.
class WorkBudget {
 public:
  explicit WorkBudget(uint64_t file_nbytes) noexcept
      : left_(static_cast<size_t>(std::min<uint64_t>(file_nbytes * 8 + 65536, kMost))) {}
  [[nodiscard]] bool spend(size_t count) noexcept {
    if (count > left_) return false;
    left_ -= count;
    return true;
  }

 private:
  // Counts of a method (MethodCounts), and twice each, do not overflow.
  static constexpr size_t kMost = SIZE_MAX / 4;
  size_t left_;
};

struct VerifyContext {
  FlatTable program;
  const FileExtent& extent;
  WorkBudget budget;
  etb_error* error;

  [[nodiscard]] etb_status spend(size_t count) noexcept {
    if (budget.spend(count)) return ETB_OK;
    return fail(error, ETB_INVALID_PROGRAM,
                "tables overlap: more elements than a file of %llu bytes can hold",
                static_cast<Count>(extent.flatbuffer_nbytes));
  }

  // Rejects a NUL inside a name, which would make it a short name for C and a long one for C++.
  [[nodiscard]] etb_status verify_name(std::string_view name) noexcept;
};

// TableVerifier checks the alignment of a vector's length, not of its elements. An empty vector has no elements, and
// FlatBuffers 2 does not align it.
template <class T>
bool is_aligned(std::span<const T> items) noexcept {
  return items.empty() || reinterpret_cast<uintptr_t>(items.data()) % sizeof(T) == 0;
}

[[nodiscard]] etb_status verify_method(VerifyContext& context, FlatTable method) noexcept;

}  // namespace etb::format
