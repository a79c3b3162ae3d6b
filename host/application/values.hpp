// SPDX-License-Identifier: Apache-2.0
// Values of the C API (etb_value), converted to and from those of the run time.
#pragma once

#include <array>

#include "etb/cpp/result.hpp"
#include "etb/module.h"
#include "host/runtime/method.hpp"

namespace etb::host {

// The arrays of a value that describes an input or output.
struct SpecArrays {
  std::array<int64_t, ETB_MAX_RANK> sizes{};
  std::array<uint8_t, ETB_MAX_RANK> dim_order{};
};

// A value of the application as the run time has it. Borrows the tensor's memory.
class InputValue {
 public:
  InputValue() = default;
  InputValue(const InputValue&) = delete;
  InputValue& operator=(const InputValue&) = delete;

  // Checks and converts the value of input `index`. Allocates nothing from the heap unless it fails.
  [[nodiscard]] Status read(const etb_value& given, uint32_t index);
  const EValue& get() const noexcept { return value_; }

 private:
  Status read_value(const etb_value& given);
  Status read_tensor(const etb_tensor& from);

  TensorStorage storage_;
  Tensor tensor_;
  EValue value_;
};

// Describes an input or output. `out` borrows `arrays`.
void put_spec(const format::ValueView& spec, SpecArrays& arrays, etb_value& out);

// Converts an output. `out` borrows the tensor's arrays and memory.
void put_value(const EValue& value, etb_value& out);

}  // namespace etb::host
