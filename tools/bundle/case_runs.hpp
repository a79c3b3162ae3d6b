// SPDX-License-Identifier: Apache-2.0
// Runs the test cases of a bundled program and compares outputs: with the expected ones within tolerances, and with the
// error model of the exported graph if there is one.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "host/bundle/bundled_module.hpp"
#include "tools/bundle/error_model.hpp"
#include "tools/run/limit_options.hpp"

namespace etb::tools {

struct CaseOptions {
  std::string method;             // empty: each method that has cases
  std::optional<uint64_t> index;  // of the case; none: all
  host::Tolerances tolerances;
  std::map<std::string, std::string> models;  // archive (.pt2) by method, "" for all others
  uint32_t repeat = 1, warmup = 0;            // timed runs after the verified one
  LimitOptions limits;
  bool shows_all = false;  // elements of outputs, in the text
  std::string output_dir, output_file;
  std::function<void(int32_t case_index)> before_run = {};  // may be empty
};

enum class CaseVerdict : uint8_t { kPass, kFail, kNotVerified };

struct OutputResult {
  std::string text;  // "float32 [2]: 0.5, 1"
  host::ValueComparison comparison;
  ModelComparison model;
};

struct CaseResult {
  std::string method;
  uint64_t index = 0;
  CaseVerdict verdict = CaseVerdict::kPass;
  std::string reason;  // of an error, or why the case was not verified
  std::vector<OutputResult> outputs;
  host::ErrorStats stats;
  bool has_expected = false;
  bool has_model = false;
  std::string model_note;           // why the error model was not used
  std::string expected_difference;  // of the bundle's expected outputs from the error model
  double init_us = 0, first_us = 0;
  std::vector<double> runs_us;
};

struct CaseRuns {
  std::vector<CaseResult> cases;
  std::vector<std::string> notes;

  uint64_t count(CaseVerdict verdict) const;
};

// Each case begins with the initial state of its method. Fails if a method cannot be loaded or a case does not exist; a
// run that fails is a result.
[[nodiscard]] Result<CaseRuns> run_cases(host::BundledModule& bundled, const CaseOptions& options);

}  // namespace etb::tools
