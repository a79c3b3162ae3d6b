// SPDX-License-Identifier: Apache-2.0
// Runs case files through the portable kernels, once for each CPU feature level that this CPU supports, and
// compares with PyTorch's results.
//
//   kernel_cases DIR... [--op TEXT] [--verbose] [--docs FILE] [--check-docs FILE] [--best-cpu] [--fail-fast] [--as-backend] [--first OPS]
//
// Exit code 0 if every case of every file passes. --docs writes the table of ops, dtypes and cases.
// --best-cpu runs only the variant for the best CPU. --fail-fast ends at the first case that fails. --as-backend
// runs only what the portable backend claims: no complex numbers, no sizes that depend on elements. --first runs
// the files of these ops before all others: "amax,mean".
// --check-docs fails if the table in FILE differs from the output of --docs.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "host/kernels/portable.hpp"
#include "host/portable_backend/portable_backend.hpp"
#include "tests/opinfo/case_file.hpp"

namespace etb::tests {
namespace {

struct Options {
  std::vector<std::string> directories;
  std::string op, docs, check_docs;
  std::set<std::string> first;
  bool is_verbose = false, best_cpu = false, fail_fast = false, as_backend = false;
};

struct Score {
  int passed = 0, total = 0;
};

// op -> dtype of the first tensor -> score
using Coverage = std::map<std::string, std::map<std::string, Score>>;

bool has_sizes_of(const host::Tensor& a, const host::Tensor& b) {
  return std::equal(a.sizes().begin(), a.sizes().end(), b.sizes().begin(), b.sizes().end());
}

// Returns "" if the case passes.
std::string run_case(const host::KernelRegistry& registry, const std::string& op, Case& one) {
  const size_t dot = op.find('.');
  const host::Kernel* kernel =
      registry.find(op.substr(0, dot), dot == std::string::npos ? "" : op.substr(dot + 1), one.args.data(),
                    one.args.size());
  if (kernel == nullptr) return "no kernel";
  static std::vector<std::byte> scratch(16 << 20);
  etb_error error = ETB_ERROR_INIT;
  host::KernelContext context(scratch, registry.vector_table(), &error);
  std::vector<std::vector<uint8_t>> before;
  for (const OwnedTensor* input : one.inputs) before.push_back(input->bytes());
  const etb_status status = call_kernel(context, *kernel, one.args.data(), one.args.size());
  if (status != ETB_OK) return "status " + std::to_string(status) + " " + error.text;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] != one.inputs[i]->bytes()) return "input tensor " + std::to_string(i) + " was changed";
  }
  for (size_t i = 0; i < one.outputs.size(); ++i) {
    Case::Output& output = one.outputs[i];
    if (output.is_open && has_sizes_of(*output.actual, *output.expected)) continue;
    const std::string difference = compare(op, one, *output.actual, *output.expected);
    if (!difference.empty()) return "output " + std::to_string(i) + ": " + difference;
  }
  return {};
}

// True for calls that the portable backend claims (is_left_out in host/portable_backend).
bool is_of_backend(const std::string& op, const Case& one) {
  if (!host::is_op_of_payloads(op)) return false;
  for (const Case::Output& output : one.outputs)
    if (host::is_complex(output.expected->dtype())) return false;
  return std::none_of(one.input_dtypes.begin(), one.input_dtypes.end(), host::is_complex);
}

std::string dtype_of(const Case& one) {
  if (!one.input_dtypes.empty()) return host::to_text(one.input_dtypes.front());
  return one.outputs.empty() ? "-" : host::to_text(one.outputs.front().expected->dtype());
}

// "amax" for "aten__amax.out.cases".
std::string op_of_file(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  const size_t begin = stem.find("__");
  if (begin == std::string::npos) return stem;
  return stem.substr(begin + 2, stem.find('.', begin) - begin - 2);
}

std::vector<std::string> list_files(const Options& options) {
  std::vector<std::string> files;
  for (const std::string& directory : options.directories) {
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() == ".cases" && name.find(options.op) != std::string::npos)
        files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  std::stable_partition(files.begin(), files.end(),
                        [&](const std::string& path) { return options.first.count(op_of_file(path)) != 0; });
  return files;
}

// Runs every file against one registry and returns the number of failed cases. `out_missing` receives files
// without a kernel.
int run_files(const Options& options, const host::KernelRegistry& registry, Coverage& coverage,
              std::set<std::string>& out_missing) {
  int failed = 0;
  for (const std::string& path : list_files(options)) {
    auto file = read_case_file(path);
    if (!file) {
      std::printf("%s\n", file.error().message.c_str());
      ++failed;
      continue;
    }
    const size_t dot = file->op.find('.');
    if (!registry.has_op(file->op.substr(0, dot), dot == std::string::npos ? "" : file->op.substr(dot + 1))) {
      out_missing.insert(file->op);
      continue;
    }
    int failed_here = 0;
    for (size_t i = 0; i < file->cases.size(); ++i) {
      Case& one = file->cases[i];
      if (options.as_backend && !is_of_backend(file->op, one)) continue;
      const std::string why = run_case(registry, file->op, one);
      Score& score = coverage[file->op][dtype_of(one)];
      ++score.total;
      score.passed += why.empty();
      if (why.empty()) continue;
      ++failed;
      if (++failed_here <= (options.is_verbose ? 1000 : 3)) {
        std::printf("FAIL %s case %zu (%s, %s, %s): %s\n", file->op.c_str(), i, one.source.c_str(),
                    dtype_of(one).c_str(), registry.vector_table()->name, why.c_str());
      }
      if (options.fail_fast) return failed;
    }
    if (failed_here > 0)
      std::printf("FAIL %s: %d of %zu cases\n", file->op.c_str(), failed_here, file->cases.size());
  }
  return failed;
}

Score score_of(const std::map<std::string, Score>& dtypes, const char* dtype) {
  const auto found = dtypes.find(dtype);
  return found == dtypes.end() ? Score() : found->second;
}

std::string cell_text(const Score& score) {
  if (score.total == 0) return " |";
  return " " + std::to_string(score.passed) + "/" + std::to_string(score.total) + " |";
}

std::string make_docs(const Coverage& coverage, const host::KernelRegistry& registry,
                      const std::set<std::string>& missing) {
  constexpr const char* kDtypes[] = {"float32", "float64", "float16", "bfloat16", "int64",
                                     "int32",   "int16",   "int8",    "uint8",    "bool"};
  std::string text =
      "# Portable kernels\n\nWritten by `kernel_cases tests/opinfo/cases --docs docs/kernels.md`; a test "
      "fails when it is out of date.\n"
      "Cells are cases passed of cases run, by the dtype of the first tensor; the cases are PyTorch's own "
      "samples\n"
      "(tests/opinfo/make_cases.py) and those of extra_*.py. Empty means that PyTorch gives no result for "
      "the "
      "dtype.\n\n| kernel |";
  std::string line = "\n|---|";
  for (const char* dtype : kDtypes) text += std::string(" ") + dtype + " |", line += "---|";
  text += " other |", line += "---|";
  text += line + "\n";
  Score all;
  int kernel_count = 0;
  std::set<std::string> names;
  registry.for_each([&](const host::Kernel& kernel) { names.insert(kernel.name); });
  for (const std::string& name : names) {
    ++kernel_count;
    text += "| " + name + " |";
    const auto found = coverage.find(name);
    Score other;  // all dtypes without a column
    if (found != coverage.end()) {
      for (const auto& [dtype, score] : found->second) {
        all.passed += score.passed, all.total += score.total;
        other.passed += score.passed, other.total += score.total;
      }
    }
    for (const char* dtype : kDtypes) {
      const Score score = found == coverage.end() ? Score() : score_of(found->second, dtype);
      other.passed -= score.passed, other.total -= score.total;
      text += cell_text(score);
    }
    text += cell_text(other) + "\n";
  }
  text += "\n" + std::to_string(kernel_count) + " kernels, " + std::to_string(all.passed) + " of " +
          std::to_string(all.total) + " cases pass.\n";
  if (!missing.empty()) {
    text += "\nCases without a kernel:";
    for (const std::string& name : missing) text += " " + name;
    text += "\n";
  }
  return text;
}

std::set<std::string> split_names(const std::string& text) {
  std::set<std::string> names;
  std::istringstream words(text);
  for (std::string name; std::getline(words, name, ',');) names.insert(name);
  return names;
}

bool parse_options(int argc, char** argv, Options& out_options) {
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    const auto value = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string(); };
    if (text == "--op") {
      out_options.op = value();
    } else if (text == "--first") {
      out_options.first = split_names(value());
    } else if (text == "--docs") {
      out_options.docs = value();
    } else if (text == "--check-docs") {
      out_options.check_docs = value();
    } else if (text == "--best-cpu") {
      out_options.best_cpu = true;
    } else if (text == "--as-backend") {
      out_options.as_backend = true;
    } else if (text == "--fail-fast") {
      out_options.fail_fast = true;
    } else if (text == "--verbose") {
      out_options.is_verbose = true;
    } else if (text.starts_with("--")) {
      return false;
    } else {
      out_options.directories.push_back(text);
    }
  }
  return !out_options.directories.empty();
}

int run(const Options& options) {
  const host::CpuFeatures features = host::detect_cpu_features();
  std::vector<host::CpuFeatures> variants = {{}};
  if (features.has_avx2) variants.push_back({true, false});
  if (features.has_avx512) variants.push_back({true, true});
  if (options.best_cpu) variants.erase(variants.begin(), variants.end() - 1);
  int failed = 0;
  Coverage coverage;
  std::set<std::string> missing;
  std::string docs;
  for (const host::CpuFeatures& variant : variants) {
    host::KernelRegistry registry;
    if (add_portable_kernels(registry, variant) != ETB_OK) {
      std::printf("the portable kernels hold a duplicate\n");
      return 2;
    }
    coverage.clear();
    const int failed_here = run_files(options, registry, coverage, missing);
    Score all;
    for (const auto& [op, dtypes] : coverage) {
      for (const auto& [dtype, score] : dtypes) all.passed += score.passed, all.total += score.total;
    }
    std::printf("%s: %d of %d cases of %zu ops pass\n", registry.vector_table()->name, all.passed, all.total,
                coverage.size());
    failed += failed_here;
    docs = make_docs(coverage, registry, missing);
  }
  if (!missing.empty()) {
    std::printf("%zu case files without a kernel:", missing.size());
    for (const std::string& name : missing) std::printf(" %s", name.c_str());
    std::printf("\n");
  }
  if (!options.docs.empty()) std::ofstream(options.docs) << docs;
  if (!options.check_docs.empty()) {
    std::ifstream stream(options.check_docs);
    const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    if (text != docs) {
      std::printf("%s is out of date: run this program with --docs\n", options.check_docs.c_str());
      return 1;
    }
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace etb::tests

int main(int argc, char** argv) {
  etb::tests::Options options;
  if (!etb::tests::parse_options(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: kernel_cases DIR... [--op TEXT] [--verbose] [--docs FILE] [--check-docs FILE]\n");
    return 64;
  }
  return etb::tests::run(options);
}
