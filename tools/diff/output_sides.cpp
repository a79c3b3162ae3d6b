// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/output_sides.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/bundle/bundle_file.hpp"
#include "host/bundle/bundled_inputs.hpp"
#include "partitioner_sdk/record/record.hpp"
#include "partitioner_sdk/record/saved_values.hpp"
#include "tools/diff/program_side.hpp"
#include "tools/file_kind.hpp"
#include "tools/run/npy.hpp"

namespace etb::diff {
namespace {

constexpr uint64_t kMaxArrayBytes = uint64_t{4} << 30;
constexpr const char* kMethod = "forward";  // an archive has one method

std::unique_ptr<Side> of_known_outputs(const std::string& name, std::vector<TensorData> outputs) {
  return Side::of_outputs(
      name, [outputs = std::move(outputs)](const std::vector<host::EValue>&) -> Result<MethodOutputs> {
        return MethodOutputs{outputs, {}};
      });
}

TensorData to_data(const tools::Array& array) {
  return {{static_cast<etb_dtype>(array.dtype), array.sizes, array.dim_order}, array.bytes};
}

Result<std::unique_ptr<Side>> open_arrays(const std::string& text, const std::vector<std::string>& paths) {
  std::vector<TensorData> outputs;
  for (const std::string& path : paths) {
    auto read = tools::read_npy(path, kMaxArrayBytes);
    if (!read) return tl::make_unexpected(with_context(std::move(read).error(), "'" + path + "'"));
    outputs.push_back(to_data(*read));
  }
  return of_known_outputs(text, std::move(outputs));
}

// ---- Bundled programs.

StoredInput to_stored(const format::BundledValueView& value) {
  switch (value.kind()) {
    case format::BundledKind::kInt:
      return host::EValue(value.as_int());
    case format::BundledKind::kBool:
      return host::EValue(value.as_bool());
    case format::BundledKind::kDouble:
      return host::EValue(value.as_double());
    case format::BundledKind::kTensor:
      break;
  }
  const format::BundledTensor tensor = value.as_tensor();
  return tools::Array{static_cast<host::Dtype>(tensor.dtype),
                      {tensor.sizes.begin(), tensor.sizes.end()},
                      {tensor.dim_order.begin(), tensor.dim_order.end()},
                      {tensor.data.begin(), tensor.data.end()}};
}

TensorData to_data(const StoredInput& stored) {
  if (const auto* const array = std::get_if<tools::Array>(&stored)) return to_data(*array);
  return copy_of(std::get<host::EValue>(stored));
}

Result<OpenedSide> open_bundle(const std::string& path, uint32_t test_case) {
  ETB_ASSIGN(const host::BundleFile file, host::BundleFile::open(path));
  ETB_ASSIGN(const format::BundledCaseView item, host::find_case(file.view(), kMethod, test_case));
  if (item.expected_count() == 0)
    return make_error(Code::INVALID_DATA,
                      fmt::format("'{}': test case {} has no expected outputs", path, test_case));
  OpenedSide out;
  std::vector<TensorData> outputs;
  for (uint32_t i = 0; i < item.input_count(); ++i) out.inputs.push_back(to_stored(item.input(i)));
  for (uint32_t i = 0; i < item.expected_count(); ++i)
    outputs.push_back(to_data(to_stored(item.expected(i))));
  out.side = of_known_outputs(path, std::move(outputs));
  return out;
}

// ---- Records. Values may be nested as in the user's Python.

Status add_values(const record::SavedValue& saved, std::vector<StoredInput>& out) {
  if (const auto* const list = saved.get_if<record::SavedValue::List>()) {
    for (const record::SavedValue& item : *list)
      if (Status added = add_values(item, out); !added) return added;
    return {};
  }
  if (const auto* const tensor = saved.get_if<record::SavedTensor>())
    out.emplace_back(tools::Array{static_cast<host::Dtype>(tensor->dtype), tensor->sizes, {}, tensor->bytes});
  else if (const auto* const integer = saved.get_if<int64_t>())
    out.emplace_back(host::EValue(*integer));
  else if (const auto* const real = saved.get_if<double>())
    out.emplace_back(host::EValue(*real));
  else if (const auto* const flag = saved.get_if<bool>())
    out.emplace_back(host::EValue(*flag));
  else
    return make_error(Code::NOT_SUPPORTED, "a value that is neither a tensor nor a number");
  return {};
}

Result<std::vector<StoredInput>> read_values(const std::string& saved, const char* what) {
  if (saved.empty())
    return make_error(Code::INVALID_DATA,
                      std::string("the record has no ") + what +
                          "\nhint: the model's author adds them with update_representative_inputs "
                          "and update_reference_outputs");
  ETB_ASSIGN(record::SavedValue value, record::read_saved_value(std::as_bytes(std::span(saved))));
  // Outputs are by method, and then by case.
  if (const auto* const by_method = value.get_if<record::SavedValue::Dict>()) {
    const auto found = by_method->find(kMethod);
    const auto* const cases =
        found == by_method->end() ? nullptr : found->second.get_if<record::SavedValue::List>();
    if (cases == nullptr || cases->empty())
      return make_error(Code::NOT_FOUND,
                        std::string("the record has no ") + what + " of the method '" + kMethod + "'");
    record::SavedValue first = cases->front();
    value = std::move(first);
  }
  std::vector<StoredInput> out;
  if (Status added = add_values(value, out); !added) return tl::make_unexpected(added.error());
  return out;
}

Result<OpenedSide> open_record(const std::string& path) {
  ETB_ASSIGN(const record::Record read, record::read_record_file(path, record::Contents::kWithoutWeights));
  OpenedSide out;
  ETB_ASSIGN(out.inputs, read_values(read.representative_inputs, "representative inputs"));
  ETB_ASSIGN(const std::vector<StoredInput> stored, read_values(read.reference_outputs, "reference outputs"));
  std::vector<TensorData> outputs;
  for (const StoredInput& output : stored) outputs.push_back(to_data(output));
  out.side = of_known_outputs(path, std::move(outputs));
  return out;
}

}  // namespace

Result<std::vector<StoredInput>> read_representative_inputs(const std::string& path) {
  if (path.empty())
    return make_error(Code::INVALID_ARGUMENT, "--representative-inputs needs --etrecord FILE");
  ETB_ASSIGN(const record::Record read, record::read_record_file(path, record::Contents::kWithoutWeights));
  return read_values(read.representative_inputs, "representative inputs");
}

Result<OpenedSide> open_side(const std::string& text, const SideOptions& options, uint32_t test_case) {
  const std::vector<std::string> names = split_side(text);
  const bool has_arrays =
      std::all_of(names.begin(), names.end(), [](const std::string& name) { return name.ends_with(".npy"); });
  OpenedSide out;
  if (has_arrays) {
    ETB_ASSIGN(out.side, open_arrays(text, names));
    return out;
  }
  switch (tools::find_file_kind(text)) {
    case tools::FileKind::kProgram:
      out.side = open_program(text, options);
      return out;
    case tools::FileKind::kEtdump:
      out.side = Side::of_recording(text, SideKind::kRecorded);
      return out;
    case tools::FileKind::kArchive:
      out.side = Side::of_recording(text, SideKind::kArchive);
      return out;
    case tools::FileKind::kBundle:
      return open_bundle(text, test_case);
    case tools::FileKind::kRecord: {
      auto record = open_record(text);
      if (!record) return tl::make_unexpected(with_context(std::move(record).error(), "'" + text + "'"));
      return record;
    }
    default:
      break;
  }
  ETB_ASSIGN(out.side, Side::open(text, options));
  return out;
}

}  // namespace etb::diff
