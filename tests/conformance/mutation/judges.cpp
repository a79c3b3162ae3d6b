// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/mutation/judges.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/conformance/mutation/limited_run.hpp"

namespace etb::mutation {
namespace {

namespace fs = std::filesystem;

// Returns the text of the first line that begins so, without the rest of the output.
std::string line_after(const std::string& output, const std::string& begin) {
  size_t at = output.starts_with(begin) ? 0 : output.find("\n" + begin);
  if (at == std::string::npos) return {};
  at += at == 0 ? begin.size() : begin.size() + 1;
  return output.substr(at, std::min(output.find('\n', at) - at, size_t{300}));
}

// "program_samples: /folder/add/float32_1: wrong ..." without the folder: the page is the same on every machine.
std::string shortened(const std::string& text) {
  const size_t begin = text.find(": /");
  if (begin == std::string::npos) return text;
  const size_t end = std::min(text.find(':', begin + 1), text.size());
  const fs::path path = text.substr(begin + 2, end - begin - 2);
  return text.substr(0, begin + 2) + (path.parent_path().filename() / path.filename()).string() +
         text.substr(end);
}

Notice notice_of(const RunResult& run, const std::string& where) {
  if (run.is_ok()) return {};
  const std::string line = line_after(run.output, "FAIL ");
  return {true, where + ": " + (line.empty() ? run.end() : line)};
}

std::string results_path(const JudgeInputs& inputs) { return inputs.folder + "/results.jsonl"; }

// Calls `use(name, state)` for each result until it returns false.
template <class Use>
void for_each_result(const std::string& path, const Use& use) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("state")) continue;
    if (!use(json.value("name", ""), json["state"].get<std::string>())) return;
  }
}

// Returns the name of the first failure in a results file.
std::string first_failure(const std::string& path) {
  static const std::set<std::string> kGood = {"pass", "unsupported", "warning", "waived", "not-run"};
  std::string out;
  for_each_result(path, [&](const std::string& name, const std::string& state) {
    if (kGood.count(state) == 0) out = name + " (" + state + ")";
    return out.empty();
  });
  return out;
}

Notice run_verify(const Target& target, const JudgeInputs& inputs, const std::vector<std::string>& patterns) {
  const std::string name = fs::path(target.product).filename().string(), results = results_path(inputs);
  std::error_code ignored;
  fs::remove(results, ignored);
  std::vector<std::string> words = {inputs.programs + "/etbackend",
                                    "verify",
                                    inputs.plugin_folder + "/" + name + ".so",
                                    "--profile",
                                    "cert",
                                    "--fail-fast",
                                    "--no-confirm",
                                    "--case-timeout-ms",
                                    "20000",
                                    "--results",
                                    results};
  for (const std::string& pattern : patterns) words.insert(words.end(), {"--case", pattern});
  const RunResult run = run_limited(words, {.seconds = inputs.seconds,
                                            .cpu_seconds = 600,
                                            .memory_bytes = uint64_t{64} << 30,
                                            .folder = inputs.folder});
  constexpr int kNothingMatches = 3;
  if (run.is_ok() || (run.exit == kNothingMatches && !patterns.empty())) return {};
  const std::string by = first_failure(results);
  return {true, by.empty() ? run.end() + " " + run.output.substr(0, 200) : by};
}

// Writes the samples to a file, those that probably notice first.
std::string write_list(const JudgeInputs& inputs) {
  const std::string path = inputs.folder + "/samples.txt";
  std::ofstream file(path);
  for (const Sample& sample : with_first(inputs.samples, inputs.first_ops, inputs.noticed_before))
    file << sample.path << '\n';
  return path;
}

}  // namespace

Notice ask_oracle(const Target& target, const JudgeInputs& inputs) {
  const RunLimits limits = {
      .seconds = inputs.seconds, .cpu_seconds = inputs.oracle_cpu_seconds, .folder = inputs.folder};
  if (!inputs.kernel_program.empty()) {
    const RunResult run =
        run_limited({inputs.kernel_program, inputs.root + "/tests/opinfo/cases", "--fail-fast", "--best-cpu",
                     "--as-backend", "--first", fmt::format("{}", fmt::join(inputs.first_ops, ","))},
                    limits);
    if (const Notice notice = notice_of(run, "kernel_cases"); notice.is_noticed) return notice;
  }
  if (inputs.samples.empty()) return {};
  const RunResult run =
      run_limited({inputs.programs + "/program_samples", "--list", write_list(inputs), "--backend",
                   target.backend, "--plugins", inputs.plugin_folder, "--fail-fast"},
                  limits);
  Notice notice = notice_of(run, "program_samples");
  notice.by = shortened(notice.by);
  return notice;
}

Notice ask_cert(const Target& target, const JudgeInputs& inputs) {
  std::vector<std::string> first = patterns_for(inputs.first_ops);
  first.insert(first.end(), inputs.cases_before.begin(), inputs.cases_before.end());
  if (!first.empty())
    if (Notice notice = run_verify(target, inputs, first); notice.is_noticed) return notice;
  return run_verify(target, inputs, {});
}

std::string circumstances_of_cert(const JudgeInputs& inputs) {
  constexpr size_t kDayDigits = 10, kShownDigits = 12;
  std::ifstream file(results_path(inputs));
  std::string line;
  std::getline(file, line);
  const nlohmann::json header = nlohmann::json::parse(line, nullptr, false);
  if (!header.is_object() || !header.contains("suite_digest")) return {};
  return header.value("date", "").substr(0, kDayDigits) + "; " + header.value("host", "") + "; suite " +
         header.value("suite_digest", "").substr(0, kShownDigits);
}

std::set<std::string> rejected_cases(const JudgeInputs& inputs) {
  std::set<std::string> out;
  for_each_result(results_path(inputs), [&](const std::string& name, const std::string& state) {
    if (state == "unsupported") out.insert(name);
    return true;
  });
  return out;
}

}  // namespace etb::mutation
