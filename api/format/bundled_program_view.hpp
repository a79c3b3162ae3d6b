// SPDX-License-Identifier: Apache-2.0
// BundledProgramView: a verified bundled program (.bpte), read in place: a program and test cases of its methods.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "etb/status.h"

namespace etb::format {

// Kind of a value. The numbers are those of the union in the file.
enum class BundledKind : uint8_t { kTensor = 1, kInt, kBool, kDouble };

// "tensor", "int", ...
const char* to_text(BundledKind kind) noexcept;

// A tensor of a test case. `data` has the bytes that dtype and sizes need, dense in dim order.
struct BundledTensor {
  uint8_t dtype = 0;
  std::span<const int32_t> sizes;
  std::span<const uint8_t> dim_order;
  std::span<const std::byte> data;
};

class BundledValueView {
 public:
  BundledKind kind() const noexcept;
  BundledTensor as_tensor() const noexcept;
  int64_t as_int() const noexcept;
  bool as_bool() const noexcept;
  double as_double() const noexcept;

 private:
  friend class BundledCaseView;
  explicit BundledValueView(const void* table) noexcept : table_(table) {}
  const void* table_;
};

// Inputs and expected outputs of one run. A case without expected outputs is for measurements only.
class BundledCaseView {
 public:
  BundledCaseView() noexcept = default;  // invalid until assigned
  uint32_t input_count() const noexcept;
  BundledValueView input(uint32_t index) const noexcept;
  uint32_t expected_count() const noexcept;
  BundledValueView expected(uint32_t index) const noexcept;

 private:
  friend class BundledSuiteView;
  explicit BundledCaseView(const void* table) noexcept : table_(table) {}
  const void* table_ = nullptr;
};

// The cases of one method.
class BundledSuiteView {
 public:
  std::string_view method() const noexcept;
  uint32_t case_count() const noexcept;
  BundledCaseView test_case(uint32_t index) const noexcept;

 private:
  friend class BundledProgramView;
  explicit BundledSuiteView(const void* table) noexcept : table_(table) {}
  const void* table_;
};

// Only read_bundled_program fills one, so every table is there and every tensor has its bytes.
class BundledProgramView {
 public:
  BundledProgramView() noexcept = default;
  uint32_t version() const noexcept;
  // The bytes of the program file, on a 16-byte boundary. They are not verified: read_program does that.
  std::span<const std::byte> program() const noexcept { return program_; }
  // In the order of the method names. Two suites may have one method.
  uint32_t suite_count() const noexcept;
  BundledSuiteView suite(uint32_t index) const noexcept;

  // Number of cases of a method: the cases of its second suite follow those of its first.
  uint32_t case_count(std::string_view method) const noexcept;
  // Returns NOT_FOUND with what there is, if the method has no such case.
  [[nodiscard]] etb_status find_case(std::string_view method, uint64_t index, BundledCaseView* out,
                                     etb_error* error) const noexcept;

 private:
  friend etb_status read_bundled_program(std::span<const std::byte>, BundledProgramView*,
                                         etb_error*) noexcept;
  const void* root_ = nullptr;
  std::span<const std::byte> program_;
};

// True if the bytes begin like a bundled program. 8 bytes are enough.
bool is_bundled_program(std::span<const std::byte> head) noexcept;

// Verifies a whole file on a 16-byte boundary. The view is valid as long as the bytes.
[[nodiscard]] etb_status read_bundled_program(std::span<const std::byte> file, BundledProgramView* out,
                                              etb_error* error) noexcept;

}  // namespace etb::format
