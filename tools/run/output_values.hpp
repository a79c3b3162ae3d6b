// SPDX-License-Identifier: Apache-2.0
// OutputValues: expected outputs of a method, from files, numbers or a run, in the method's own dtypes and orders.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/module/module.hpp"
#include "tools/run/array.hpp"

namespace etb::tools {

class OutputValues {
 public:
  explicit OutputValues(const host::MethodMeta& meta) : meta_(meta) {}

  std::span<const host::EValue> values() const { return values_; }
  // Messages about conversions: "output 0: float32 rounded to bfloat16".
  const std::vector<std::string>& notes() const { return notes_; }

  // Reads one text per output: x.npy, x.bin (raw, of the sizes of the method), a number, true or false. `what` names
  // them in the message about a wrong count.
  [[nodiscard]] Status set_texts(const std::vector<std::string>& texts, const char* what = "--expect given");
  // Copies outputs of a run of this method, or of another with the same outputs.
  [[nodiscard]] Status set_values(std::span<const host::EValue> values);

 private:
  Status expect_count(size_t count, const char* what) const;
  Result<host::EValue> read_text(uint32_t index, const std::string& text);
  Result<host::EValue> read_number(uint32_t index, const std::string& text) const;
  // Rejects other dtypes, ranks and sizes than the method's.
  Result<host::EValue> add_array(uint32_t index, Array array);

  host::MethodMeta meta_;
  std::vector<host::EValue> values_;
  std::vector<std::unique_ptr<host::OwnedTensor>> tensors_;
  std::vector<std::string> notes_;
};

}  // namespace etb::tools
