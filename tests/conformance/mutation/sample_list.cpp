// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/mutation/sample_list.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <vector>

#include "tests/conformance/mutation/limited_run.hpp"

namespace etb::mutation {
namespace {

namespace fs = std::filesystem;

// Takes the first, middle and last sample of each op and dtype: more cost time and notice little more.
constexpr size_t kSamplesEach = 3;

// Returns paths without ending.
std::vector<std::string> samples_in(const std::string& folder, const std::string& ops) {
  std::map<std::string, std::vector<std::string>> by_kind;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string op = entry.path().parent_path().filename().string(),
                      name = entry.path().stem().string();
    if (entry.path().extension() != ".case" || op.find(ops) == std::string::npos) continue;
    if (!fs::exists(entry.path().parent_path() / (name + ".pt2"))) continue;
    const std::string dtype = name.substr(0, name.find('_'));
    const bool is_tried =
        dtype == "float32" || dtype == "float16" || dtype == "int8" || dtype == "uint8" || dtype == "int64";
    if (is_tried) by_kind[op + "/" + dtype].push_back((entry.path().parent_path() / name).string());
  }
  std::vector<std::string> out;
  for (auto& [kind, paths] : by_kind) {
    std::sort(paths.begin(), paths.end());
    const size_t each = kind.ends_with("/float32") ? kSamplesEach : 1;
    for (size_t i = 0; i < std::min(each, paths.size()); ++i)
      out.push_back(paths[each == 1 ? 0
                                    : i * (paths.size() - 1) /
                                          (std::min(each, paths.size()) - (paths.size() > 1 ? 1 : 0))]);
  }
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Models with an op whose name contains `ops`.
std::vector<std::string> models_in(const std::string& folder, const std::string& ops) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string stem = (entry.path().parent_path() / entry.path().stem()).string();
    if (entry.path().extension() != ".pt2" || !fs::exists(stem + ".out.0.npy")) continue;
    const std::set<std::string> named = ops_of_program(stem + ".pt2");
    if (std::any_of(named.begin(), named.end(),
                    [&](const std::string& op) { return op.find(ops) != op.npos; }))
      out.push_back(stem);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Writes a file with the samples that are right with the unchanged plugin.
Status write_samples(const Target& target, const JudgeInputs& inputs, const std::string& samples,
                     const std::string& path) {
  const std::string tried = inputs.folder + "/tried.txt";
  std::vector<std::string> all;
  for (const char* folder : {"zoo", "archives"})
    for (std::string& model : models_in(inputs.root + "/tests/fixtures/" + folder, target.sample_ops))
      all.push_back(std::move(model));
  if (!target.has_kernels)
    for (std::string& one :
         samples_in(samples.empty() ? inputs.root + "/tests/opinfo/programs" : samples, target.sample_ops))
      all.push_back(std::move(one));
  std::ofstream file(tried);
  for (const std::string& one : all) file << one << '\n';
  file.close();
  const RunResult run =
      run_limited({inputs.programs + "/program_samples", "--list", tried, "--backend", target.backend,
                   "--plugins", inputs.plugin_folder, "--write-delegated", path + ".part"},
                  {.seconds = 3600, .cpu_seconds = 3600, .folder = inputs.folder});
  if (run.exit < 0 || !fs::exists(path + ".part"))
    return make_error(Code::INVALID_DATA, "program_samples: " + run.end() + ": " + run.output);
  fs::rename(path + ".part", path);
  return {};
}

}  // namespace

std::string sample_list_path(const Target& target, const std::string& work) {
  return work + "/samples_" + target.name + ".txt";
}

Result<std::vector<Sample>> list_samples(const Target& target, const JudgeInputs& inputs,
                                         const std::string& samples, const std::string& work) {
  const std::string path = sample_list_path(target, work);
  if (!fs::exists(path)) ETB_TRY(write_samples(target, inputs, samples, path));
  std::vector<Sample> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) out.push_back({line, ops_of_program(line + ".pt2")});
  return out;
}

}  // namespace etb::mutation
