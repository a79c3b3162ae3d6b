// SPDX-License-Identifier: Apache-2.0
#include "tools/run/describe_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "api/format/printable_text.hpp"
#include "tools/run/array.hpp"
#include "tools/run/element.hpp"

namespace etb::tools {

namespace {

constexpr size_t kShownCount = 6;

double element(const Array& array, size_t index) {
  return element_as_double(array.dtype, array.bytes.data() + index * host::element_nbytes(array.dtype));
}

std::string describe_tensor(const host::Tensor& tensor, size_t shown_count) {
  std::string text = format_shape(tensor.dtype(), tensor.sizes());
  if (tensor.data() == nullptr && tensor.numel() != 0) return text + ": no memory";
  Array array = to_row_major(tensor);
  const bool is_complex = host::is_complex(array.dtype);
  array.dtype = host::real_part(array.dtype);
  const size_t count = array.bytes.size() / host::element_nbytes(array.dtype);
  if (is_complex) text += " (real, imaginary, ...)";
  if (count == 0) return text + ": empty";
  text += ": ";
  for (size_t i = 0; i < std::min(count, shown_count); ++i)
    text += fmt::format("{}{:.6g}", i == 0 ? "" : ", ", element(array, i));
  if (count <= shown_count) return text;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double sum = 0;
  size_t nan_count = 0;
  for (size_t i = 0; i < count; ++i) {
    const double value = element(array, i);
    if (std::isnan(value)) {
      ++nan_count;
      continue;
    }
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
  }
  const double mean = sum / static_cast<double>(count - nan_count);
  text += fmt::format(", ... (min {:.6g}, max {:.6g}, mean {:.6g}", low, high, mean);
  return text + (nan_count == 0 ? ")" : fmt::format(", {} NaN)", nan_count));
}

}  // namespace

std::string describe_value(const host::EValue& value, bool shows_all) {
  switch (value.tag()) {
    case host::Tag::kTensor:
      return describe_tensor(value.tensor(), shows_all ? std::numeric_limits<size_t>::max() : kShownCount);
    case host::Tag::kInt:
      return fmt::format("{}", value.to_int());
    case host::Tag::kDouble:
      return fmt::format("{}", value.to_double());
    case host::Tag::kBool:
      return value.to_bool() ? "true" : "false";
    case host::Tag::kString:
      return fmt::format("'{}'", format::made_printable(value.string()));
    default:
      return host::to_text(value.tag());
  }
}

}  // namespace etb::tools
