// SPDX-License-Identifier: Apache-2.0
#include "tools/run/output_values.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "api/format/input_file.hpp"
#include "tools/run/method_inputs.hpp"
#include "tools/run/npy.hpp"

namespace etb::tools {

namespace {

using format::ValueKind;
using host::Dtype;
using host::EValue;

std::vector<int64_t> sizes_of(const format::TensorRecord& record) {
  return {record.sizes.begin(), record.sizes.end()};
}

// Sizes of a dynamic output may be smaller.
bool fits(const std::vector<int64_t>& sizes, const format::TensorRecord& record) {
  if (record.dynamism == format::Dynamism::kStatic) return sizes == sizes_of(record);
  return sizes.size() == record.sizes.size();
}

// The number in an array of rank 0, as `run --output-dir` writes it.
std::optional<EValue> to_number(const Array& array) {
  if (!array.sizes.empty()) return std::nullopt;
  const auto read = [&array](auto value) {
    std::memcpy(&value, array.bytes.data(), sizeof(value));
    return EValue(value);
  };
  if (array.dtype == Dtype::INT64) return read(int64_t{});
  if (array.dtype == Dtype::FLOAT64) return read(double{});
  if (array.dtype == Dtype::BOOL) return EValue(array.bytes[0] != std::byte{0});
  return std::nullopt;
}

}  // namespace

Status OutputValues::expect_count(size_t count, const char* what) const {
  if (count == meta_.output_count()) return {};
  return make_error(Code::INVALID_ARGUMENT, fmt::format("{} {}, method '{}' has {} outputs", count, what,
                                                        meta_.name(), meta_.output_count()));
}

Status OutputValues::set_texts(const std::vector<std::string>& texts, const char* what) {
  ETB_TRY(expect_count(texts.size(), what));
  for (uint32_t i = 0; i < texts.size(); ++i) {
    ETB_ASSIGN(const EValue value, read_text(i, texts[i]));
    values_.push_back(value);
  }
  return {};
}

Status OutputValues::set_values(std::span<const EValue> values) {
  ETB_TRY(expect_count(values.size(), "outputs of the reference"));
  for (uint32_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_tensor()) {
      values_.push_back(values[i]);
      continue;
    }
    ETB_ASSIGN(const EValue value, add_array(i, to_row_major(values[i].tensor())));
    values_.push_back(value);
  }
  return {};
}

Result<EValue> OutputValues::read_text(uint32_t index, const std::string& text) {
  const format::ValueView spec = meta_.output(index);
  if (spec.kind() != ValueKind::kTensor) return read_number(index, text);
  const format::TensorRecord record = spec.as_tensor();
  if (text.ends_with(".npy")) {
    ETB_ASSIGN(Array array, read_npy(text, 2 * record.nbytes + (uint64_t{1} << 20)));
    return add_array(index, std::move(array));
  }
  Array array{static_cast<Dtype>(record.dtype),
              sizes_of(record),
              {record.dim_order.begin(), record.dim_order.end()},
              {}};
  ETB_ASSIGN(const format::InputFile file, format::InputFile::open(text));
  if (file.nbytes() != record.nbytes)
    return make_error(Code::INVALID_DATA,
                      fmt::format("output {}: {} has {} bytes, {} needs {}{}", index, text, file.nbytes(),
                                  format_shape(array.dtype, array.sizes), record.nbytes,
                                  record.dynamism == format::Dynamism::kStatic
                                      ? ""
                                      : "\nhint: a .npy file states the sizes of a dynamic output"));
  array.bytes.resize(static_cast<size_t>(record.nbytes));
  ETB_TRY(file.read(0, array.bytes));
  return add_array(index, std::move(array));
}

Result<EValue> OutputValues::read_number(uint32_t index, const std::string& text) const {
  const ValueKind kind = meta_.output(index).kind();
  std::optional<EValue> number = parse_number(text);
  if (text.ends_with(".npy")) {
    ETB_ASSIGN(const Array array, read_npy(text, uint64_t{1} << 20));
    number = to_number(array);
  }
  const bool is_double = kind == ValueKind::kDouble && number && (number->is_double() || number->is_int());
  if (is_double) return EValue(number->to_double());
  if (number &&
      ((kind == ValueKind::kInt && number->is_int()) || (kind == ValueKind::kBool && number->is_bool())))
    return *number;
  return make_error(Code::INVALID_DATA, fmt::format("output {}: found '{}', expected a number of the kind {}",
                                                    index, text, to_text(kind)));
}

Result<EValue> OutputValues::add_array(uint32_t index, Array array) {
  const format::ValueView spec = meta_.output(index);
  if (spec.kind() != ValueKind::kTensor)
    return make_error(Code::INVALID_DATA,
                      fmt::format("output {}: found {}, expected a {}", index,
                                  format_shape(array.dtype, array.sizes), to_text(spec.kind())));
  const format::TensorRecord record = spec.as_tensor();
  const auto dtype = static_cast<Dtype>(record.dtype);
  if (dtype == Dtype::BFLOAT16 && array.dtype == Dtype::FLOAT32) {
    array = round_to_bfloat16(array);
    notes_.push_back(fmt::format("output {}: float32 rounded to bfloat16", index));
  }
  if (array.dtype != dtype || !fits(array.sizes, record))
    return make_error(
        Code::INVALID_DATA,
        fmt::format("output {}: found {}, expected {}{}", index, format_shape(array.dtype, array.sizes),
                    format_shape(dtype, sizes_of(record)),
                    record.dynamism == format::Dynamism::kStatic ? "" : " at most"));
  // The official run time compares in the order of the method's own tensor.
  const std::vector<uint8_t> wanted(record.dim_order.begin(), record.dim_order.end());
  const std::vector<uint8_t> given =
      array.dim_order.empty() ? row_major(array.sizes.size()) : array.dim_order;
  if (wanted != given) array = reorder(array, wanted);
  auto tensor = std::make_unique<host::OwnedTensor>(array.dtype, array.sizes, wanted);
  if (!array.bytes.empty()) std::memcpy(tensor->bytes().data(), array.bytes.data(), array.bytes.size());
  tensors_.push_back(std::move(tensor));
  return tensors_.back()->value();
}

}  // namespace etb::tools
