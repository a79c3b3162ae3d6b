// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of one length, several at a time, in scratch memory.
#pragma once

#include <cstdint>

#include "host/kernels/vector/table.hpp"
#include "host/runtime/kernel_context.hpp"

namespace etb::host {

// Complex numbers, their parts in arrays of their own.
template <class T>
struct SplitNumbers {
  T* re = nullptr;
  T* im = nullptr;

  SplitNumbers swapped() const noexcept { return {im, re}; }
};

// A length as a product of small radices. Lengths with a large prime factor have none.
struct Radices {
  static constexpr int64_t kLargestPrime = 31;
  int count = 0;
  uint8_t radix[64];
  bool is_complete = false;

  static Radices of(int64_t length) noexcept;
};

// Computes e^(-2 pi i k / length) for k < count. Correct to two units in the last place of double, then rounded.
template <class T>
etb_status compute_roots(KernelContext& context, SplitNumbers<T> out, int64_t length, int64_t count) noexcept;

// The transform of `length` numbers, in rows of up to `lanes` transforms. Lengths of small prime factors are computed by one pass for
// each factor (Stockham's order, which sorts by itself); others by Bluestein's convolution of a length with small factors.
template <class T>
class FourierPlan {
 public:
  // Allocates scratch and computes roots. Null memory is ETB_OUT_OF_MEMORY.
  etb_status prepare(KernelContext& context, int64_t length, int64_t lanes) noexcept;
  // Numbers to transform, in rows; run() overwrites them and returns where the results are. `is_forward` chooses the sign of the
  // exponent. Nothing is scaled.
  SplitNumbers<T> input() const noexcept { return data_; }
  // Memory of the same size that run() does not need before it is called, or after.
  SplitNumbers<T> run(KernelContext& context, int64_t lanes, bool is_forward,
                      etb_status* out_status) noexcept;
  // The numbers that run() does not return.
  SplitNumbers<T> spare(SplitNumbers<T> result) const noexcept {
    return result.re == data_.re || result.re == data_.im ? spare_ : data_;
  }

 private:
  // Transforms `data` of rows of the inner length forward; swaps both when the results are in `spare`.
  etb_status transform(KernelContext& context, SplitNumbers<T>& data, SplitNumbers<T>& spare,
                       int64_t lanes) noexcept;
  etb_status convolve(KernelContext& context, SplitNumbers<T>& data, SplitNumbers<T>& spare,
                      int64_t lanes) noexcept;
  etb_status prepare_chirp(KernelContext& context) noexcept;

  const FourierLoops<T>* loops_ = nullptr;
  int64_t length_ = 0;
  int64_t inner_ = 0;  // length of the passes: that of the transform, or of the convolution
  Radices radices_;
  SplitNumbers<T> roots_, data_, spare_;
  SplitNumbers<T> chirp_, filter_;  // of a convolution
};

}  // namespace etb::host
