// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/output_distances.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "etb/cpp/tensor.hpp"
#include "host/runtime/float16.hpp"
#include "partitioner_sdk/record/saved_values.hpp"

namespace etb::tools {
namespace {

using Numbers = std::vector<double>;
using record::SavedTensor;
using record::SavedValue;

template <class T>
double read_as(const std::byte* at) {
  T value{};
  std::memcpy(&value, at, sizeof(value));
  if constexpr (std::is_same_v<T, host::Half> || std::is_same_v<T, host::BFloat16>)
    return static_cast<double>(host::to_float(value));
  else
    return static_cast<double>(value);
}

using ReadNumber = double (*)(const std::byte* at);

ReadNumber find_reader(uint32_t dtype) {
  switch (static_cast<etb_dtype>(dtype)) {
    case ETB_DTYPE_FLOAT32:
      return read_as<float>;
    case ETB_DTYPE_FLOAT64:
      return read_as<double>;
    case ETB_DTYPE_FLOAT16:
      return read_as<host::Half>;
    case ETB_DTYPE_BFLOAT16:
      return read_as<host::BFloat16>;
    case ETB_DTYPE_INT64:
      return read_as<int64_t>;
    case ETB_DTYPE_INT32:
      return read_as<int32_t>;
    case ETB_DTYPE_INT16:
      return read_as<int16_t>;
    case ETB_DTYPE_INT8:
      return read_as<int8_t>;
    case ETB_DTYPE_UINT8:
    case ETB_DTYPE_BOOL:
      return read_as<uint8_t>;
    default:
      return nullptr;
  }
}

// Elements in row-major order, from elements with these strides.
Result<Numbers> read_numbers(uint32_t dtype, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                             std::span<const std::byte> bytes) {
  const ReadNumber read = find_reader(dtype);
  if (read == nullptr)
    return make_error(Code::NOT_SUPPORTED,
                      std::string("outputs of dtype ") + dtype_text(static_cast<etb_dtype>(dtype)));
  const size_t step = dtype_bits(static_cast<etb_dtype>(dtype)) / 8;
  Numbers out(bytes.size() / step);
  std::vector<int64_t> index(sizes.size(), 0);
  for (double& number : out) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * strides[d];
    number = read(bytes.data() + static_cast<size_t>(at) * step);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

Result<Numbers> numbers_of(const format::EtdumpDebugEvent& event, std::span<const std::byte> buffer) {
  const format::EtdumpValue& value = event.value;
  switch (value.kind) {
    case format::EtdumpValueKind::kInt:
      return Numbers{static_cast<double>(value.integer)};
    case format::EtdumpValueKind::kBool:
      return Numbers{value.boolean ? 1.0 : 0.0};
    case format::EtdumpValueKind::kFloat:
    case format::EtdumpValueKind::kDouble:
      return Numbers{value.real};
    case format::EtdumpValueKind::kTensor: {
      const format::EtdumpTensor& tensor = value.tensors.front();
      ETB_ASSIGN(const auto bytes, format::find_elements(tensor, buffer));
      return read_numbers(tensor.dtype, tensor.sizes, tensor.strides, bytes);
    }
    default:
      return make_error(Code::NOT_SUPPORTED, "an output that is no tensor or number");
  }
}

Result<Numbers> numbers_of(const SavedValue& value) {
  if (const auto* whole = value.get_if<int64_t>()) return Numbers{static_cast<double>(*whole)};
  if (const auto* real = value.get_if<double>()) return Numbers{*real};
  if (const auto* flag = value.get_if<bool>()) return Numbers{*flag ? 1.0 : 0.0};
  const auto* tensor = value.get_if<SavedTensor>();
  if (tensor == nullptr)
    return make_error(Code::NOT_SUPPORTED, "a reference output that is no tensor or number");
  std::vector<int64_t> strides(tensor->sizes.size());
  int64_t step = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    strides[i] = step;
    step *= tensor->sizes[i];
  }
  return read_numbers(static_cast<uint32_t>(tensor->dtype), tensor->sizes, strides, tensor->bytes);
}

OutputDistance distance(const Numbers& expected, const Numbers& found) {
  OutputDistance out;
  double signal = 0, noise = 0, product = 0, length = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = expected[i] - found[i];
    signal += expected[i] * expected[i];
    length += found[i] * found[i];
    product += expected[i] * found[i];
    noise += difference * difference;
    out.max_abs = std::max(out.max_abs, std::abs(difference));
  }
  const double scale = std::sqrt(signal) * std::sqrt(length);
  out.mse = expected.empty() ? 0 : noise / static_cast<double>(expected.size());
  out.snr_db = noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
  out.cosine = scale == 0 ? 1 : product / scale;
  return out;
}

// Outputs of a test case of a method; null if the record has none.
const SavedValue::List* find_reference(const SavedValue& outputs, const std::string& method,
                                       size_t test_case) {
  const auto* methods = outputs.get_if<SavedValue::Dict>();
  if (methods == nullptr || methods->count(method) == 0) return nullptr;
  const auto* cases = methods->at(method).get_if<SavedValue::List>();
  return cases == nullptr || test_case >= cases->size() ? nullptr
                                                        : (*cases)[test_case].get_if<SavedValue::List>();
}

Status add_block(const inspector::InspectedBlock& block, const SavedValue& outputs,
                 std::span<const std::byte> buffer, std::vector<OutputDistance>& out) {
  const std::string method = block.method.empty() ? "forward" : block.method;
  const size_t test_case = block.bundled_input_index < 0 ? 0 : static_cast<size_t>(block.bundled_input_index);
  const SavedValue::List* reference = find_reference(outputs, method, test_case);
  if (reference == nullptr || block.outputs.empty()) return {};
  if (reference->size() != block.outputs.size())
    return make_error(Code::INVALID_DATA, "method '" + method + "': " + std::to_string(block.outputs.size()) +
                                              " outputs in the profile, " +
                                              std::to_string(reference->size()) + " in the record");
  for (size_t i = 0; i < reference->size(); ++i) {
    ETB_ASSIGN(const Numbers expected, numbers_of((*reference)[i]));
    ETB_ASSIGN(const Numbers found, numbers_of(*block.outputs[i], buffer));
    if (expected.size() != found.size())
      return make_error(Code::INVALID_DATA, "output " + std::to_string(i) + " of method '" + method + "': " +
                                                std::to_string(found.size()) + " elements in the profile, " +
                                                std::to_string(expected.size()) + " in the record");
    OutputDistance& made = out.emplace_back(distance(expected, found));
    made.method = method;
    made.test_case = test_case;
    made.output = i;
  }
  return {};
}

}  // namespace

Result<std::vector<OutputDistance>> compare_outputs(const Inspection& inspection,
                                                    std::span<const inspector::InspectedBlock> blocks,
                                                    std::span<const std::byte> debug_buffer) {
  if (!inspection.record || inspection.record->record().reference_outputs.empty())
    return make_error(Code::NOT_FOUND, "--compare_results: there is no record with reference outputs");
  auto outputs =
      record::read_saved_value(std::as_bytes(std::span(inspection.record->record().reference_outputs)));
  if (!outputs)
    return tl::make_unexpected(with_context(std::move(outputs).error(), "entry 'reference_outputs'"));
  std::vector<OutputDistance> out;
  for (const inspector::InspectedBlock& block : blocks)
    ETB_TRY(add_block(block, *outputs, debug_buffer, out));
  if (out.empty())
    return make_error(Code::NOT_FOUND,
                      "--compare_results: the profile has no outputs of a test case that the record has");
  return out;
}

}  // namespace etb::tools
