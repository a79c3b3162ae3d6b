// SPDX-License-Identifier: Apache-2.0
// MethodInputs: a method's inputs, from files, numbers or a seed, in its own dtypes and orders.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/module/module.hpp"
#include "tools/run/array.hpp"

namespace etb::tools {

// Splits "a,,b" into "a", "", "b".
std::vector<std::string> split_commas(const std::string& text);

// Parses "3", "0.5", "true" or "false".
std::optional<host::EValue> parse_number(const std::string& text);

class MethodInputs {
 public:
  explicit MethodInputs(const host::MethodMeta& meta) : meta_(meta), values_(meta.input_count()) {}

  uint32_t count() const { return static_cast<uint32_t>(values_.size()); }
  std::span<const host::EValue> values() const { return values_; }
  // Messages about conversions: "input 0: float32 rounded to bfloat16".
  const std::vector<std::string>& notes() const { return notes_; }

  // Sets sizes of dynamic tensors within bounds: one entry per input, "1x98,,2x3", empty for the largest.
  // Call it before setting values.
  [[nodiscard]] Status set_shapes(const std::string& text);

  // Upper bound for the bytes of a file for this input.
  uint64_t max_file_nbytes(uint32_t index) const;

  // Reads a command line value: x.npy, x.bin (raw little-endian, sizes of the spec), a number, true or false; none for None.
  [[nodiscard]] Status set_text(uint32_t index, const std::string& text);
  [[nodiscard]] Status set_array(uint32_t index, Array array);
  [[nodiscard]] Status set_number(uint32_t index, const host::EValue& number);
  [[nodiscard]] Status set_none(uint32_t index);

  // Uniform in [0, 1) for floats, small non-negative integers, random bools; scalar numbers and bools become
  // 1, and fixed inputs keep their value.
  [[nodiscard]] Status fill_random(uint64_t seed);
  [[nodiscard]] Status fill_ones();

 private:
  Status check_index(uint32_t index) const;
  Array make_array(uint32_t index) const;
  template <class Make>
  Status fill(Make make);

  host::MethodMeta meta_;
  std::vector<std::optional<std::vector<int64_t>>> shapes_;  // empty, or one for each input
  std::vector<host::EValue> values_;
  std::vector<std::unique_ptr<host::OwnedTensor>> tensors_;
  std::vector<std::string> notes_;
};

}  // namespace etb::tools
