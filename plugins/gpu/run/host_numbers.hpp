// SPDX-License-Identifier: Apache-2.0
// Numbers of other types than the device's floats, in the host's memory.
#pragma once

#include <cstddef>
#include <span>

#include "etb/cpp/tensor.hpp"
#include "plugins/gpu/graph/graph.hpp"

namespace etb::gpu {

// True if arguments for the value may have this dtype.
bool accepts(const GpuValue& value, etb_dtype dtype);
// True if an argument of this dtype has the bytes that the device has.
bool is_same_on_device(const GpuValue& value, etb_dtype dtype);
// The dtype that a message names.
etb_dtype expected_dtype(const GpuValue& value);

// Facts about numbers that became floats.
struct ReadNumbers {
  double largest = 0;    // magnitude; meaningless for floats
  bool is_exact = true;  // every integer is a float
};
// Reads `to.size()` numbers of a dtype. `from` has as many, at any address.
ReadNumbers read_numbers(const std::byte* from, etb_dtype dtype, std::span<float> to);
// Writes numbers as a dtype. Floats that an integer type lacks become the nearest one, NaN becomes 0.
void write_numbers(std::span<const float> from, etb_dtype dtype, std::byte* to);

// Rejects strides that reach past the capacity or are negative.
[[nodiscard]] Status check_strides(const Tensor& tensor);
// Reads and writes elements of a tensor from `first` on, in the order of its dimensions, for any order in memory.
ReadNumbers read_tensor(const Tensor& tensor, size_t first, std::span<float> to);
void write_tensor(std::span<const float> from, size_t first, const OutputTensor& tensor);
// Likewise as the bits of int32. Returns false if an integer is beyond int32.
bool read_int32_bits(const Tensor& tensor, size_t first, std::span<float> to);
void write_int32_bits(std::span<const float> from, size_t first, const OutputTensor& tensor);

}  // namespace etb::gpu
