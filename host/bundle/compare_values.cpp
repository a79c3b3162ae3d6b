// SPDX-License-Identifier: Apache-2.0
#include "host/bundle/compare_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "host/runtime/float16.hpp"
#include "host/runtime/float8.hpp"

namespace etb::host {

namespace {

// Has 64 bits for integers where the machine has such a type. Integers are equal only if their bytes are.
using Real = long double;

constexpr Real kLeastScale = 1e-8L;  // of a relative error, as in ExecuTorch

template <class T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// Reads an element of a dtype that is not complex.
Real read_element(Dtype dtype, const std::byte* at) {
  switch (dtype) {
    case Dtype::FLOAT32:
      return read<float>(at);
    case Dtype::FLOAT64:
      return read<double>(at);
    case Dtype::FLOAT16:
      return to_float(read<Half>(at));
    case Dtype::BFLOAT16:
      return to_float(read<BFloat16>(at));
    case Dtype::FLOAT8E5M2:
      return Float8E5M2::decode(read<uint8_t>(at));
    case Dtype::FLOAT8E4M3FN:
      return Float8E4M3Fn::decode(read<uint8_t>(at));
    case Dtype::FLOAT8E5M2FNUZ:
      return Float8E5M2Fnuz::decode(read<uint8_t>(at));
    case Dtype::FLOAT8E4M3FNUZ:
      return Float8E4M3Fnuz::decode(read<uint8_t>(at));
    case Dtype::INT8:
    case Dtype::QINT8:
      return read<int8_t>(at);
    case Dtype::INT16:
      return read<int16_t>(at);
    case Dtype::UINT16:
    case Dtype::BITS16:
      return read<uint16_t>(at);
    case Dtype::INT32:
    case Dtype::QINT32:
      return read<int32_t>(at);
    case Dtype::UINT32:
      return read<uint32_t>(at);
    case Dtype::INT64:
      return static_cast<Real>(read<int64_t>(at));
    case Dtype::UINT64:
      return static_cast<Real>(read<uint64_t>(at));
    default:
      return read<uint8_t>(at);
  }
}

bool has_tolerance(Dtype dtype) { return is_floating(dtype) || is_float8(dtype); }

std::string shape_text(Dtype dtype, std::span<const int64_t> sizes) {
  std::string text = to_text(dtype);
  text += " [";
  for (size_t i = 0; i < sizes.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  return text + "]";
}

std::string number_text(Real number) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.9Lg", number);
  return text;
}

// One element of both sides.
struct ElementPair {
  Real expected, found;
  int64_t index;       // in row-major order
  bool has_tolerance;  // else only equal bytes are close
  bool is_same;        // the bytes are equal
};

class Comparison {
 public:
  explicit Comparison(const Tolerances& tolerances) : rtol_(tolerances.rtol), atol_(tolerances.atol) {}

  void add(const ElementPair& pair) {
    ++out_.stats.count;
    if (!std::isfinite(pair.expected) || !std::isfinite(pair.found)) {
      const bool is_same =
          (std::isnan(pair.expected) && std::isnan(pair.found)) || pair.expected == pair.found;
      if (is_same) return;
      ++out_.stats.special_count;
      differ(pair, 0);
      return;
    }
    const Real error = std::abs(pair.expected - pair.found);
    const Real allowed = pair.has_tolerance ? atol_ + std::abs(rtol_ * pair.found) : 0;
    if (pair.has_tolerance ? !(error <= allowed) : !pair.is_same) differ(pair, allowed);
    const Real relative = error / std::max({std::abs(pair.expected), std::abs(pair.found), kLeastScale});
    sum_abs_ += error;
    sum_rel_ += relative;
    max_abs_ = std::max(max_abs_, error);
    max_rel_ = std::max(max_rel_, relative);
    largest_ = std::max(largest_, std::abs(pair.expected));
  }

  ValueComparison finish() {
    const auto count = static_cast<Real>(std::max<uint64_t>(out_.stats.measured_count(), 1));
    out_.stats.mean_abs = static_cast<double>(sum_abs_ / count);
    out_.stats.mean_rel = static_cast<double>(sum_rel_ / count);
    out_.stats.max_abs = static_cast<double>(max_abs_);
    out_.stats.max_rel = static_cast<double>(max_rel_);
    out_.largest_expected = static_cast<double>(largest_);
    return std::move(out_);
  }

 private:
  void differ(const ElementPair& pair, Real allowed) {
    ++out_.different_count;
    if (!out_.is_close) return;  // the first one is described
    out_.is_close = false;
    out_.difference = "element " + std::to_string(pair.index) + " is " + number_text(pair.found) +
                      ", expected " + number_text(pair.expected) +
                      (allowed > 0 ? ", at most " + number_text(allowed) + " off" : "");
  }

  Real rtol_, atol_;
  Real sum_abs_ = 0, sum_rel_ = 0, max_abs_ = 0, max_rel_ = 0, largest_ = 0;
  ValueComparison out_;
};

ValueComparison differs(std::string difference) {
  ValueComparison out;
  out.is_close = false;
  out.difference = std::move(difference);
  return out;
}

// Visits elements in row-major order; their storage may have any two orders.
void compare_elements(const Tensor& expected, const Tensor& found, Comparison& comparison) {
  const Dtype part = real_part(expected.dtype());
  const size_t step = element_nbytes(expected.dtype()), part_step = element_nbytes(part);
  const auto* const from = expected.data_as<const std::byte>();
  const auto* const to = found.data_as<const std::byte>();
  const auto rank = static_cast<size_t>(expected.rank());
  int64_t index[kMaxRank] = {};
  for (int64_t i = 0; i < expected.numel(); ++i) {
    int64_t a = 0, b = 0;
    for (size_t dim = 0; dim < rank; ++dim) {
      a += index[dim] * expected.strides()[dim];
      b += index[dim] * found.strides()[dim];
    }
    for (size_t at = 0; at < step; at += part_step) {
      const std::byte* const left = from + static_cast<size_t>(a) * step + at;
      const std::byte* const right = to + static_cast<size_t>(b) * step + at;
      comparison.add({read_element(part, left), read_element(part, right), i, has_tolerance(part),
                      std::memcmp(left, right, part_step) == 0});
    }
    for (size_t dim = rank; dim-- > 0 && ++index[dim] == expected.sizes()[dim];) index[dim] = 0;
  }
}

ValueComparison compare_tensors(const format::BundledTensor& record, const EValue& found,
                                const Tolerances& tolerances) {
  const auto dtype = static_cast<Dtype>(record.dtype);
  const std::vector<int64_t> sizes(record.sizes.begin(), record.sizes.end());
  if (!found.is_tensor())
    return differs(std::string("a ") + to_text(found.tag()) + ", expected " + shape_text(dtype, sizes));
  const Tensor& tensor = found.tensor();
  if (tensor.dtype() != dtype ||
      !std::equal(sizes.begin(), sizes.end(), tensor.sizes().begin(), tensor.sizes().end()))
    return differs(shape_text(tensor.dtype(), tensor.sizes()) + ", expected " + shape_text(dtype, sizes));
  if (tensor.numel() != 0 && tensor.data() == nullptr)
    return differs("no memory, expected " + shape_text(dtype, sizes));
  TensorStorage storage;
  // Read only; the type has no const form.
  auto* const data = const_cast<std::byte*>(record.data.data());
  const Tensor expected = storage.make(dtype, sizes, data, record.data.size(), record.dim_order);
  Comparison comparison(tolerances);
  compare_elements(expected, tensor, comparison);
  return comparison.finish();
}

}  // namespace

void ErrorStats::add(const ErrorStats& other) noexcept {
  const auto own = static_cast<double>(measured_count()), added = static_cast<double>(other.measured_count());
  const double total = std::max(own + added, 1.0);
  mean_abs = (mean_abs * own + other.mean_abs * added) / total;
  mean_rel = (mean_rel * own + other.mean_rel * added) / total;
  max_abs = std::max(max_abs, other.max_abs);
  max_rel = std::max(max_rel, other.max_rel);
  count += other.count;
  special_count += other.special_count;
}

ValueComparison compare_values(const format::BundledValueView& expected, const EValue& found,
                               const Tolerances& tolerances) {
  using format::BundledKind;
  const BundledKind kind = expected.kind();
  if (kind == BundledKind::kTensor) return compare_tensors(expected.as_tensor(), found, tolerances);
  const bool is_same_kind = (kind == BundledKind::kInt && found.is_int()) ||
                            (kind == BundledKind::kBool && found.is_bool()) ||
                            (kind == BundledKind::kDouble && found.is_double());
  if (!is_same_kind)
    return differs(std::string("a ") + to_text(found.tag()) + ", expected a " + format::to_text(kind));
  Comparison comparison(tolerances);
  if (kind == BundledKind::kDouble) {
    comparison.add({expected.as_double(), found.to_double(), 0, true, false});
  } else {
    const int64_t wanted = kind == BundledKind::kInt ? expected.as_int() : int64_t{expected.as_bool()};
    comparison.add(
        {static_cast<Real>(wanted), static_cast<Real>(found.to_int()), 0, false, wanted == found.to_int()});
  }
  return comparison.finish();
}

}  // namespace etb::host
