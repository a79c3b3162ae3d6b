// SPDX-License-Identifier: Apache-2.0
#include "tools/bundle/bundle_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/format/printable_text.hpp"
#include "api/format/tensor_layout.hpp"
#include "tools/quantity.hpp"

namespace etb::tools {

namespace {

using Json = nlohmann::ordered_json;

Json report_value(const format::BundledValueView& value) {
  Json json{{"kind", format::to_text(value.kind())}};
  switch (value.kind()) {
    case format::BundledKind::kInt:
      json["value"] = value.as_int();
      break;
    case format::BundledKind::kBool:
      json["value"] = value.as_bool();
      break;
    case format::BundledKind::kDouble:
      json["value"] = value.as_double();
      break;
    case format::BundledKind::kTensor: {
      const format::BundledTensor tensor = value.as_tensor();
      json["dtype"] = format::dtype_text(tensor.dtype);
      json["sizes"] = std::vector<int32_t>(tensor.sizes.begin(), tensor.sizes.end());
      json["dim_order"] = std::vector<int>(tensor.dim_order.begin(), tensor.dim_order.end());
      json["nbytes"] = tensor.data.size();
      break;
    }
  }
  return json;
}

Json report_case(const format::BundledCaseView& item) {
  Json inputs = Json::array(), expected = Json::array();
  for (uint32_t i = 0; i < item.input_count(); ++i) inputs.push_back(report_value(item.input(i)));
  for (uint32_t i = 0; i < item.expected_count(); ++i) expected.push_back(report_value(item.expected(i)));
  return {{"inputs", std::move(inputs)}, {"expected_outputs", std::move(expected)}};
}

std::string value_text(const Json& value) {
  if (value.contains("value")) return value["value"].dump();
  return fmt::format("{} [{}]", value["dtype"].get<std::string>(),
                     fmt::join(value["sizes"].get<std::vector<int32_t>>(), ", "));
}

std::string values_text(const Json& values, const char* noun) {
  std::vector<std::string> texts;
  for (const Json& value : values) texts.push_back(value_text(value));
  const std::string count = count_of(values.size(), noun);
  return texts.empty() ? count : fmt::format("{} ({})", count, fmt::join(texts, ", "));
}

}  // namespace

Json report_bundle(const format::BundledProgramView& view, const std::string& path) {
  Json methods = Json::array();
  for (uint32_t i = 0; i < view.suite_count(); ++i) {
    const format::BundledSuiteView suite = view.suite(i);
    Json cases = Json::array();
    for (uint32_t k = 0; k < suite.case_count(); ++k) cases.push_back(report_case(suite.test_case(k)));
    methods.push_back({{"method", std::string(suite.method())}, {"cases", std::move(cases)}});
  }
  return {{"file", path},
          {"format", "bundled program"},
          {"version", view.version()},
          {"program_nbytes", view.program().size()},
          {"methods", std::move(methods)}};
}

std::string format_bundle(const Json& report) {
  std::string text =
      fmt::format("{}: bundled program (.bpte), version {}, with a program of {}\n",
                  format::made_printable(report["file"].get<std::string>()),
                  report["version"].get<uint32_t>(), nbytes_text(report["program_nbytes"].get<uint64_t>()));
  for (const Json& method : report["methods"]) {
    text += fmt::format("{}: {}\n", format::made_printable(method["method"].get<std::string>()),
                        count_of(method["cases"].size(), "test case"));
    size_t index = 0;
    for (const Json& item : method["cases"])
      text += fmt::format("  {}: {}; {}\n", index++, values_text(item["inputs"], "input"),
                          item["expected_outputs"].empty()
                              ? "no expected outputs, for measurements only"
                              : values_text(item["expected_outputs"], "expected output"));
  }
  return text;
}

}  // namespace etb::tools
