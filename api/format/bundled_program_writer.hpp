// SPDX-License-Identifier: Apache-2.0
// Writes bundled programs (.bpte): a program with test cases of its methods.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "api/format/bundled_program_view.hpp"
#include "api/format/program_writer.hpp"
#include "etb/cpp/result.hpp"

namespace etb::format {

// Elements dense in dim order; an empty order of a tensor with sizes means row-major.
struct BundledTensorData {
  uint8_t dtype = 0;
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  std::vector<std::byte> bytes;
};

using BundledValue = std::variant<BundledTensorData, int64_t, bool, double>;

struct BundledCase {
  std::vector<BundledValue> inputs;
  std::vector<BundledValue> expected;  // empty: for measurements only
};

struct BundledSuite {
  std::string method;
  std::vector<BundledCase> cases;
};

// Returns a copy of a case in a file.
BundledCase to_case(const BundledCaseView& view);

// Writes the whole file: suites in the order of their methods, the program on a 32-byte boundary, elements of tensors
// on 16-byte boundaries. Suites of one method become one. OUT_OF_RESOURCES: the format ends at 2 GiB.
// INVALID_ARGUMENT: a tensor whose bytes are not those that its sizes need.
[[nodiscard]] Status write_bundled_program(std::span<const std::byte> program,
                                           std::span<const BundledSuite> suites, const ByteSink& sink);

}  // namespace etb::format
