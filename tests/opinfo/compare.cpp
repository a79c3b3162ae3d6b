// SPDX-License-Identifier: Apache-2.0
// The error model: the allowed difference between a kernel's result and PyTorch's.
//
// Integers and bools: equal, except codes that may be off by one: resampled uint8 images, because PyTorch weights their
// pixels with fixed-point numbers of few bits, and cortex_m::softmax, which ExecuTorch's implementation in Python computes in
// float and CMSIS-NN in fixed point. Reals, for an expected value e:
// |actual - e| <= U * eps(dtype) * |e| + A * eps(computing) * S + tiny
//   U   ulps of the result. 4 for float32 and float64, because both sides use approximations of up to 2 ulps
//       (Sleef documents 1.0, math_test.cpp measures ours). 1 for the 16-bit floats, which both sides compute
//       in float32 and round once: they can only differ by one neighbour.
//   S   the case's scale: for ops that add many terms, the sum of the terms' magnitudes; the order of adding
//       is not specified.
//   A   32: both sides add with relative error of at most sqrt(terms) * eps for the lengths in the samples,
//       times a safety factor of two.
//   tiny  the smallest normal number of the computing type: PyTorch's vector functions flush results below it
//       to zero. For float16, whose subnormals are normal in float32, the smallest positive one.
// Complex numbers: each part is compared, with the magnitude of both as e, because the product of two numbers mixes their
// parts. U is 16, since a function of a complex number is several real ones.
// Eigenvalues of a general matrix have no order, and rounding may exchange two: each expected one is compared with the nearest that
// no other has.
// NaN equals any NaN; infinities and zeros of either sign equal themselves.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "host/runtime/float16.hpp"
#include "tests/opinfo/case_file.hpp"

namespace etb::tests {
namespace {
using host::Dtype;
using host::Tensor;

// Index counts the parts of complex numbers.
double read_real(const Tensor& tensor, int64_t index) {
  switch (host::real_part(tensor.dtype())) {
    case Dtype::FLOAT32:
      return tensor.data_as<float>()[index];
    case Dtype::FLOAT64:
      return tensor.data_as<double>()[index];
    case Dtype::FLOAT16:
      return host::to_float(tensor.data_as<host::Half>()[index]);
    default:
      return host::to_float(tensor.data_as<host::BFloat16>()[index]);
  }
}

struct Precision {
  double eps, computing_eps, tiny, ulps;
};

Precision precision_of(Dtype dtype) {
  constexpr double kFloatEps = 0x1.0p-23;
  if (host::is_complex(dtype)) {
    Precision parts = precision_of(host::real_part(dtype));
    parts.ulps = 16.0;
    return parts;
  }
  switch (dtype) {
    case Dtype::FLOAT32:
      return {kFloatEps, kFloatEps, 0x1.0p-126, 4.0};
    case Dtype::FLOAT64:
      return {0x1.0p-52, 0x1.0p-52, 0x1.0p-1022, 4.0};
    case Dtype::FLOAT16:
      return {0x1.0p-10, kFloatEps, 0x1.0p-24, 1.0};
    default:
      return {0x1.0p-7, kFloatEps, 0x1.0p-126, 1.0};
  }
}

bool agrees(double actual, double expected, double magnitude, const Precision& precision, double scale) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) && std::isnan(actual);
  if (actual == expected) return true;
  if (std::isinf(actual) || std::isinf(expected)) return false;
  constexpr double kAdded = 32.0;
  const double allowed =
      precision.ulps * precision.eps * magnitude + kAdded * precision.computing_eps * scale + precision.tiny;
  return std::fabs(actual - expected) <= allowed;
}

bool real_agrees(const Tensor& actual, const Tensor& expected, int64_t index, const Precision& precision,
                 double scale) {
  const double number = read_real(expected, index);
  return agrees(read_real(actual, index), number, std::fabs(number), precision, scale);
}

bool complex_agrees(const Tensor& actual, int64_t actual_index, const Tensor& expected, int64_t index,
                    const Precision& precision, double scale) {
  const double re = read_real(expected, 2 * index), im = read_real(expected, 2 * index + 1);
  const double whole = std::hypot(re, im);
  const auto magnitude = [&](double part) { return std::isfinite(whole) ? whole : std::fabs(part); };
  return agrees(read_real(actual, 2 * actual_index), re, magnitude(re), precision, scale) &&
         agrees(read_real(actual, 2 * actual_index + 1), im, magnitude(im), precision, scale);
}

bool has_no_order(const std::string& op, const Tensor& expected) {
  constexpr std::string_view kOps[] = {"aten::linalg_eig.out", "aten::linalg_eigvals.out", "linalg.eig",
                                       "linalg.eigvals"};
  return host::is_complex(expected.dtype()) && expected.rank() > 0 &&
         std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

// For each element of the last dim's rows, the index of the actual one that it is compared with.
std::vector<int64_t> nearest_ones(const Tensor& actual, const Tensor& expected) {
  const int64_t length = expected.size(expected.rank() - 1);
  std::vector<int64_t> out(static_cast<size_t>(expected.numel()));
  std::vector<bool> is_used(out.size());
  const auto number = [](const Tensor& tensor, int64_t i) {
    return std::complex<double>(read_real(tensor, 2 * i), read_real(tensor, 2 * i + 1));
  };
  for (int64_t i = 0; i < expected.numel(); ++i) {
    int64_t best = -1;
    for (int64_t j = i / length * length; j < (i / length + 1) * length; ++j) {
      if (is_used[static_cast<size_t>(j)]) continue;
      const auto distance = [&](int64_t k) { return std::abs(number(actual, k) - number(expected, i)); };
      if (best < 0 || distance(j) < distance(best)) best = j;
    }
    is_used[static_cast<size_t>(best)] = true;
    out[static_cast<size_t>(i)] = best;
  }
  return out;
}

std::string to_text(std::span<const int64_t> sizes) {
  std::string text = "[";
  for (const int64_t size : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

std::string to_text(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

std::string element_text(const Tensor& tensor, int64_t index) {
  if (host::is_floating(tensor.dtype())) return to_text(read_real(tensor, index));
  if (host::is_complex(tensor.dtype()))
    return "(" + to_text(read_real(tensor, 2 * index)) + ", " + to_text(read_real(tensor, 2 * index + 1)) +
           ")";
  int64_t value = 0;
  const size_t nbytes = host::element_nbytes(tensor.dtype());
  std::memcpy(&value, tensor.data_as<uint8_t>() + static_cast<size_t>(index) * nbytes, nbytes);
  return std::to_string(value);
}

}  // namespace

std::string compare(const std::string& op, const Case& one, const Tensor& actual, const Tensor& expected) {
  if (!std::equal(actual.sizes().begin(), actual.sizes().end(), expected.sizes().begin(),
                  expected.sizes().end())) {
    return "sizes " + to_text(actual.sizes()) + ", expected " + to_text(expected.sizes());
  }
  const Precision precision = precision_of(expected.dtype());
  const size_t nbytes = host::element_nbytes(expected.dtype());
  const bool is_resampled =
      (op.find("upsample_bi") != std::string::npos || op.find("interpolate.bi") != std::string::npos) &&
      expected.dtype() == Dtype::UINT8;
  const bool is_softmax_code = op == "cortex_m::softmax.out";
  const std::vector<int64_t> order =
      has_no_order(op, expected) ? nearest_ones(actual, expected) : std::vector<int64_t>{};
  int64_t wrong_count = 0, first = -1;
  for (int64_t i = 0; i < expected.numel(); ++i) {
    const auto* bytes = actual.data_as<uint8_t>() + static_cast<size_t>(i) * nbytes;
    const auto* expected_bytes = expected.data_as<uint8_t>() + static_cast<size_t>(i) * nbytes;
    const bool same =
        host::is_floating(expected.dtype()) ? real_agrees(actual, expected, i, precision, one.scale)
        : host::is_complex(expected.dtype())
            ? complex_agrees(actual, order.empty() ? i : order[static_cast<size_t>(i)], expected, i,
                             precision, one.scale)
        : is_resampled    ? std::abs(*bytes - *expected_bytes) <= 1
        : is_softmax_code ? std::abs(static_cast<int8_t>(*bytes) - static_cast<int8_t>(*expected_bytes)) <= 1
                          : std::memcmp(bytes, expected_bytes, nbytes) == 0;
    if (same) continue;
    if (wrong_count++ == 0) first = i;
  }
  if (wrong_count == 0) return {};
  return std::to_string(wrong_count) + " of " + std::to_string(expected.numel()) + " " +
         host::to_text(expected.dtype()) + " elements of " + to_text(expected.sizes()) + ", the first at " +
         std::to_string(first) + ": " + element_text(actual, first) + ", expected " +
         element_text(expected, first) + " (scale " + to_text(one.scale) + ")";
}

}  // namespace etb::tests
