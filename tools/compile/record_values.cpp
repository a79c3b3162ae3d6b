// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/record_values.hpp"

#include <fmt/format.h>

#include <map>

#include "tools/run/method_inputs.hpp"
#include "tools/run/output_values.hpp"

namespace etb::tools {
namespace {

using host::EValue;
using record::SavedValue;

constexpr const char* kForward = "forward";

// The methods of a program that is not written yet.
class EmittedMethods {
 public:
  static Result<EmittedMethods> make(const emit::Program& program) {
    EmittedMethods out;
    out.head_ = format::make_program_head(program.parts);
    format::FileExtent extent;
    etb_error error;
    ETB_TRY(
        check(format::read_program_extent(out.head_.bytes, out.head_.file_nbytes, &extent, &error), error));
    ETB_TRY(check(format::read_program(out.head_.bytes, extent, &out.view_, &error), error));
    return out;
  }

  std::optional<host::MethodMeta> find(const std::string& name) const {
    for (uint32_t i = 0; i < view_.method_count(); ++i)
      if (view_.method(i).name() == name) return host::MethodMeta(view_.method(i));
    return std::nullopt;
  }

 private:
  format::ProgramHead head_;
  format::ProgramView view_;
};

Result<SavedValue> to_saved(const EValue& value) {
  SavedValue out;
  if (value.is_tensor()) {
    Array array = to_row_major(value.tensor());
    out.value = record::SavedTensor{array.dtype, std::move(array.sizes), std::move(array.bytes)};
  } else if (value.is_int()) {
    out.value = value.to_int();
  } else if (value.is_bool()) {
    out.value = value.to_bool();
  } else if (value.is_double()) {
    out.value = value.to_double();
  } else if (!value.is_none()) {
    return make_error(Code::NOT_SUPPORTED,
                      fmt::format("found {}, a record holds tensors, ints, doubles, bools "
                                  "and none only",
                                  to_text(value.tag())));
  }
  return out;
}

Result<SavedValue> to_list(std::span<const EValue> values, const char* what) {
  SavedValue::List items;
  for (size_t i = 0; i < values.size(); ++i) {
    auto item = to_saved(values[i]);
    if (!item)
      return tl::make_unexpected(with_context(std::move(item).error(), fmt::format("{} {}", what, i)));
    items.push_back(*std::move(item));
  }
  return SavedValue{std::move(items)};
}

// Notes of values, with the option and the method that they belong to.
void add_notes(const std::vector<std::string>& from, const std::string& where,
               std::vector<std::string>& notes) {
  for (const std::string& note : from) notes.push_back(where + ": " + note);
}

// The run time checks a value when an input is set, which does not happen here.
Status check_value(uint32_t index, const EValue& value, const host::MethodMeta& meta) {
  const format::ValueView spec = meta.input(index);
  if (spec.kind() != format::ValueKind::kTensor) return {};
  const format::TensorRecord record = spec.as_tensor();
  const std::vector<int64_t> wanted(record.sizes.begin(), record.sizes.end());
  const auto dtype = static_cast<host::Dtype>(record.dtype);
  const bool is_static = record.dynamism == format::Dynamism::kStatic;
  std::string found = value.is_tensor() ? "" : to_text(value.tag());
  if (value.is_tensor()) {
    const auto sizes = value.tensor().sizes();
    bool fits = value.tensor().dtype() == dtype && sizes.size() == wanted.size();
    for (size_t i = 0; fits && i < wanted.size(); ++i)
      fits = is_static ? sizes[i] == wanted[i] : sizes[i] <= wanted[i];
    if (fits) return {};
    found = format_shape(value.tensor().dtype(), std::vector<int64_t>(sizes.begin(), sizes.end()));
  }
  return make_error(Code::INVALID_DATA,
                    fmt::format("input {}: found {}, expected {}{}", index, found,
                                format_shape(dtype, wanted), is_static ? "" : " at most"));
}

Result<SavedValue> read_inputs(const std::vector<std::string>& texts, const EmittedMethods& methods,
                               std::vector<std::string>& notes) {
  const auto meta = methods.find(kForward);
  if (!meta)
    return make_error(Code::INVALID_ARGUMENT,
                      "no method 'forward', the only one with representative inputs in a record");
  MethodInputs inputs(*meta);
  if (texts.size() != inputs.count())
    return make_error(Code::INVALID_ARGUMENT, fmt::format("{} values, method '{}' has {} inputs",
                                                          texts.size(), kForward, inputs.count()));
  for (uint32_t i = 0; i < inputs.count(); ++i) {
    ETB_TRY(inputs.set_text(i, texts[i]));
    ETB_TRY(check_value(i, inputs.values()[i], *meta));
  }
  add_notes(inputs.notes(), "--etrecord-input", notes);
  return to_list(inputs.values(), "input");
}

// One test case.
Result<SavedValue> read_outputs(const std::vector<std::string>& texts, const host::MethodMeta& meta,
                                std::vector<std::string>& notes) {
  OutputValues outputs(meta);
  ETB_TRY(outputs.set_texts(texts, "values"));
  add_notes(outputs.notes(), "--etrecord-output", notes);
  Result<SavedValue> values = to_list(outputs.values(), "output");
  if (!values) return values;
  SavedValue::List results;
  results.push_back(*std::move(values));
  return SavedValue{std::move(results)};
}

// A name before '=' is that of a method only if there is one: a file's name may contain '='.
std::map<std::string, std::vector<std::string>> split_outputs(const std::vector<std::string>& texts,
                                                              const EmittedMethods& methods) {
  std::map<std::string, std::vector<std::string>> out;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const bool is_named = equals != std::string::npos && methods.find(text.substr(0, equals));
    out[is_named ? text.substr(0, equals) : kForward].push_back(is_named ? text.substr(equals + 1) : text);
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> add_record_values(const RecordOptions& options, const emit::Program& program,
                                                   CompilationRecord& record) {
  std::vector<std::string> notes;
  if (options.inputs.empty() && options.outputs.empty()) return notes;
  ETB_ASSIGN(const EmittedMethods methods, EmittedMethods::make(program));
  if (!options.inputs.empty()) {
    auto inputs = read_inputs(options.inputs, methods, notes);
    if (!inputs) return tl::make_unexpected(with_context(std::move(inputs).error(), "--etrecord-input"));
    ETB_TRY(record.set_inputs(*inputs));
  }
  SavedValue::Dict by_method;
  for (const auto& [name, texts] : split_outputs(options.outputs, methods)) {
    const auto meta = methods.find(name);
    if (!meta)
      return make_error(
          Code::INVALID_ARGUMENT,
          fmt::format("--etrecord-output '{}': no method 'forward'\nhint: METHOD=FILE", texts[0]));
    auto outputs = read_outputs(texts, *meta, notes);
    if (!outputs) return tl::make_unexpected(with_context(std::move(outputs).error(), "--etrecord-output"));
    by_method[name] = *std::move(outputs);
  }
  if (!by_method.empty()) ETB_TRY(record.set_outputs({std::move(by_method)}));
  return notes;
}

}  // namespace etb::tools
