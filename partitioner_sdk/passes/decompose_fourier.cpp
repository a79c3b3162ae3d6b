// SPDX-License-Identifier: Apache-2.0
// Fourier transforms in the three ops that have kernels: _fft_c2c, _fft_c2r and _fft_r2c. lower_complex runs these
// decompositions, so that their complex values become pairs of real ones.
#include <cmath>

#include "ops/fft_fft.hpp"
#include "ops/fft_fft2.hpp"
#include "ops/fft_fftfreq.hpp"
#include "ops/fft_fftn.hpp"
#include "ops/fft_hfft.hpp"
#include "ops/fft_hfft2.hpp"
#include "ops/fft_hfftn.hpp"
#include "ops/fft_ifft.hpp"
#include "ops/fft_ifft2.hpp"
#include "ops/fft_ifftn.hpp"
#include "ops/fft_ihfft.hpp"
#include "ops/fft_ihfft2.hpp"
#include "ops/fft_ihfftn.hpp"
#include "ops/fft_irfft.hpp"
#include "ops/fft_irfft2.hpp"
#include "ops/fft_irfftn.hpp"
#include "ops/fft_rfft.hpp"
#include "ops/fft_rfft2.hpp"
#include "ops/fft_rfftfreq.hpp"
#include "ops/fft_rfftn.hpp"
#include "ops/istft.hpp"
#include "ops/stft.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

// The divisor of a transform's result, in the numbers of aten._fft_c2c.
enum Scale : int64_t { kNone = 0, kRoot = 1, kCount = 2 };

// numpy's words: "backward" scales inverse transforms, "forward" the others, "ortho" both by the root.
Scale scale_of(const Call& a, const infer::StringArgument& norm, bool is_forward) {
  const std::string text = norm.find_text() == nullptr ? "backward" : *norm.find_text();
  if (text == "ortho") return kRoot;
  if (text != "backward" && text != "forward")
    a.fail("norm '" + text + "', expected backward, forward or ortho");
  return (text == "forward") == is_forward ? kCount : kNone;
}

ValueId as_floats(Builder& b, ValueId value) {
  const Dtype dtype = b.spec(value).dtype;
  return ops::is_floating(dtype) || ops::is_complex(dtype) ? value : to_dtype(b, value, Dtype::FLOAT32);
}
ValueId as_complex(Builder& b, ValueId value) {
  value = as_floats(b, value);
  const Dtype dtype = b.spec(value).dtype;
  return ops::is_complex(dtype) ? value : to_dtype(b, value, ops::complex_of(dtype));
}
ValueId conjugate(Builder& b, ValueId value) { return b.call("aten._conj.default", {ValueRef{value}}); }

// Cuts a dimension, or appends zeros.
ValueId with_length(Builder& b, ValueId value, size_t axis, Dim length) {
  const TensorSpec in = b.spec(value);
  if (in.sizes[axis] == length) return value;
  const Dim missing = b.symbols().sub(length, in.sizes[axis]);
  if (missing.is_static() && missing.value() < 0)
    return b.call("aten.slice.Tensor", {ValueRef{value}, Dim(static_cast<int64_t>(axis)), Dim(0), length});
  Dims pad(2 * (in.rank() - axis), Dim(0));
  pad.back() = missing;
  return b.call("aten.constant_pad_nd.default", {ValueRef{value}, Argument(pad), Dim(0)});
}

// The dimensions of a transform, and their lengths.
struct Extent {
  Dims dims;
  Dims lengths;
};

Dims axes_as_dims(const Call& a, const Dims& dims, size_t rank) {
  Dims out;
  for (const Dim dim : dims) out.emplace_back(static_cast<int64_t>(a.axis(dim.value(), rank)));
  return out;
}

// Reads `s` and `dim` as PyTorch does: without dim, the last dimensions of s or all.
Extent read_extent(Builder& b, const Call& a, ValueId value, const infer::IntListArgument& s,
                   const infer::IntListArgument& dim) {
  const TensorSpec in = b.spec(value);
  const Dims wanted = s.dims();
  Extent out;
  if (dim.has_value()) {
    out.dims = axes_as_dims(a, dim.dims(), in.rank());
  } else {
    const size_t count = s.has_value() ? std::min(wanted.size(), in.rank()) : in.rank();
    for (size_t i = in.rank() - count; i < in.rank(); ++i) out.dims.emplace_back(static_cast<int64_t>(i));
  }
  if (s.has_value() && wanted.size() != out.dims.size()) {
    a.fail("argument 's' has " + std::to_string(wanted.size()) + " lengths for " +
           std::to_string(out.dims.size()) + " dimensions");
    return {};
  }
  if (in.rank() == 0) return {};
  for (size_t i = 0; i < out.dims.size(); ++i) {
    const Dim size = in.sizes[static_cast<size_t>(out.dims[i].value())];
    out.lengths.push_back(s.has_value() && !wanted[i].is(-1) ? wanted[i] : size);
  }
  return out;
}
Extent read_extent(Builder& b, const Call& a, ValueId value, const infer::IntArgument& n,
                   const infer::IntArgument& dim) {
  const TensorSpec in = b.spec(value);
  if (in.rank() == 0) return {};
  const size_t axis = a.axis(dim.integer(), in.rank());
  return {{Dim(static_cast<int64_t>(axis))}, {n.has_value() ? n.dim() : in.sizes[axis]}};
}

bool has_length(const infer::IntArgument& n) { return n.has_value(); }
bool has_length(const infer::IntListArgument& s) {
  return s.has_value() && !s.dims().empty() && !s.dims().back().is(-1);
}

ValueId with_lengths(Builder& b, ValueId value, const Extent& extent) {
  for (size_t i = 0; i < extent.dims.size(); ++i)
    value = with_length(b, value, static_cast<size_t>(extent.dims[i].value()), extent.lengths[i]);
  return value;
}

// A length below 1 has no transform.
bool is_valid(const Call& a, const Extent& extent) {
  for (const Dim length : extent.lengths)
    if (length.is_static() && length.value() < 1)
      a.fail("a transform of " + std::to_string(length.value()) + " numbers, expected at least 1");
  return a.error().empty();
}

ValueId complex_transform(Builder& b, ValueId value, Dims dims, Scale scale, bool is_forward) {
  if (dims.empty()) return value;
  return b.call("aten._fft_c2c.default", {ValueRef{value}, std::move(dims), Dim(scale), is_forward});
}
ValueId real_transform(Builder& b, ValueId value, Dims dims, Scale scale, bool is_half) {
  return b.call("aten._fft_r2c.default", {ValueRef{value}, std::move(dims), Dim(scale), is_half});
}

template <class A>
auto lengths_of(const A& a) {
  if constexpr (requires { a.n(); })
    return a.n();
  else
    return a.s();
}

// fft, ifft, and over several dimensions.
template <bool is_forward, class A>
Values transform(Builder& b, const A& a) {
  const ValueId self = as_floats(b, a.self());
  const Extent extent = read_extent(b, a, self, lengths_of(a), a.dim());
  const Scale scale = scale_of(a, a.norm(), is_forward);
  if (!is_valid(a, extent)) return {};
  const ValueId x = with_lengths(b, self, extent);
  if (extent.dims.empty()) return {as_complex(b, x)};
  if (ops::is_complex(b.spec(x).dtype)) return {complex_transform(b, x, extent.dims, scale, is_forward)};
  const ValueId out = real_transform(b, x, extent.dims, scale, false);
  return {is_forward ? out : conjugate(b, out)};
}

// rfft: the half of the result that determines the other half.
template <class A>
Values real_to_half(Builder& b, const A& a) {
  const ValueId self = as_floats(b, a.self());
  const Extent extent = read_extent(b, a, self, lengths_of(a), a.dim());
  const Scale scale = scale_of(a, a.norm(), true);
  if (!is_valid(a, extent) || extent.dims.empty()) return {};
  return {real_transform(b, with_lengths(b, self, extent), extent.dims, scale, true)};
}

// ihfft: the conjugate of rfft, scaled as an inverse.
template <class A>
Values hermitian_half(Builder& b, const A& a) {
  const ValueId self = as_floats(b, a.self());
  Extent extent = read_extent(b, a, self, lengths_of(a), a.dim());
  const Scale scale = scale_of(a, a.norm(), false);
  if (!is_valid(a, extent) || extent.dims.empty()) return {};
  const ValueId x = with_lengths(b, self, extent);
  const Dim last = extent.dims.back();
  extent.dims.pop_back();
  const ValueId half = conjugate(b, real_transform(b, x, {last}, scale, true));
  return {complex_transform(b, half, std::move(extent.dims), scale, false)};
}

// irfft, and hfft over the conjugate: real numbers from the half that determines them.
template <bool is_hermitian, class A>
Values half_to_real(Builder& b, const A& a) {
  ValueId x = as_complex(b, a.self());
  Extent extent = read_extent(b, a, x, lengths_of(a), a.dim());
  const Scale scale = scale_of(a, a.norm(), is_hermitian);
  if (!a.error().empty() || extent.dims.empty()) return {};
  ir::SymbolTable& symbols = b.symbols();
  const Dim length = has_length(lengths_of(a)) ? extent.lengths.back()
                                               : symbols.mul(symbols.sub(extent.lengths.back(), 1), 2);
  extent.lengths.back() = length;
  if (!is_valid(a, extent)) return {};
  extent.lengths.back() = symbols.add(symbols.floor_div(length, 2), 1);
  x = with_lengths(b, x, extent);
  if (!is_hermitian)
    return {b.call("aten._fft_c2r.default", {ValueRef{x}, Argument(extent.dims), Dim(scale), length})};
  const Dim last = extent.dims.back();
  extent.dims.pop_back();
  x = conjugate(b, complex_transform(b, x, std::move(extent.dims), scale, true));
  return {b.call("aten._fft_c2r.default", {ValueRef{x}, Dims{last}, Dim(scale), length})};
}

// The frequencies of a transform's results.
template <bool is_half, class A>
Values frequencies(Builder& b, const A& a) {
  constexpr int64_t kMaxCount = 1 << 24;
  const int64_t n = a.n().integer();
  const double spacing = a.d().number();
  const Dtype dtype = a.dtype().value_or(Dtype::FLOAT32);
  if (n < 1 || n > kMaxCount || !ops::is_floating(dtype)) {
    a.fail(std::to_string(n) + " frequencies of " + std::string(ops::to_text(dtype)) +
           ", expected 1 to 2^24 floats");
    return {};
  }
  std::vector<double> numbers;
  for (int64_t i = 0; i < (is_half ? n / 2 + 1 : n); ++i)
    numbers.push_back(static_cast<double>(is_half || i < (n + 1) / 2 ? i : i - n) *
                      (1.0 / (static_cast<double>(n) * spacing)));
  const auto count = static_cast<int64_t>(numbers.size());
  return {to_dtype(b, add_elements(b, Dtype::FLOAT64, {count}, numbers), dtype)};
}

// The window of a short-time transform, in the middle of n_fft numbers; null for one of ones.
struct Framing {
  int64_t size = 0, hop = 0;
  ValueId window = ir::kNoValue;
};

Framing read_framing(Builder& b, const Call& a, const infer::IntArgument& n_fft,
                     const infer::IntArgument& hop_length, const infer::IntArgument& win_length,
                     const infer::TensorArgument& window, Dtype dtype) {
  constexpr int64_t kMaxSize = int64_t{1} << 30;
  Framing out{n_fft.integer(), 0, ir::kNoValue};
  out.hop = hop_length.has_value() ? hop_length.integer() : out.size / 4;
  const int64_t length = win_length.has_value() ? win_length.integer() : out.size;
  if (out.size < 1 || out.size > kMaxSize || out.hop < 1 || out.hop > kMaxSize || length < 1 ||
      length > out.size) {
    a.fail("frames of " + std::to_string(out.size) + " every " + std::to_string(out.hop) +
           " with a window of " + std::to_string(length) +
           ", expected positive numbers and a window inside of the frame");
    return out;
  }
  if (window.has_value()) {
    out.window = window;
  } else if (length < out.size) {
    out.window = b.call("aten.full.default", {Dims{Dim(length)}, Dim(1)}, {{"dtype", dtype}});
  }
  if (out.window == ir::kNoValue || length == out.size) return out;
  const int64_t left = (out.size - length) / 2;
  out.window = b.call("aten.constant_pad_nd.default",
                      {ValueRef{out.window}, Dims{Dim(left), Dim(out.size - length - left)}, Dim(0)});
  return out;
}

// [frequencies, frames] of a signal, with the batch before them.
ValueId short_time_transform(Builder& b, const Call& a, ValueId signal, const Framing& framing,
                             bool is_scaled, bool is_half) {
  if (!a.error().empty()) return signal;
  ValueId frames =
      b.call("aten.unfold.default", {ValueRef{signal}, Dim(-1), Dim(framing.size), Dim(framing.hop)});
  if (framing.window != ir::kNoValue)
    frames = b.call("aten.mul.Tensor", {ValueRef{frames}, ValueRef{framing.window}});
  const Scale scale = is_scaled ? kRoot : kNone;
  const Dims last = {Dim(static_cast<int64_t>(b.spec(frames).rank()) - 1)};
  const ValueId out = ops::is_complex(b.spec(frames).dtype) ? complex_transform(b, frames, last, scale, true)
                                                            : real_transform(b, frames, last, scale, is_half);
  return transpose(b, out, -2, -1);
}

// The signal as if it went on beyond both ends, so that frames are around their time.
ValueId centered(Builder& b, const ops::stft_center<Call>& a, ValueId signal, int64_t size) {
  const size_t rank = b.spec(signal).rank();
  const std::string mode = a.pad_mode().find_text() == nullptr ? "reflect" : *a.pad_mode().find_text();
  // Padding that reflects needs a dimension of channels.
  Dims sizes = sizes_of(b, signal);
  const Dim length = b.symbols().add(sizes.back(), size / 2 * 2);
  sizes.insert(sizes.begin(), 3 - rank, Dim(1));
  const ValueId raised = b.call("aten.view.default", {ValueRef{signal}, Argument(sizes)});
  const ValueId padded =
      b.call("aten.pad.default", {ValueRef{raised}, Dims{Dim(size / 2), Dim(size / 2)}, mode});
  Dims out(sizes.end() - static_cast<std::ptrdiff_t>(rank), sizes.end());
  out.back() = length;
  return b.call("aten.view.default", {ValueRef{padded}, std::move(out)});
}

template <class A>
Values stft(Builder& b, const A& a) {
  ValueId signal = a.self();
  const size_t rank = b.spec(signal).rank();
  if (rank != 1 && rank != 2) {
    a.fail("a signal of rank " + std::to_string(rank) + ", expected 1 or 2");
    return {};
  }
  const Framing framing =
      read_framing(b, a, a.n_fft(), a.hop_length(), a.win_length(), a.window(), b.spec(signal).dtype);
  if (!a.error().empty()) return {};
  if constexpr (requires { a.center(); })
    if (a.center()) signal = centered(b, a, signal, framing.size);
  const bool is_half = a.onesided().has_value() ? bool(a.onesided()) : true;
  const ValueId out = short_time_transform(b, a, signal, framing, a.normalized(), is_half);
  if (a.return_complex() || !a.error().empty()) return {out};
  return {b.call("aten.view_as_real.default", {ValueRef{out}})};
}

// Adds frames [batch, size, frames] that overlap, `hop` apart.
ValueId overlap_add(Builder& b, ValueId frames, const Framing& framing, Dim length) {
  const ValueId image =
      b.call("aten.col2im.default", {ValueRef{frames}, Dims{Dim(1), length}, Dims{Dim(1), Dim(framing.size)},
                                     Dims{1, 1}, Dims{0, 0}, Dims{Dim(1), Dim(framing.hop)}});
  return b.call("aten.view.default", {ValueRef{image}, Dims{sizes_of(b, frames)[0], length}});
}

// The inverse of stft: inverse transforms of the frames, added, and divided by the sum of the squared windows.
Values istft(Builder& b, const ops::istft_default<Call>& a) {
  ValueId x = as_complex(b, a.self());
  const size_t rank = b.spec(x).rank();
  if (rank != 2 && rank != 3) {
    a.fail("frames of rank " + std::to_string(rank) + ", expected 2 or 3");
    return {};
  }
  if (rank == 2) x = b.call("aten.unsqueeze.default", {ValueRef{x}, Dim(0)});
  const Dtype part = ops::real_part(b.spec(x).dtype);
  const Framing framing = read_framing(b, a, a.n_fft(), a.hop_length(), a.win_length(), a.window(), part);
  const bool is_half = a.onesided().has_value() ? bool(a.onesided()) : !a.return_complex();
  if (!a.error().empty()) return {};
  const Dim count = sizes_of(b, x).back();
  x = transpose(b, x, 1, 2);
  const Scale scale = a.normalized() ? kRoot : kCount;
  if (a.return_complex()) {
    x = complex_transform(b, x, {Dim(2)}, scale, false);
  } else {
    const Dim half = framing.size / 2 + 1;
    if (!is_half) x = b.call("aten.slice.Tensor", {ValueRef{x}, Dim(2), Dim(0), half});
    x = b.call("aten._fft_c2r.default", {ValueRef{x}, Dims{Dim(2)}, Dim(scale), Dim(framing.size)});
  }
  ValueId window = framing.window;
  if (window == ir::kNoValue)
    window = b.call("aten.full.default", {Dims{Dim(framing.size)}, Dim(1)}, {{"dtype", part}});
  ir::SymbolTable& symbols = b.symbols();
  const Dim length = symbols.add(symbols.mul(symbols.sub(count, 1), framing.hop), framing.size);
  const ValueId weighted = b.call("aten.mul.Tensor", {ValueRef{x}, ValueRef{window}});
  ValueId sum = overlap_add(b, transpose(b, weighted, 1, 2), framing, length);
  const ValueId squared = b.call("aten.mul.Tensor", {ValueRef{window}, ValueRef{window}});
  const ValueId column =
      b.call("aten.view.default", {ValueRef{squared}, Dims{Dim(1), Dim(framing.size), Dim(1)}});
  const ValueId columns =
      b.call("aten.expand.default", {ValueRef{column}, Dims{Dim(1), Dim(framing.size), count}});
  ValueId weight = overlap_add(b, columns, framing, length);
  const Dim start = a.center() ? framing.size / 2 : 0;
  Dim end = a.center() ? symbols.sub(length, framing.size / 2) : length;
  if (a.length().has_value()) end = symbols.add(start, a.length().dim());
  const Dim stop = symbols.min(end, length);
  const auto cut = [&](ValueId value) {
    return b.call("aten.slice.Tensor", {ValueRef{value}, Dim(1), start, stop});
  };
  ValueId out = b.call("aten.div.Tensor", {ValueRef{cut(sum)}, ValueRef{cut(weight)}});
  out = with_length(b, out, 1, symbols.sub(end, start));
  return {rank == 2 ? b.call("aten.squeeze.dim", {ValueRef{out}, Dim(0)}) : out};
}

}  // namespace

std::span<const Decomposition> fourier_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::fft_fft_default, transform<true>>(),
      row<ops::fft_fft2_default, transform<true>>(),
      row<ops::fft_fftfreq_default, frequencies<false>>(),
      row<ops::fft_fftn_default, transform<true>>(),
      row<ops::fft_hfft_default, half_to_real<true>>(),
      row<ops::fft_hfft2_default, half_to_real<true>>(),
      row<ops::fft_hfftn_default, half_to_real<true>>(),
      row<ops::fft_ifft_default, transform<false>>(),
      row<ops::fft_ifft2_default, transform<false>>(),
      row<ops::fft_ifftn_default, transform<false>>(),
      row<ops::fft_ihfft_default, hermitian_half>(),
      row<ops::fft_ihfft2_default, hermitian_half>(),
      row<ops::fft_ihfftn_default, hermitian_half>(),
      row<ops::fft_irfft_default, half_to_real<false>>(),
      row<ops::fft_irfft2_default, half_to_real<false>>(),
      row<ops::fft_irfftn_default, half_to_real<false>>(),
      row<ops::fft_rfft_default, real_to_half>(),
      row<ops::fft_rfft2_default, real_to_half>(),
      row<ops::fft_rfftfreq_default, frequencies<true>>(),
      row<ops::fft_rfftn_default, real_to_half>(),
      row<ops::istft_default, istft>(),
      row<ops::stft_center, stft>(),
      row<ops::stft_default, stft>(),
  };
  return kRows;
}

}  // namespace etb::passes
