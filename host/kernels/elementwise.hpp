// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels: dtype rules, broadcasting, and the driver that feeds any dtypes and layouts to dense loops.
//
// A loop (vector/unary.def ...) knows only three computing types and dense elements. The driver walks the output in memory order,
// merges dims that are contiguous, and passes a loop either the tensors' own memory or blocks converted into small buffers.
// So a formula costs three loops, not one for each combination of dtypes.
#pragma once

#include <cstdint>
#include <span>

#include "host/kernels/selection.hpp"
#include "host/kernels/vector/table.hpp"
#include "host/runtime/evalue.hpp"
#include "host/runtime/kernel_context.hpp"

namespace etb::host {

inline constexpr int kMaxInputs = 3;

// One input: a tensor, or a number as a rank-0 tensor that a computation promotes only weakly.
class Operand {
 public:
  Operand() = default;
  explicit Operand(const Tensor& tensor) noexcept;
  // A number (int, double or bool).
  explicit Operand(const EValue& number) noexcept;
  // Part of a tensor; the arrays stay with the caller.
  static Operand view(const void* data, Dtype dtype, std::span<const int64_t> sizes,
                      std::span<const int64_t> strides) noexcept;

  const void* data() const noexcept { return data_ != nullptr ? data_ : &number_; }
  Dtype dtype() const noexcept { return dtype_; }
  int rank() const noexcept { return rank_; }
  bool is_number() const noexcept { return is_number_; }
  std::span<const int64_t> sizes() const noexcept { return {sizes_, static_cast<size_t>(rank_)}; }
  int64_t stride(int dim) const noexcept { return strides_[dim]; }
  const Tensor* tensor() const noexcept { return tensor_; }

 private:
  const void* data_ = nullptr;  // null for a number, so that copies of an operand stay valid
  const Tensor* tensor_ = nullptr;
  const int64_t* sizes_ = nullptr;
  const int64_t* strides_ = nullptr;
  union {
    int64_t integer;
    double real;
  } number_ = {};
  Dtype dtype_ = Dtype::FLOAT32;
  int rank_ = 0;
  bool is_number_ = false;
};

// The values p[0..3] of a formula, in every computing type.
class LoopParams {
 public:
  void set(int index, double real) noexcept;
  void set(int index, int64_t integer) noexcept;
  void set(int index, const EValue& number) noexcept;
  double real(int index) const noexcept { return real_[index]; }
  int64_t integer(int index) const noexcept { return integer_[index]; }

 private:
  double real_[4] = {};
  int64_t integer_[4] = {};
};

// The computing type for a dtype.
constexpr Compute compute_of(Dtype dtype) noexcept {
  if (is_float64(dtype)) return Compute::kDouble;
  return is_floating(dtype) || is_float8(dtype) ? Compute::kFloat : Compute::kInt64;
}

// PyTorch's result dtype of several operands: tensors with dims before rank-0 tensors before numbers, where a later group only
// counts when it is of a higher kind (bool < integer < float).
Dtype result_dtype(std::span<const Operand> operands) noexcept;

// The dtype itself if it is a float, else float32: what ops defined on reals compute in.
constexpr Dtype real_dtype(Dtype dtype) noexcept { return is_floating(dtype) ? dtype : Dtype::FLOAT32; }

// Bits of the significand of a 16-bit float, for the few formulas that PyTorch rounds step by step; 0 for others.
constexpr int64_t significant_bits(Dtype dtype) noexcept {
  return dtype == Dtype::FLOAT16 ? 11 : dtype == Dtype::BFLOAT16 ? 8 : 0;
}

// True if PyTorch stores a result of one dtype into an output of another: not float into integer, not number into bool.
constexpr bool can_store(Dtype result, Dtype out) noexcept {
  if (is_float8(result) || is_float8(out)) return true;  // they are only copied
  if (is_floating(result) && !is_floating(out)) return false;
  return is_bool(result) || !is_bool(out);
}

// How a loop is to be run: `common` is the dtype the inputs are promoted to, `result` the one that PyTorch's result has.
struct ElementOp {
  const ElementLoop* loops;  // one for each computing type
  Dtype common;
  Dtype result;
  LoopParams params;
  int64_t work = 1;  // number of additions that take as long as one element, for should_stop
};
// The work of an element of a special function.
inline constexpr int64_t kSpecialWork = 128;

// Broadcasts the inputs, resizes `out` and runs the loop. Fails with ETB_INVALID_ARGUMENT when sizes do not broadcast,
// ETB_INVALID_TYPE when a dtype has no arithmetic or the result cannot be stored, and ETB_NOT_SUPPORTED when `out` is too small.
etb_status run_elements(KernelContext& context, const ElementOp& op, std::span<const Operand> inputs,
                        Tensor& out) noexcept;

// The loops of a context's vector table.
const VectorTable& vector_table(const KernelContext& context) noexcept;

// should_stop of a context (or of one thread's copy of its check) for those loops.
StopHook stop_hook(StopCheck& check) noexcept;

// Resizes an output, with an error text that shows found and expected sizes.
etb_status resize_output(KernelContext& context, Tensor& out, std::span<const int64_t> sizes) noexcept;

// "[2, 3]" for error texts.
struct SizesText {
  explicit SizesText(std::span<const int64_t> sizes) noexcept;
  char text[128];
};

}  // namespace etb::host
