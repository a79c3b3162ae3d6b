// SPDX-License-Identifier: Apache-2.0
#include "tools/bundle/case_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/quantity.hpp"
#include "tools/run/timing.hpp"

namespace etb::tools {

namespace {

using Json = nlohmann::ordered_json;

const char* to_text(CaseVerdict verdict) {
  switch (verdict) {
    case CaseVerdict::kPass:
      return "pass";
    case CaseVerdict::kFail:
      return "FAIL";
    case CaseVerdict::kNotVerified:
      break;
  }
  return "not verified";
}

Json to_json(const host::ErrorStats& stats) {
  return {{"mean_abs", stats.mean_abs}, {"max_abs", stats.max_abs}, {"mean_rel", stats.mean_rel},
          {"max_rel", stats.max_rel},   {"count", stats.count},     {"special_count", stats.special_count}};
}

Json to_json(const OutputResult& output, const CaseResult& result) {
  Json json{{"value", output.text}};
  if (result.has_expected) {
    json["is_close"] = output.comparison.is_close;
    if (!output.comparison.is_close) json["difference"] = output.comparison.difference;
    json["different_count"] = output.comparison.different_count;
    json["error"] = to_json(output.comparison.stats);
  }
  if (result.has_model) {
    json["is_within_error_model"] = output.model_difference.empty();
    if (!output.model_difference.empty()) json["error_model_difference"] = output.model_difference;
  }
  return json;
}

Json to_json(const CaseResult& result) {
  std::string verdict = to_text(result.verdict);
  std::transform(verdict.begin(), verdict.end(), verdict.begin(),
                 [](char c) { return c == ' ' ? '_' : static_cast<char>(c | 0x20); });
  Json outputs = Json::array();
  for (const OutputResult& output : result.outputs) outputs.push_back(to_json(output, result));
  Json json{{"method", result.method}, {"index", result.index}, {"verdict", verdict}};
  if (!result.reason.empty()) json["reason"] = result.reason;
  json["error_model"] = result.has_model ? "checked" : "not checked";
  if (!result.model_note.empty()) json["error_model_reason"] = result.model_note;
  if (!result.expected_difference.empty()) json["expected_outputs_difference"] = result.expected_difference;
  if (result.has_expected) json["error"] = to_json(result.stats);
  json["outputs"] = std::move(outputs);
  json["init_us"] = result.init_us;
  json["first_us"] = result.first_us;
  json["min_us"] = percentile(result.runs_us, 0);
  json["p50_us"] = percentile(result.runs_us, 0.5);
  json["p90_us"] = percentile(result.runs_us, 0.9);
  json["runs"] = result.runs_us.size();
  return json;
}

std::string errors_text(const host::ErrorStats& stats) {
  std::string text = fmt::format("error: mean {:.3g}, max {:.3g}; relative: mean {:.3g}, max {:.3g}",
                                 stats.mean_abs, stats.max_abs, stats.mean_rel, stats.max_rel);
  if (stats.special_count != 0)
    text += fmt::format("; {} with NaN or infinity on one side", count_of(stats.special_count, "element"));
  return text;
}

// One line for each output of a case that failed.
std::string outputs_text(const CaseResult& result, bool shows_values) {
  std::string text;
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const OutputResult& output = result.outputs[i];
    if (shows_values) text += fmt::format("  output {}: {}\n", i, output.text);
    if (result.has_expected && (!output.comparison.is_close || result.outputs.size() > 1))
      text += fmt::format("  output {}: {}\n", i, errors_text(output.comparison.stats));
    if (!output.comparison.is_close)
      text += fmt::format("  output {}: {} of {}: {}\n", i, output.comparison.different_count,
                          count_of(output.comparison.stats.count, "element"), output.comparison.difference);
    if (!output.model_difference.empty())
      text += fmt::format("  output {}: outside of the error model: {}\n", i, output.model_difference);
  }
  return text;
}

std::string case_text(const CaseResult& result, const std::string& print_output) {
  std::string text = fmt::format("{} {}: {}", result.method, result.index, to_text(result.verdict));
  if (!result.reason.empty()) text += ", " + result.reason;
  if (result.has_expected && result.reason.empty()) text += "; " + errors_text(result.stats);
  if (result.has_model &&
      std::all_of(result.outputs.begin(), result.outputs.end(),
                  [](const OutputResult& output) { return output.model_difference.empty(); }))
    text += "; within the error model";
  text += '\n' + outputs_text(result, print_output == "all");
  if (!result.model_note.empty()) text += "  the error model was not checked: " + result.model_note + '\n';
  if (!result.expected_difference.empty())
    text += "  the bundle's expected outputs are outside of the error model: " + result.expected_difference +
            '\n';
  if (result.runs_us.size() > 1)
    text += fmt::format("  {} runs: min {:.1f}, p50 {:.1f}, p90 {:.1f} us\n", result.runs_us.size(),
                        percentile(result.runs_us, 0), percentile(result.runs_us, 0.5),
                        percentile(result.runs_us, 0.9));
  return text;
}

}  // namespace

Json report_cases(const CaseRuns& runs, const CaseOptions& options) {
  Json cases = Json::array();
  for (const CaseResult& result : runs.cases) cases.push_back(to_json(result));
  Json report{{"rtol", options.tolerances.rtol},
              {"atol", options.tolerances.atol},
              {"passed", runs.count(CaseVerdict::kPass)},
              {"failed", runs.count(CaseVerdict::kFail)},
              {"not_verified", runs.count(CaseVerdict::kNotVerified)},
              {"cases", std::move(cases)}};
  if (!runs.notes.empty()) report["notes"] = runs.notes;
  return report;
}

std::string format_cases(const CaseRuns& runs, const CaseOptions& options, const std::string& print_output) {
  std::string text =
      fmt::format("within rtol {:g} and atol {:g}{}\n", options.tolerances.rtol, options.tolerances.atol,
                  options.models.empty() ? "; the error model needs --model MODEL.pt2 and is not checked"
                                         : ", and the error model of the exported graph");
  if (print_output != "none")
    for (const CaseResult& result : runs.cases) text += case_text(result, print_output);
  for (const std::string& note : runs.notes) text += "note: " + note + '\n';
  text += fmt::format("{}: {} passed, {} failed", count_of(runs.cases.size(), "test case"),
                      runs.count(CaseVerdict::kPass), runs.count(CaseVerdict::kFail));
  if (const uint64_t count = runs.count(CaseVerdict::kNotVerified); count != 0)
    text += fmt::format(", {} not verified", count);
  return text + '\n';
}

}  // namespace etb::tools
