// SPDX-License-Identifier: Apache-2.0
#include "host/kernels/fourier_plan.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "host/kernels/kernel.hpp"
#include "host/kernels/long_loops.hpp"

namespace etb::host {

namespace {

struct Root {
  double re, im;
};

// e^(-2 pi i k / length), with an angle of at most an eighth of the circle.
Root root_of_unity(int64_t k, int64_t length) noexcept {
  k %= length;
  bool is_mirrored = false, is_negated = false, is_swapped = false;
  if (2 * k > length) {
    k = length - k;
    is_mirrored = true;  // im changes its sign
  }
  int64_t numerator = 4 * k;  // the angle is this part of `length` quarters, at most two
  if (numerator > length) {
    numerator = 2 * length - numerator;
    is_negated = true;  // re changes its sign
  }
  if (2 * numerator > length) {
    numerator = length - numerator;
    is_swapped = true;
  }
  const double angle = std::numbers::pi / 2 * static_cast<double>(numerator) / static_cast<double>(length);
  double re = std::cos(angle), im = std::sin(angle);
  if (is_swapped) std::swap(re, im);
  if (is_negated) re = -re;
  return {re, is_mirrored ? im : -im};
}

// The least product of 2, 3 and 5 that is at least `least`.
int64_t next_smooth_length(int64_t least) noexcept {
  int64_t best = 1;
  while (best < least) best *= 2;
  for (int64_t fives = 1; fives < best; fives *= 5) {
    for (int64_t threes = fives; threes < best; threes *= 3) {
      int64_t length = threes;
      while (length < least) length *= 2;
      best = std::min(best, length);
    }
  }
  return best;
}

template <class T>
bool allocate(KernelContext& context, SplitNumbers<T>& out, int64_t count) noexcept {
  out.re = context.allocate_array<T>(count);
  out.im = context.allocate_array<T>(count);
  return out.re != nullptr && out.im != nullptr;
}

}  // namespace

Radices Radices::of(int64_t length) noexcept {
  Radices out;
  const auto take = [&](int64_t factor) {
    while (length % factor == 0 && length > 1) {
      out.radix[out.count++] = static_cast<uint8_t>(factor);
      length /= factor;
    }
  };
  take(4);
  take(2);
  for (int64_t prime = 3; prime <= kLargestPrime; prime += 2) take(prime);
  out.is_complete = length == 1;
  return out;
}

template <class T>
etb_status compute_roots(KernelContext& context, SplitNumbers<T> out, int64_t length,
                         int64_t count) noexcept {
  constexpr int64_t kRow = 64;
  Root row[kRow];
  for (int64_t i = 0; i < kRow; ++i) row[i] = root_of_unity(i, length);
  for (int64_t begin = 0; begin < count; begin += kRow) {
    const int64_t end = std::min(begin + kRow, count);
    if (context.should_stop(2 * kRow)) return context.stopped();
    const Root first = root_of_unity(begin, length);
    for (int64_t i = begin; i < end; ++i) {
      const Root& step = row[i - begin];
      out.re[i] = static_cast<T>(first.re * step.re - first.im * step.im);
      out.im[i] = static_cast<T>(first.re * step.im + first.im * step.re);
    }
  }
  return ETB_OK;
}

template <class T>
etb_status FourierPlan<T>::prepare(KernelContext& context, int64_t length, int64_t lanes) noexcept {
  constexpr int64_t kMaxLength = int64_t{1} << 40;
  if (length < 1 || length > kMaxLength)
    return context.fail(ETB_INVALID_ARGUMENT, "a transform of %lld numbers, expected 1 to 2^40",
                        static_cast<long long>(length));
  loops_ = &vector_table(context).fourier<T>();
  length_ = inner_ = length;
  radices_ = Radices::of(length);
  const bool is_convolution = !radices_.is_complete;
  if (is_convolution) {
    inner_ = next_smooth_length(2 * length - 1);
    radices_ = Radices::of(inner_);
  }
  int64_t numbers = 0;
  const bool is_too_large = __builtin_mul_overflow(inner_, lanes, &numbers);
  if (is_too_large || !allocate(context, roots_, inner_) || !allocate(context, data_, numbers) ||
      !allocate(context, spare_, numbers) ||
      (is_convolution && (!allocate(context, chirp_, length) || !allocate(context, filter_, inner_))))
    return context.fail(ETB_OUT_OF_MEMORY, "a transform of %lld numbers", static_cast<long long>(length));
  ETB_CHECK(compute_roots(context, roots_, inner_, inner_));
  return is_convolution ? prepare_chirp(context) : ETB_OK;
}

// The chirp is e^(-pi i k^2 / length); k^2 is reduced before it is divided. The filter is the transform of its conjugate.
template <class T>
etb_status FourierPlan<T>::prepare_chirp(KernelContext& context) noexcept {
  SplitNumbers<T> filter = filter_, spare = spare_;
  ETB_CHECK(clear_bytes(context, filter.re, static_cast<uint64_t>(inner_) * sizeof(T)));
  ETB_CHECK(clear_bytes(context, filter.im, static_cast<uint64_t>(inner_) * sizeof(T)));
  int64_t square = 0;  // k^2 modulo 2 * length
  for (int64_t k = 0; k < length_; ++k) {
    if (k % 1024 == 0 && context.should_stop(32 * 1024)) return context.stopped();
    const Root root = root_of_unity(square, 2 * length_);
    chirp_.re[k] = static_cast<T>(root.re);
    chirp_.im[k] = static_cast<T>(root.im);
    const double scale = 1.0 / static_cast<double>(inner_);
    for (const int64_t at : {k, (inner_ - k) % inner_}) {
      filter.re[at] = static_cast<T>(root.re * scale);
      filter.im[at] = static_cast<T>(-root.im * scale);
    }
    square = (square + 2 * k + 1) % (2 * length_);
  }
  ETB_CHECK(transform(context, filter, spare, 1));
  if (filter.re != filter_.re) {
    // The results are in memory of the data; they move back.
    ETB_CHECK(move_bytes(context, filter_.re, filter.re, static_cast<uint64_t>(inner_) * sizeof(T)));
    ETB_CHECK(move_bytes(context, filter_.im, filter.im, static_cast<uint64_t>(inner_) * sizeof(T)));
  }
  return ETB_OK;
}

template <class T>
etb_status FourierPlan<T>::transform(KernelContext& context, SplitNumbers<T>& data, SplitNumbers<T>& spare,
                                     int64_t lanes) noexcept {
  FourierPass<T> pass{};
  pass.roots_re = roots_.re;
  pass.roots_im = roots_.im;
  pass.length = inner_;
  pass.run = lanes;
  int64_t left = inner_;
  pass.step = 1;
  for (int i = 0; i < radices_.count; ++i) {
    pass.radix = radices_.radix[i];
    pass.groups = left / pass.radix;
    pass.in_re = data.re;
    pass.in_im = data.im;
    pass.out_re = spare.re;
    pass.out_im = spare.im;
    // Pieces of whole groups, or of a part of one.
    const int64_t work = pass.radix * (pass.radix > 5 ? pass.radix : 1);
    const int64_t q_piece = std::max<int64_t>(1, std::min(pass.run, KernelContext::kPiece / work));
    const int64_t p_piece = std::max<int64_t>(1, KernelContext::kPiece / (work * pass.run));
    for (pass.p_begin = 0; pass.p_begin < pass.groups; pass.p_begin = pass.p_end) {
      pass.p_end = std::min(pass.p_begin + p_piece, pass.groups);
      for (pass.q_begin = 0; pass.q_begin < pass.run; pass.q_begin = pass.q_end) {
        pass.q_end = std::min(pass.q_begin + q_piece, pass.run);
        const int64_t count = (pass.p_end - pass.p_begin) * (pass.q_end - pass.q_begin) * work;
        if (context.should_stop(std::min(count, KernelContext::kPiece))) return context.stopped();
        loops_->pass(pass);
      }
    }
    std::swap(data, spare);
    left = pass.groups;
    pass.step *= pass.radix;
    pass.run *= pass.radix;
  }
  return ETB_OK;
}

// Bluestein: with 2 j k = j^2 + k^2 - (j - k)^2 the transform is a convolution with the conjugate of the chirp.
template <class T>
etb_status FourierPlan<T>::convolve(KernelContext& context, SplitNumbers<T>& data, SplitNumbers<T>& spare,
                                    int64_t lanes) noexcept {
  const int64_t rows = std::max<int64_t>(1, KernelContext::kPiece / lanes);
  const auto multiply = [&](SplitNumbers<T> numbers, SplitNumbers<T> factors, int64_t count) {
    for (int64_t begin = 0; begin < count; begin += rows) {
      const int64_t end = std::min(begin + rows, count);
      if (context.should_stop(std::min((end - begin) * lanes, KernelContext::kPiece))) return false;
      loops_->scale_rows(numbers.re, numbers.im, numbers.re, numbers.im, factors.re, factors.im, begin, end,
                         lanes);
    }
    return true;
  };
  const auto used = static_cast<uint64_t>(length_ * lanes) * sizeof(T);
  const auto rest = static_cast<uint64_t>((inner_ - length_) * lanes) * sizeof(T);
  if (!multiply(data, chirp_, length_)) return context.stopped();
  ETB_CHECK(clear_bytes(context, reinterpret_cast<std::byte*>(data.re) + used, rest));
  ETB_CHECK(clear_bytes(context, reinterpret_cast<std::byte*>(data.im) + used, rest));
  ETB_CHECK(transform(context, data, spare, lanes));
  if (!multiply(data, filter_, inner_)) return context.stopped();
  // The inverse is the same with real and imaginary parts swapped.
  data = data.swapped();
  spare = spare.swapped();
  ETB_CHECK(transform(context, data, spare, lanes));
  data = data.swapped();
  spare = spare.swapped();
  return multiply(data, chirp_, length_) ? ETB_OK : context.stopped();
}

template <class T>
SplitNumbers<T> FourierPlan<T>::run(KernelContext& context, int64_t lanes, bool is_forward,
                                    etb_status* out_status) noexcept {
  SplitNumbers<T> data = is_forward ? data_ : data_.swapped(), spare = is_forward ? spare_ : spare_.swapped();
  const bool is_convolution = chirp_.re != nullptr;
  *out_status =
      is_convolution ? convolve(context, data, spare, lanes) : transform(context, data, spare, lanes);
  return is_forward ? data : data.swapped();
}

template class FourierPlan<float>;
template class FourierPlan<double>;
template etb_status compute_roots<float>(KernelContext&, SplitNumbers<float>, int64_t, int64_t) noexcept;
template etb_status compute_roots<double>(KernelContext&, SplitNumbers<double>, int64_t, int64_t) noexcept;

}  // namespace etb::host
