// SPDX-License-Identifier: Apache-2.0
#include "api/format/bundled_program_writer.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "api/format/tensor_layout.hpp"
#include "etb_schema/bundled_program_generated.h"

namespace etb::format {

namespace {

namespace fb = bundle_schema;
using Builder = flatbuffers::FlatBufferBuilder;
template <class T>
using Offset = flatbuffers::Offset<T>;

constexpr uint32_t kVersion = 2;
constexpr size_t kProgramBoundary = 32, kTensorBoundary = 16;
// Upper bounds on the bytes of tables around the data, so that the sum stays below the limit of a flatbuffer.
constexpr uint64_t kValueNbytes = 256, kSuiteNbytes = 64;
constexpr uint64_t kMaxNbytes = (uint64_t{1} << 31) - (uint64_t{1} << 20);

uint64_t data_nbytes(const std::vector<BundledValue>& values) {
  uint64_t total = kValueNbytes * (1 + values.size());
  for (const BundledValue& value : values)
    if (const auto* const tensor = std::get_if<BundledTensorData>(&value)) total += tensor->bytes.size();
  return total;
}

Status check_size(uint64_t program_nbytes, std::span<const BundledSuite> suites) {
  uint64_t total = program_nbytes;
  for (const BundledSuite& suite : suites) {
    total += kSuiteNbytes + suite.method.size();
    for (const BundledCase& item : suite.cases)
      total += data_nbytes(item.inputs) + data_nbytes(item.expected);
  }
  if (total <= kMaxNbytes) return {};
  return make_error(Code::OUT_OF_RESOURCES,
                    "program and test cases of about " + std::to_string(total) + " bytes, expected at most " +
                        std::to_string(kMaxNbytes) +
                        "\nhint: bundle fewer test cases, or keep the weights in a .ptd file");
}

Status check_tensor(const BundledTensorData& tensor) {
  const auto nbytes =
      element_nbytes(tensor.dtype) == 0 ? std::nullopt : checked_nbytes(tensor.dtype, tensor.sizes);
  if (!nbytes || *nbytes != tensor.bytes.size())
    return make_error(Code::INVALID_ARGUMENT,
                      "tensor of dtype code " + std::to_string(tensor.dtype) + ": " +
                          std::to_string(tensor.bytes.size()) + " bytes, " +
                          (nbytes ? "its sizes need " + std::to_string(*nbytes) : "its type has no size"));
  const bool has_order = !tensor.dim_order.empty();
  if (tensor.sizes.size() > kMaxRank ||
      (has_order && (tensor.dim_order.size() != tensor.sizes.size() || !is_permutation(tensor.dim_order))))
    return make_error(Code::INVALID_ARGUMENT, "tensor of rank " + std::to_string(tensor.sizes.size()) +
                                                  " with " + std::to_string(tensor.dim_order.size()) +
                                                  " entries in its dim order, expected a permutation");
  return {};
}

Result<Offset<fb::Value>> add_value(Builder& out, const BundledValue& value) {
  if (const auto* const whole = std::get_if<int64_t>(&value))
    return fb::CreateValue(out, fb::ValueUnion::Int, fb::CreateInt(out, *whole).Union());
  if (const auto* const flag = std::get_if<bool>(&value))
    return fb::CreateValue(out, fb::ValueUnion::Bool, fb::CreateBool(out, *flag).Union());
  if (const auto* const real = std::get_if<double>(&value))
    return fb::CreateValue(out, fb::ValueUnion::Double, fb::CreateDouble(out, *real).Union());
  const auto& tensor = std::get<BundledTensorData>(value);
  ETB_TRY(check_tensor(tensor));
  std::vector<uint8_t> order = tensor.dim_order;
  if (order.empty()) {
    order.resize(tensor.sizes.size());
    std::iota(order.begin(), order.end(), uint8_t{0});
  }
  out.ForceVectorAlignment(tensor.bytes.size(), 1, kTensorBoundary);
  const auto data =
      out.CreateVector(reinterpret_cast<const uint8_t*>(tensor.bytes.data()), tensor.bytes.size());
  const auto sizes = out.CreateVector(tensor.sizes);
  const auto dims = out.CreateVector(order);
  const auto table = fb::CreateTensor(out, static_cast<int8_t>(tensor.dtype), sizes, data, dims);
  return fb::CreateValue(out, fb::ValueUnion::Tensor, table.Union());
}

Result<std::vector<Offset<fb::Value>>> add_values(Builder& out, const std::vector<BundledValue>& values,
                                                  const char* what) {
  std::vector<Offset<fb::Value>> rows;
  for (size_t i = 0; i < values.size(); ++i) {
    Result<Offset<fb::Value>> row = add_value(out, values[i]);
    if (!row)
      return tl::make_unexpected(
          with_context(std::move(row).error(), what + std::string(" ") + std::to_string(i)));
    rows.push_back(*row);
  }
  return rows;
}

Result<Offset<fb::Case>> add_case(Builder& out, const BundledCase& item) {
  ETB_ASSIGN(const auto inputs, add_values(out, item.inputs, "input"));
  ETB_ASSIGN(const auto expected, add_values(out, item.expected, "expected output"));
  const auto input_rows = out.CreateVector(inputs);
  return fb::CreateCase(out, input_rows, out.CreateVector(expected));
}

// The cases of each method, in the order of the methods.
std::map<std::string, std::vector<const BundledCase*>> sort_cases(std::span<const BundledSuite> suites) {
  std::map<std::string, std::vector<const BundledCase*>> sorted;
  for (const BundledSuite& suite : suites) {
    auto& cases = sorted[suite.method];
    for (const BundledCase& item : suite.cases) cases.push_back(&item);
  }
  return sorted;
}

Result<Offset<fb::Suite>> add_suite(Builder& out, const std::string& method,
                                    const std::vector<const BundledCase*>& cases) {
  if (method.empty() || method.find('\0') != std::string::npos)
    return make_error(Code::INVALID_ARGUMENT, "a suite without the name of a method");
  std::vector<Offset<fb::Case>> rows;
  for (size_t i = 0; i < cases.size(); ++i) {
    Result<Offset<fb::Case>> row = add_case(out, *cases[i]);
    if (!row)
      return tl::make_unexpected(
          with_context(std::move(row).error(), "method '" + method + "', case " + std::to_string(i)));
    rows.push_back(*row);
  }
  const auto name = out.CreateString(method);
  return fb::CreateSuite(out, name, out.CreateVector(rows));
}

BundledValue to_value(const BundledValueView& view) {
  switch (view.kind()) {
    case BundledKind::kInt:
      return view.as_int();
    case BundledKind::kBool:
      return view.as_bool();
    case BundledKind::kDouble:
      return view.as_double();
    case BundledKind::kTensor:
      break;
  }
  const BundledTensor tensor = view.as_tensor();
  return BundledTensorData{tensor.dtype,
                           {tensor.sizes.begin(), tensor.sizes.end()},
                           {tensor.dim_order.begin(), tensor.dim_order.end()},
                           {tensor.data.begin(), tensor.data.end()}};
}

}  // namespace

BundledCase to_case(const BundledCaseView& view) {
  BundledCase item;
  for (uint32_t i = 0; i < view.input_count(); ++i) item.inputs.push_back(to_value(view.input(i)));
  for (uint32_t i = 0; i < view.expected_count(); ++i) item.expected.push_back(to_value(view.expected(i)));
  return item;
}

Status write_bundled_program(std::span<const std::byte> program, std::span<const BundledSuite> suites,
                             const ByteSink& sink) {
  ETB_TRY(check_size(program.size(), suites));
  if (program.empty()) return make_error(Code::INVALID_ARGUMENT, "a bundle without a program");
  Builder out;
  std::vector<Offset<fb::Suite>> rows;
  for (const auto& [method, cases] : sort_cases(suites)) {
    ETB_ASSIGN(const Offset<fb::Suite> row, add_suite(out, method, cases));
    rows.push_back(row);
  }
  const auto list = out.CreateVector(rows);
  out.ForceVectorAlignment(program.size(), 1, kProgramBoundary);
  const auto bytes = out.CreateVector(reinterpret_cast<const uint8_t*>(program.data()), program.size());
  fb::FinishBundledProgramBuffer(out, fb::CreateBundledProgram(out, kVersion, list, bytes));
  return sink({reinterpret_cast<const std::byte*>(out.GetBufferPointer()), out.GetSize()});
}

}  // namespace etb::format
