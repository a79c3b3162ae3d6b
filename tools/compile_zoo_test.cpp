// SPDX-License-Identifier: Apache-2.0
// Tests every model of tests/fixtures/zoo and archives: compiles and runs it, and compares with PyTorch's own
// results. The operators that plugins for GPUs leave outside must be those of tests/fixtures/gpu_outside.tsv, which
//
//   ETB_REBASE=1 build/dev/bin/compile_zoo_test
//
// rewrites.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/run/npy.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

namespace fs = std::filesystem;

const fs::path kFixtures = fs::path(ETB_SOURCE_DIR) / "tests/fixtures";

// Names include the folder: "zoo/mlp". Models without a result are for tests that do not run them.
std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const char* folder : {"zoo", "archives"}) {
    for (const auto& entry : fs::directory_iterator(kFixtures / folder)) {
      const fs::path stem = fs::path(folder) / entry.path().stem();
      if (entry.path().extension() == ".pt2" && fs::exists(kFixtures / (stem.string() + ".out.0.npy")))
        names.push_back(stem);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

template <class T>
void append(const Array& array, std::vector<double>& out) {
  for (size_t i = 0; i + sizeof(T) <= array.bytes.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, array.bytes.data() + i, sizeof(T));
    out.push_back(static_cast<double>(value));
  }
}
std::vector<double> numbers(const Array& array) {
  std::vector<double> out;
  switch (array.dtype) {
    case host::Dtype::FLOAT32:
    case host::Dtype::COMPLEX64:
      append<float>(array, out);
      break;
    case host::Dtype::INT64:
      append<int64_t>(array, out);
      break;
    case host::Dtype::INT32:
      append<int32_t>(array, out);
      break;
    case host::Dtype::BOOL:
    case host::Dtype::UINT8:
      append<uint8_t>(array, out);
      break;
    default:
      ADD_FAILURE() << "a dtype that this test does not read";
  }
  return out;
}

// Returns the path of an array, the text of a number, true, false or none, or "" when there is no such input.
std::string input_text(const std::string& input) {
  if (fs::exists(kFixtures / (input + ".npy"))) return kFixtures / (input + ".npy");
  std::ifstream file(kFixtures / (input + ".txt"));
  std::string text;
  std::getline(file, text);
  return text;
}

// Rows of gpu_outside.tsv: model, payload format, regions, nodes inside, and operators outside with their numbers.
class OutsideTable {
 public:
  OutsideTable() {
    std::ifstream file(kPath);
    std::getline(file, header_);
    for (std::string line; std::getline(file, line);) rows_[line.substr(0, end_of_key(line))] = line;
  }
  // Compares a row of a compilation's report with the table, or replaces it.
  void check(const std::string& model, const std::string& format, const fs::path& report_path) {
    std::ifstream file(report_path);
    const auto report = nlohmann::json::parse(file);
    std::string row = model + '\t' + format + '\t' +
                      std::to_string(report["delegated_subgraphs"].get<uint64_t>()) + '\t' +
                      std::to_string(report["delegated_nodes"].get<uint64_t>()) + '\t';
    std::map<std::string, uint64_t> outside;
    for (const auto& op : report["ops"])
      if (const auto count = op["not_delegated"].get<uint64_t>(); count != 0) outside[op["op"]] += count;
    const char* separator = "";
    for (const auto& [op, count] : outside) {
      row += separator + std::to_string(count) + ' ' + op;
      separator = ", ";
    }
    const std::string key = row.substr(0, end_of_key(row));
    if (std::getenv("ETB_REBASE") != nullptr) replace(key, row);
    EXPECT_EQ(rows_[key], row) << "ETB_REBASE=1 build/dev/bin/compile_zoo_test rewrites " << kPath;
  }
  size_t size() const { return rows_.size(); }

 private:
  static size_t end_of_key(const std::string& row) { return row.find('\t', row.find('\t') + 1); }
  void replace(const std::string& key, const std::string& row) {
    rows_[key] = row;
    std::ofstream file(kPath);
    file << header_ << '\n';
    for (const auto& each : rows_) file << each.second << '\n';
  }

  static inline const fs::path kPath = kFixtures / "gpu_outside.tsv";
  std::string header_;
  std::map<std::string, std::string> rows_;  // by model and format
};

class Zoo : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { fs::create_directories(dir_); }
  void TearDown() override { fs::remove_all(dir_); }
  // `tolerance` allows for sums in another order, at the output's scale. The official programs differ by up to 1e-6 on
  // the same models.
  void run_and_compare(const std::string& name, const std::string& program, double tolerance) {
    std::vector<std::string> args = {"--plugin-path", ETB_PLUGIN_DIR, "run",
                                     program,         "--output-dir", dir_ / "out"};
    for (int i = 0;; ++i) {
      const std::string input = input_text(name + ".in." + std::to_string(i));
      if (input.empty()) break;
      args.insert(args.end(), {"--input", input});
    }
    const CliRun ran = cli(args);
    ASSERT_EQ(ran.exit, 0) << ran.err;
    int count = 0;
    for (; fs::exists(kFixtures / (name + ".out." + std::to_string(count) + ".npy")); ++count) {
      const std::string index = std::to_string(count) + ".npy";
      const auto got = read_npy(dir_ / "out" / index),
                 wanted = read_npy(kFixtures / (name + ".out." + index));
      ASSERT_TRUE(got && wanted);
      EXPECT_EQ(got->sizes, wanted->sizes);
      EXPECT_EQ(got->dtype, wanted->dtype);
      const std::vector<double> x = numbers(*got), y = numbers(*wanted);
      ASSERT_EQ(x.size(), y.size());
      double scale = 1, worst = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        scale = std::max(scale, std::abs(y[i]));
        worst = std::max(worst, std::isnan(x[i]) ? INFINITY : std::abs(x[i] - y[i]));
      }
      EXPECT_LE(worst, tolerance * scale) << "output " << count;
    }
    EXPECT_GT(count, 0);
  }
  // Compiles with a plugin; the portable kernels take the other nodes.
  // `format`: of the rows of gpu_outside.tsv; "": the table has none.
  void compile_run_and_compare(const std::string& plugin, double tolerance, std::string delegate_id = "",
                               const std::string& format = "") {
    const std::string plugins = ETB_PLUGIN_DIR;
    if (!fs::exists(fs::path(plugins) / (plugin + ".json"))) GTEST_SKIP() << plugin << " is not built";
    if (delegate_id.empty()) delegate_id = plugin;
    const std::string name = GetParam(), program = dir_ / "model.pte", report = dir_ / "report.json";
    const CliRun compiled = cli({"--plugin-path", plugins, "compile", kFixtures / (name + ".pt2"), "-b",
                                 delegate_id, "-o", program, "--report-json", report});
    ASSERT_EQ(compiled.exit, 0) << compiled.err;
    if (!format.empty()) OutsideTable().check(name, format, report);
    run_and_compare(name, program, tolerance);
  }
  fs::path dir_ = fs::temp_directory_path() / ("etb_zoo_" + std::to_string(::getpid()));
};

TEST_P(Zoo, GivesPyTorchsNumbers) {
  const std::string name = GetParam(), program = dir_ / "model.pte";
  const CliRun compiled = cli({"compile", kFixtures / (name + ".pt2"), "-o", program, "--json"});
  ASSERT_EQ(compiled.exit, 0) << compiled.err;
  const auto method = nlohmann::json::parse(compiled.out)["methods"][0];
  const auto arena = method["arena_nbytes"].get<uint64_t>(),
             bound = method["arena_lower_bound_nbytes"].get<uint64_t>();
  EXPECT_LE(static_cast<double>(arena), 1.02 * static_cast<double>(bound));
  run_and_compare(name, program, 1e-5);
}

// The rounded numbers of quantised networks may differ by a step of int8.
TEST_P(Zoo, GivesPyTorchsNumbersWithXnnpack) {
  const std::string name = GetParam();
  const bool is_quantised = name.find("q8") != name.npos || name.find("8da4w") != name.npos;
  compile_run_and_compare("xnnpack", is_quantised ? 1e-2 : 2e-5);
}

// Both plugins for GPUs take the same nodes.
TEST_P(Zoo, GivesPyTorchsNumbersWithOpencl) {
  if (!fs::exists("/etc/OpenCL/vendors")) GTEST_SKIP() << "no OpenCL driver";
  compile_run_and_compare("opencl", 2e-5, "EtbOpenclBackend", "own");
}

bool has_vulkan_driver() {
  std::error_code failed;
  return fs::directory_iterator("/usr/share/vulkan/icd.d", failed) != fs::directory_iterator();
}

TEST_P(Zoo, GivesPyTorchsNumbersWithVulkan) {
  if (!has_vulkan_driver()) GTEST_SKIP() << "no Vulkan driver";
  compile_run_and_compare("vulkan", 2e-5, "EtbVulkanBackend", "own");
}

// The payloads that ExecuTorch's own Vulkan runtime executes, run by the reader of official payloads.
TEST_P(Zoo, GivesPyTorchsNumbersWithOfficialVulkanPayloads) {
  if (!has_vulkan_driver()) GTEST_SKIP() << "no Vulkan driver";
  compile_run_and_compare("vulkan", 2e-5, "VulkanBackend", "official");
}

INSTANTIATE_TEST_SUITE_P(Models, Zoo, testing::ValuesIn(model_names()), [](const auto& each) {
  std::string name = each.param;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
});

TEST(ZooFixtures, AreAllThere) { EXPECT_GE(model_names().size(), 58u); }

// A model that is no longer there leaves no row.
TEST(ZooFixtures, HaveTwoRowsEach) { EXPECT_EQ(OutsideTable().size(), 2 * model_names().size()); }

}  // namespace
}  // namespace etb::tools
