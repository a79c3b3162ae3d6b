// SPDX-License-Identifier: Apache-2.0
// Finds the arguments that a delegate reads, where a program passes more: an exporter may leave inputs that no operator reads out of
// the payload, and ExecuTorch's exporter for Vulkan does.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "etb/cpp/result.hpp"
#include "etb/tensor.h"
#include "host/runtime/evalue.hpp"

namespace etb::host {

// The type of an input in a payload (etb_io_req.spec).
struct StatedInput {
  bool is_stated = false;
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  std::vector<int64_t> sizes = {};  // upper bounds
};

// Returns the index of the argument for each input, then for each output. The outputs are the last arguments. Inputs keep their order;
// each has the rank, sizes and kind of numbers of its argument, and integers of 32 bits fit those of 64. Returns INCOMPATIBLE unless
// exactly one choice fits.
[[nodiscard]] Result<std::vector<uint32_t>> match_arguments(std::span<const StatedInput> inputs,
                                                            size_t output_count,
                                                            std::span<EValue* const> arguments);

}  // namespace etb::host
