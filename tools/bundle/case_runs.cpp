// SPDX-License-Identifier: Apache-2.0
#include "tools/bundle/case_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tools/run/blame_files.hpp"
#include "tools/run/describe_value.hpp"
#include "tools/run/timing.hpp"
#include "tools/run/write_outputs.hpp"

namespace etb::tools {

namespace {

using format::BundledCaseView;
using host::EValue;

// The error model of each method, read once.
class ErrorModels {
 public:
  explicit ErrorModels(const std::map<std::string, std::string>& archives) : archives_(archives) {}

  bool has(const std::string& method) const { return archives_.contains(method) || archives_.contains(""); }

  GraphErrorModel& of(const std::string& method) {
    const std::string key = archives_.contains(method) ? method : "";
    return models_.try_emplace(key, archives_.at(key)).first->second;
  }

 private:
  const std::map<std::string, std::string>& archives_;
  std::map<std::string, GraphErrorModel> models_;
};

class Runner {
 public:
  Runner(host::BundledModule& bundled, const CaseOptions& options)
      : bundled_(bundled), options_(options), models_(options.models) {}

  Status run(const std::string& method) {
    const auto count = bundled_.bundle().case_count(method);
    if (options_.index || count == 0) return run_case(method, options_.index.value_or(0));
    for (uint32_t i = 0; i < count; ++i) ETB_TRY(run_case(method, i));
    return {};
  }

  CaseRuns take() { return std::move(out_); }

 private:
  Status run_case(const std::string& method, uint64_t index) {
    ETB_ASSIGN(const BundledCaseView item, host::find_case(bundled_.bundle(), method, index));
    CaseResult result;
    result.method = method;
    result.index = index;
    bundled_.module().unload_method(method);
    const Stopwatch init;
    ETB_TRY(blame_files(bundled_.module().load_method(method)));
    result.init_us = init.us();
    if (const Status done = run_loaded(item, result); !done) {
      if (failure_ || done.error().code == Code::ACCESS_FAILED)
        return done;  // of an archive, of files of outputs
      result.verdict = CaseVerdict::kFail;
      result.reason = done.error().message;
    }
    out_.cases.push_back(std::move(result));
    return {};
  }

  Status run_loaded(const BundledCaseView& item, CaseResult& result) {
    ETB_ASSIGN(result.first_us, run_once(result));
    ETB_ASSIGN(const std::vector<EValue> outputs, bundled_.module().get_outputs(result.method));
    ETB_TRY(judge(item, outputs, result));
    ETB_TRY(write(outputs, result));
    for (uint32_t i = 0; i < options_.warmup; ++i) ETB_TRY(run_once(result));
    for (uint32_t i = 0; i < options_.repeat && is_timed(); ++i) {
      ETB_ASSIGN(const double us, run_once(result));
      result.runs_us.push_back(us);
    }
    if (!is_timed()) result.runs_us.push_back(result.first_us);
    return {};
  }

  bool is_timed() const { return options_.repeat > 1 || options_.warmup > 0; }

  Result<double> run_once(const CaseResult& result) {
    if (options_.before_run)
      options_.before_run(static_cast<int32_t>(std::min<uint64_t>(result.index, INT32_MAX)));
    const host::RunLimits limits = limits_from_now(options_.limits);
    const Stopwatch watch;
    ETB_TRY(bundled_.load_bundled_input(result.method, result.index));
    ETB_TRY(bundled_.module().run(result.method, limits));
    return watch.us();
  }

  Status judge(const BundledCaseView& item, const std::vector<EValue>& outputs, CaseResult& result) {
    for (const EValue& output : outputs)
      result.outputs.push_back({describe_value(output, options_.shows_all), {}, {}});
    result.has_expected = item.expected_count() != 0;
    if (result.has_expected) {
      ETB_ASSIGN(host::Verification verification,
                 bundled_.verify_method_outputs(result.method, result.index, options_.tolerances));
      result.stats = verification.stats();
      if (!verification.is_close()) result.verdict = CaseVerdict::kFail;
      for (size_t i = 0; i < outputs.size(); ++i) {
        note_coarse(verification.outputs[i], result, i);
        result.outputs[i].comparison = std::move(verification.outputs[i]);
      }
    }
    if (models_.has(result.method)) ETB_TRY(judge_by_model(item, outputs, result));
    if (!result.has_expected && !result.has_model) {
      result.verdict = CaseVerdict::kNotVerified;
      result.reason = "the bundle expects no outputs";
    }
    return {};
  }

  Status judge_by_model(const BundledCaseView& item, const std::vector<EValue>& outputs, CaseResult& result) {
    const auto expected =
        models_.of(result.method).expect(item, fmt::format("{} {}", result.method, result.index));
    if (!expected && expected.error().code != Code::NOT_SUPPORTED) return unusable_model(expected.error());
    if (!expected) {
      result.model_note = expected.error().message;
      return {};
    }
    if (expected->size() != outputs.size())
      return unusable_model(Error{Code::INVALID_DATA,
                                  fmt::format("the graph has {} outputs, method '{}' {}", expected->size(),
                                              result.method, outputs.size()),
                                  {},
                                  0});
    result.has_model = true;
    for (size_t i = 0; i < outputs.size(); ++i) {
      result.outputs[i].model = compare_with_model((*expected)[i], outputs[i]);
      if (!result.outputs[i].model.difference.empty()) result.verdict = CaseVerdict::kFail;
      if (i >= item.expected_count() || !result.expected_difference.empty()) continue;
      const std::string difference =
          compare_with_model((*expected)[i], item.expected(static_cast<uint32_t>(i))).difference;
      if (!difference.empty()) result.expected_difference = fmt::format("output {}: {}", i, difference);
    }
    return {};
  }

  // Ends the command: the user named a wrong archive.
  Status unusable_model(Error error) {
    if (error.code == Code::INVALID_ARGUMENT) error.code = Code::INVALID_DATA;
    failure_ = with_context(std::move(error), "--model");
    return tl::make_unexpected(*failure_);
  }

  // A tolerance above all expected numbers accepts zeros.
  void note_coarse(const host::ValueComparison& comparison, const CaseResult& result, size_t output) {
    if (!(comparison.largest_expected > 0 && comparison.largest_expected <= options_.tolerances.atol)) return;
    out_.notes.push_back(fmt::format(
        "{} {}: output {}: atol {:g} is above the largest expected element {:.3g}: zeros "
        "would pass",
        result.method, result.index, output, options_.tolerances.atol, comparison.largest_expected));
  }

  Status write(const std::vector<EValue>& outputs, const CaseResult& result) {
    const std::string name = fmt::format("{}.{}", result.method, result.index);
    if (!options_.output_dir.empty())
      ETB_TRY(write_npy_files((std::filesystem::path(options_.output_dir) / name).string(), outputs));
    if (!options_.output_file.empty()) ETB_TRY(write_raw_files(options_.output_file + "-" + name, outputs));
    return {};
  }

  host::BundledModule& bundled_;
  const CaseOptions& options_;
  ErrorModels models_;
  std::optional<Error> failure_;  // ends the command, unlike the failure of a run
  CaseRuns out_;
};

}  // namespace

uint64_t CaseRuns::count(CaseVerdict verdict) const {
  return static_cast<uint64_t>(std::count_if(
      cases.begin(), cases.end(), [&](const CaseResult& item) { return item.verdict == verdict; }));
}

Result<CaseRuns> run_cases(host::BundledModule& bundled, const CaseOptions& options) {
  Runner runner(bundled, options);
  if (!options.method.empty()) {
    ETB_TRY(runner.run(options.method));
    return runner.take();
  }
  std::set<std::string> methods;
  for (uint32_t i = 0; i < bundled.bundle().suite_count(); ++i)
    methods.emplace(bundled.bundle().suite(i).method());
  if (methods.empty()) return make_error(Code::NOT_FOUND, "the bundle has no test cases");
  for (const std::string& method : methods) {
    // A method with fewer cases is left out.
    if (options.index && methods.size() > 1 && bundled.bundle().case_count(method) <= *options.index)
      continue;
    ETB_TRY(runner.run(method));
  }
  CaseRuns runs = runner.take();
  if (runs.cases.empty())
    return make_error(Code::NOT_FOUND,
                      fmt::format("no method of the bundle has a test case {}", options.index.value_or(0)));
  return runs;
}

}  // namespace etb::tools
