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

// Converts a value of the application. The result borrows `storage` and `tensor`, which the call fills, and the
// tensor's memory.
[[nodiscard]] Result<EValue> read_value(const etb_value& given, TensorStorage& storage, Tensor& tensor);

// Describes an input or output. `out` borrows `arrays`.
void put_spec(const format::ValueView& spec, SpecArrays& arrays, etb_value& out);

// Converts an output. `out` borrows the tensor's arrays and memory.
void put_value(const EValue& value, etb_value& out);

}  // namespace etb::host
