// Resampling whose weights are known now: along each axis a product with a matrix of them, which any matrix kernel or plugin runs.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

enum class Filter { kLinear, kCubic };

// How one axis is resampled.
struct Axis {
  int64_t in = 0, out = 0;
  double step = 0;  // input elements an output element
  bool aligns_corners = false;
};

double linear_filter(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

// Keys' cubic; PyTorch takes -0.75 for `a`, and -0.5 where it smooths.
double cubic_filter(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

// Column o holds what each input element gives to output element o: [in, out].
std::vector<float> cubic_weights(const Axis& axis) {
  constexpr double kA = -0.75;
  std::vector<float> weights(static_cast<size_t>(axis.in * axis.out));
  for (int64_t o = 0; o < axis.out; ++o) {
    const double at = axis.aligns_corners ? static_cast<double>(o) * axis.step
                                          : (static_cast<double>(o) + 0.5) * axis.step - 0.5;
    const double whole = std::floor(at);
    for (int64_t tap = -1; tap <= 2; ++tap) {
      const int64_t i = std::clamp<int64_t>(static_cast<int64_t>(whole) + tap, 0, axis.in - 1);
      weights[static_cast<size_t>(i * axis.out + o)] +=
          static_cast<float>(cubic_filter(at - whole - static_cast<double>(tap), kA));
    }
  }
  return weights;
}

// The same with the filter made as wide as the step, so that shrinking averages.
std::vector<float> smoothing_weights(const Axis& axis, Filter filter) {
  const auto value = [&](double x) {
    return filter == Filter::kLinear ? linear_filter(x) : cubic_filter(x, -0.5);
  };
  const double width = std::max(axis.step, 1.0), radius = (filter == Filter::kLinear ? 1.0 : 2.0) * width;
  std::vector<float> weights(static_cast<size_t>(axis.in * axis.out));
  for (int64_t o = 0; o < axis.out; ++o) {
    const double center = axis.step * (static_cast<double>(o) + 0.5);
    const auto first = std::max<int64_t>(static_cast<int64_t>(center - radius + 0.5), 0);
    const auto last = std::min<int64_t>(static_cast<int64_t>(center + radius + 0.5), axis.in);
    double sum = 0;
    for (int64_t i = first; i < last; ++i) sum += value((static_cast<double>(i) - center + 0.5) / width);
    for (int64_t i = first; i < last; ++i) {
      const double weight = value((static_cast<double>(i) - center + 0.5) / width);
      weights[static_cast<size_t>(i * axis.out + o)] = static_cast<float>(weight / sum);
    }
  }
  return weights;
}

// input, output_size, align_corners, scale_factors: the axis `index` of the last two.
Axis axis_of(const Arguments& a, size_t index) {
  Axis axis;
  const TensorSpec& in = a.tensor(0);
  const Dim size = in.sizes[in.rank() - 2 + index];
  const Dims sizes = a.dims(1);
  const auto* factors = a.has(3) ? ir::get_if<ir::FloatList>(a.argument(3)) : nullptr;
  const bool has_factor = factors != nullptr && factors->size() == 2;
  if (!size.is_static() || !(has_factor || (sizes.size() == 2 && sizes[index].is_static()))) {
    a.fail("a size that is known only at run time");
    return axis;
  }
  axis.in = size.value();
  axis.out = sizes.size() == 2 ? sizes[index].value()
                               : static_cast<int64_t>(static_cast<double>(axis.in) * (*factors)[index]);
  axis.aligns_corners = a.flag(2);
  constexpr int64_t kMaxSize = 1 << 13;  // a matrix of 256 MiB
  if (axis.in <= 0 || axis.out <= 0 || axis.in > kMaxSize || axis.out > kMaxSize) {
    a.fail("an image of " + std::to_string(axis.in) + " elements made one of " + std::to_string(axis.out));
  } else if (axis.aligns_corners) {
    axis.step = axis.out > 1 ? static_cast<double>(axis.in - 1) / static_cast<double>(axis.out - 1) : 0;
  } else {
    axis.step =
        has_factor ? 1.0 / (*factors)[index] : static_cast<double>(axis.in) / static_cast<double>(axis.out);
  }
  return axis;
}

// Along the last axis.
ValueId resampled(Builder& b, ValueId x, const Axis& axis, const std::vector<float>& weights) {
  std::vector<std::byte> bytes(weights.size() * sizeof(float));
  std::memcpy(bytes.data(), weights.data(), bytes.size());
  ValueId matrix = b.add_constant(Dtype::FLOAT32, {axis.in, axis.out}, std::move(bytes));
  return matmul(b, x, to_dtype(b, matrix, b.spec(x).dtype));
}

template <class Weights>
Values resample(Builder& b, const Arguments& a, Weights weights) {
  if (a.tensor(0).rank() != 4 || !ops::is_floating(a.tensor(0).dtype)) {
    a.fail("floating-point images expected");
    return {};
  }
  const Axis rows = axis_of(a, 0), columns = axis_of(a, 1);
  if (!a.error().empty()) return {};
  const ValueId wide = resampled(b, a.value(0), columns, weights(columns));
  return {transpose(b, resampled(b, transpose(b, wide, 2, 3), rows, weights(rows)), 2, 3)};
}

Values bicubic(Builder& b, const Arguments& a) { return resample(b, a, cubic_weights); }
Values smooth_bicubic(Builder& b, const Arguments& a) {
  return resample(b, a, [](const Axis& axis) { return smoothing_weights(axis, Filter::kCubic); });
}
Values smooth_bilinear(Builder& b, const Arguments& a) {
  return resample(b, a, [](const Axis& axis) { return smoothing_weights(axis, Filter::kLinear); });
}

}  // namespace

std::span<const Decomposition> resampling_decompositions() {
  static constexpr Decomposition kRows[] = {
      {"aten._upsample_bicubic2d_aa.vec", smooth_bicubic},
      {"aten._upsample_bilinear2d_aa.vec", smooth_bilinear},
      {"aten.upsample_bicubic2d.vec", bicubic},
  };
  return kRows;
}

}  // namespace etb::passes
