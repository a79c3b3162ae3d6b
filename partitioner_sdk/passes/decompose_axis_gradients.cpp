// SPDX-License-Identifier: Apache-2.0
// Gradients of ops that are linear along each axis: resampling, means over windows of volumes, and padding. The gradient is one
// product per axis with the transposed matrix of weights.
#include <algorithm>
#include <functional>

#include "ops/_adaptive_avg_pool3d_backward.hpp"
#include "ops/_upsample_bicubic2d_aa_backward.hpp"
#include "ops/_upsample_bilinear2d_aa_backward.hpp"
#include "ops/_upsample_nearest_exact1d_backward.hpp"
#include "ops/_upsample_nearest_exact2d_backward.hpp"
#include "ops/_upsample_nearest_exact3d_backward.hpp"
#include "ops/avg_pool3d_backward.hpp"
#include "ops/reflection_pad1d_backward.hpp"
#include "ops/reflection_pad2d_backward.hpp"
#include "ops/reflection_pad3d_backward.hpp"
#include "ops/replication_pad1d_backward.hpp"
#include "ops/replication_pad2d_backward.hpp"
#include "ops/replication_pad3d_backward.hpp"
#include "ops/upsample_bicubic2d_backward.hpp"
#include "ops/upsample_bilinear2d_backward.hpp"
#include "ops/upsample_linear1d_backward.hpp"
#include "ops/upsample_nearest1d_backward.hpp"
#include "ops/upsample_nearest2d_backward.hpp"
#include "ops/upsample_nearest3d_backward.hpp"
#include "ops/upsample_trilinear3d_backward.hpp"
#include "partitioner_sdk/passes/axis_weights.hpp"

namespace etb::passes {

namespace {

using Weights = std::vector<double>;

// The gradient of a map along `dim` whose matrix is [in, out].
ValueId along_axis(Builder& b, ValueId grad, const Axis& axis, const Weights& weights, int64_t dim) {
  Weights turned(weights.size());
  for (int64_t i = 0; i < axis.in; ++i)
    for (int64_t o = 0; o < axis.out; ++o)
      turned[static_cast<size_t>(o * axis.in + i)] = weights[static_cast<size_t>(i * axis.out + o)];
  Axis back = axis;
  std::swap(back.in, back.out);
  const int64_t last = static_cast<int64_t>(b.spec(grad).rank()) - 1;
  if (dim == last) return resampled(b, grad, back, turned);
  return transpose(b, resampled(b, transpose(b, grad, dim, last), back, turned), dim, last);
}

// Applies the gradient of each of the last `count` axes. `in` are the sizes before the map, `scales` its factors or
// none, and `make` makes the weights of axis i of the spatial ones.
template <class Make>
Values along_axes(Builder& b, const Call& a, ValueId grad, const Dims in, size_t count,
                  const std::vector<double>& scales, bool aligns_corners, Make make) {
  const TensorSpec out = b.spec(grad);
  if (in.size() != out.rank() || out.rank() < count || !ops::is_floating(out.dtype)) {
    a.fail("a gradient of rank " + std::to_string(out.rank()) + " and dtype " +
           std::string(ops::to_text(out.dtype)) + ", expected floats of rank " + std::to_string(in.size()));
    return {};
  }
  const size_t lead = out.rank() - count;
  for (size_t i = 0; i < count; ++i) {
    const Dim from = in[lead + i], to = out.sizes[lead + i];
    if (!from.is_static() || !to.is_static()) {
      a.fail(
          "the size of the input or of the output is known only at run time\n"
          "hint: export the model with static image sizes");
      return {};
    }
    Axis axis{from.value(), to.value(), 0, aligns_corners, out.dtype == Dtype::FLOAT64};
    set_step(a, axis, scales.empty() ? 0 : scales[i]);
    if (!a.error().empty()) return {};
    const Weights weights = make(axis, i);
    if (!a.error().empty()) return {};
    grad = along_axis(b, grad, axis, weights, static_cast<int64_t>(lead + i));
  }
  return {grad};
}

double scale_of(const infer::NumberArgument& scale) { return scale.has_value() ? scale.number() : 0; }
template <class A>
std::vector<double> scales1(const A& a) {
  return {scale_of(a.scales())};
}
template <class A>
std::vector<double> scales2(const A& a) {
  return {scale_of(a.scales_h()), scale_of(a.scales_w())};
}
template <class A>
std::vector<double> scales3(const A& a) {
  return {scale_of(a.scales_d()), scale_of(a.scales_h()), scale_of(a.scales_w())};
}

template <class A>
Values resampling(Builder& b, const A& a, const std::vector<double>& scales, bool aligns_corners,
                  Weights (*make)(const Axis&)) {
  return along_axes(b, a, a.grad_output(), a.input_size().dims(), scales.size(), scales, aligns_corners,
                    [&](const Axis& axis, size_t) { return make(axis); });
}
template <bool kIsExact>
Weights nearest_weights(const Axis& axis) {
  Weights weights(static_cast<size_t>(axis.in * axis.out));
  const std::vector<int64_t> nearest = nearest_elements(axis, kIsExact);
  for (size_t o = 0; o < nearest.size(); ++o)
    weights[static_cast<size_t>(std::max<int64_t>(nearest[o], 0) * axis.out) + o] = 1;
  return weights;
}
template <Filter kFilter>
Weights smoothing(const Axis& axis) {
  return smoothing_weights(axis, kFilter);
}

template <bool kIsExact, class A>
Values nearest1d(Builder& b, const A& a) {
  return resampling(b, a, scales1(a), false, nearest_weights<kIsExact>);
}
template <bool kIsExact, class A>
Values nearest2d(Builder& b, const A& a) {
  return resampling(b, a, scales2(a), false, nearest_weights<kIsExact>);
}
template <bool kIsExact, class A>
Values nearest3d(Builder& b, const A& a) {
  return resampling(b, a, scales3(a), false, nearest_weights<kIsExact>);
}
template <Weights (*kMake)(const Axis&), class A>
Values filtered2d(Builder& b, const A& a) {
  return resampling(b, a, scales2(a), a.align_corners(), kMake);
}
Values linear1d(Builder& b, const ops::upsample_linear1d_backward_default<Call>& a) {
  return resampling(b, a, scales1(a), a.align_corners(), linear_weights);
}
Values trilinear3d(Builder& b, const ops::upsample_trilinear3d_backward_default<Call>& a) {
  return resampling(b, a, scales3(a), a.align_corners(), linear_weights);
}

// ---- Means over windows.

// The window of output element o: [begin, end) in the input, and the number of elements that divides its sum.
struct Window {
  int64_t begin, end, divisor;
};
template <class WindowOf>
Weights window_weights(const Axis& axis, WindowOf window_of) {
  Weights weights(static_cast<size_t>(axis.in * axis.out));
  for (int64_t o = 0; o < axis.out; ++o) {
    const Window window = window_of(o);
    for (int64_t i = std::max<int64_t>(window.begin, 0); i < std::min(window.end, axis.in); ++i)
      weights[static_cast<size_t>(i * axis.out + o)] = 1.0 / static_cast<double>(window.divisor);
  }
  return weights;
}

Values adaptive_pool3d(Builder& b, const ops::_adaptive_avg_pool3d_backward_default<Call>& a) {
  return along_axes(b, a, a.grad_output(), a.self().spec().sizes, 3, {}, false, [](const Axis& axis, size_t) {
    return window_weights(axis, [&](int64_t o) {
      const int64_t begin = o * axis.in / axis.out, end = ((o + 1) * axis.in + axis.out - 1) / axis.out;
      return Window{begin, end, end - begin};
    });
  });
}

// One number for each of three axes; one for all is repeated.
std::vector<int64_t> for_three_axes(const Call& a, const infer::IntListArgument& list, int64_t least) {
  std::vector<int64_t> out;
  for (const Dim dim : list.dims()) out.push_back(dim.is_static() ? dim.value() : -1);
  if (out.size() == 1) out.assign(3, out[0]);
  constexpr int64_t kMost = 1 << 20;
  const bool is_valid = out.size() == 3 && std::all_of(out.begin(), out.end(),
                                                       [&](int64_t n) { return n >= least && n <= kMost; });
  if (is_valid) return out;
  a.fail("kernel, stride or padding is not three numbers from " + std::to_string(least) + " to " +
         std::to_string(kMost));
  return std::vector<int64_t>(3, 1);
}

Values avg_pool3d(Builder& b, const ops::avg_pool3d_backward_default<Call>& a) {
  const std::vector<int64_t> kernel = for_three_axes(a, a.kernel_size(), 1),
                             padding = for_three_axes(a, a.padding(), 0),
                             stride = a.stride().dims().empty() ? kernel : for_three_axes(a, a.stride(), 1);
  if (!a.error().empty()) return {};
  const bool has_divisor = a.divisor_override().has_value(), counts_padding = a.count_include_pad();
  const auto make = [&](const Axis& axis, size_t i) {
    return window_weights(axis, [&](int64_t o) {
      const int64_t begin = o * stride[i] - padding[i],
                    end = std::min(begin + kernel[i], axis.in + padding[i]);
      const int64_t inside = std::min(end, axis.in) - std::max<int64_t>(begin, 0);
      return Window{begin, end,
                    has_divisor ? 1 : std::max<int64_t>(counts_padding ? end - begin : inside, 1)};
    });
  };
  Values out = along_axes(b, a, a.grad_output(), a.self().spec().sizes, 3, {}, false, make);
  if (out.empty() || !has_divisor) return out;
  return {b.call("aten.div.Scalar", {ValueRef{out[0]}, a.divisor_override().dim()})};
}

// ---- Padding.

enum class Border { kRepeats, kReflects };

template <Border kBorder, class A>
Values padding(Builder& b, const A& a) {
  const Dims pads = a.padding().dims();
  const size_t count = pads.size() / 2;
  const auto make = [&](const Axis& axis, size_t i) {
    const Dim pad = pads[2 * (count - 1 - i)];
    constexpr int64_t kMost = 1 << 20;
    Weights weights(static_cast<size_t>(axis.in * axis.out));
    if (!pad.is_static() || pad.value() < -kMost || pad.value() > kMost) {
      a.fail("padding is known only at run time, or beyond " + std::to_string(kMost));
      return weights;
    }
    for (int64_t o = 0; o < axis.out; ++o) {
      int64_t from = o - pad.value();
      if (kBorder == Border::kReflects) {
        from = std::abs(from);
        if (from >= axis.in) from = 2 * (axis.in - 1) - from;
      }
      weights[static_cast<size_t>(std::clamp<int64_t>(from, 0, axis.in - 1) * axis.out + o)] = 1;
    }
    return weights;
  };
  return along_axes(b, a, a.grad_output(), a.self().spec().sizes, count, {}, false, make);
}

}  // namespace

std::span<const Decomposition> axis_gradient_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_adaptive_avg_pool3d_backward_default, adaptive_pool3d>(),
      row<ops::_upsample_bicubic2d_aa_backward_default, filtered2d<smoothing<Filter::kCubic>>>(),
      row<ops::_upsample_bilinear2d_aa_backward_default, filtered2d<smoothing<Filter::kLinear>>>(),
      row<ops::_upsample_nearest_exact1d_backward_default, nearest1d<true>>(),
      row<ops::_upsample_nearest_exact2d_backward_default, nearest2d<true>>(),
      row<ops::_upsample_nearest_exact3d_backward_default, nearest3d<true>>(),
      row<ops::avg_pool3d_backward_default, avg_pool3d>(),
      row<ops::reflection_pad1d_backward_default, padding<Border::kReflects>>(),
      row<ops::reflection_pad2d_backward_default, padding<Border::kReflects>>(),
      row<ops::reflection_pad3d_backward_default, padding<Border::kReflects>>(),
      row<ops::replication_pad1d_backward_default, padding<Border::kRepeats>>(),
      row<ops::replication_pad2d_backward_default, padding<Border::kRepeats>>(),
      row<ops::replication_pad3d_backward_default, padding<Border::kRepeats>>(),
      row<ops::upsample_bicubic2d_backward_default, filtered2d<cubic_weights>>(),
      row<ops::upsample_bilinear2d_backward_default, filtered2d<linear_weights>>(),
      row<ops::upsample_linear1d_backward_default, linear1d>(),
      row<ops::upsample_nearest1d_backward_default, nearest1d<false>>(),
      row<ops::upsample_nearest2d_backward_default, nearest2d<false>>(),
      row<ops::upsample_nearest3d_backward_default, nearest3d<false>>(),
      row<ops::upsample_trilinear3d_backward_default, trilinear3d>(),
  };
  return kRows;
}

}  // namespace etb::passes
