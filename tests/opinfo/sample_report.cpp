// SPDX-License-Identifier: Apache-2.0
#include "tests/opinfo/sample_report.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

namespace etb::tests {
namespace {

struct Score {
  int right = 0, total = 0, delegated = 0;

  void add(const Verdict& verdict) {
    ++total;
    right += verdict.kind == "right";
    delegated += verdict.is_delegated;
  }
};

// The row for a sample that is not right; null if there is none.
const Excuse* find_excuse(const std::vector<Excuse>& excuses, const Sample& sample) {
  for (const Excuse& row : excuses)
    if (row.covers(sample.name()) && row.verdict == sample.verdict.kind) return &row;
  return nullptr;
}

std::string family_of(const std::string& op) {
  if (op.ends_with("_in_place")) return "in place";
  if (op.starts_with("__")) return "Python's operators";
  for (const char* prefix : {"nn_functional", "linalg", "special", "masked", "fft", "signal"})
    if (op.starts_with(prefix)) return prefix;
  return "tensors";
}

std::string cell(const Score& score) {
  return " " + std::to_string(score.right) + "/" + std::to_string(score.total) + " |";
}

std::string family_table(bool has_backend, const std::vector<Sample>& samples) {
  std::map<std::string, Score> families;
  for (const Sample& sample : samples) families[family_of(sample.op)].add(sample.verdict);
  std::string text =
      has_backend ? "| family | right | delegated |\n|---|---|---|\n" : "| family | right |\n|---|---|\n";
  for (const auto& [family, score] : families) {
    text += "| " + family + " |" + cell(score);
    if (has_backend) text += " " + std::to_string(score.delegated) + " |";
    text += "\n";
  }
  return text;
}

std::string operator_table(bool has_backend, const std::vector<Sample>& samples) {
  constexpr const char* kDtypes[] = {"float32", "float64", "float16", "bfloat16", "int64",     "int32",
                                     "int16",   "int8",    "uint8",   "bool",     "complex64", "complex128"};
  std::map<std::string, std::map<std::string, Score>> scores;
  for (const Sample& sample : samples) scores[sample.op][sample.dtype].add(sample.verdict);
  std::string text = "| operator |", line = "\n|---|";
  if (has_backend) text += " delegated |", line += "---|";
  for (const char* dtype : kDtypes) text += std::string(" ") + dtype + " |", line += "---|";
  text += line + "\n";
  for (const auto& [op, dtypes] : scores) {
    text += "| " + op + " |";
    int delegated = 0;
    for (const auto& [dtype, score] : dtypes) delegated += score.delegated;
    if (has_backend) text += " " + std::to_string(delegated) + " |";
    for (const char* dtype : kDtypes) {
      const auto found = dtypes.find(dtype);
      text += found == dtypes.end() ? " |" : cell(found->second);
    }
    text += "\n";
  }
  return text;
}

// The samples that are not right for a reason outside of the compiler.
std::string excused_table(const std::vector<Excuse>& excuses, const std::vector<Sample>& samples) {
  std::map<std::string, int> counts;
  for (const Sample& sample : samples)
    if (sample.verdict.kind != "right")
      if (const Excuse* row = find_excuse(excuses, sample)) ++counts[row->path + "\n" + row->reason];
  if (counts.empty()) return {};
  std::string text = "\n## Not right for a reason\n\n| samples | programs | reason |\n|---|---|---|\n";
  for (const auto& [key, count] : counts) {
    const size_t end = key.find('\n');
    text += "| " + key.substr(0, end) + " | " + std::to_string(count) + " | " + key.substr(end + 1) + " |\n";
  }
  return text;
}

// The others, each with what happened.
std::string failure_table(const std::vector<Excuse>& excuses, const std::vector<Sample>& samples) {
  std::string rows;
  for (const Sample& sample : samples) {
    if (sample.verdict.kind == "right" || find_excuse(excuses, sample) != nullptr) continue;
    std::string detail = sample.verdict.detail;
    std::replace(detail.begin(), detail.end(), '|', '/');
    rows += "| " + sample.name() + " | " + sample.verdict.kind + " | " + detail + " |\n";
  }
  if (rows.empty()) return {};
  return "\n## Not right\n\n| sample | verdict | what happened |\n|---|---|---|\n" + rows;
}

}  // namespace

std::vector<Excuse> read_excuses(const std::string& path, const std::string& backend) {
  std::vector<Excuse> rows;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Excuse row;
    words >> row.path >> row.verdict >> std::ws;
    std::getline(words, row.reason);
    if (const size_t colon = row.verdict.find(':'); colon != std::string::npos) {
      if (row.verdict.substr(0, colon) != backend) continue;
      row.verdict.erase(0, colon + 1);
    }
    row.is_pattern = row.path.ends_with('*');
    if (row.is_pattern) row.path.pop_back();
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string make_page(const std::string& backend, const std::vector<Excuse>& excuses,
                      const std::vector<Sample>& samples) {
  Score all;
  int excused = 0;
  std::map<std::string, int> ops;
  for (const Sample& sample : samples) {
    all.add(sample.verdict);
    ++ops[sample.op];
    excused += sample.verdict.kind != "right" && find_excuse(excuses, sample) != nullptr;
  }
  const bool has_backend = !backend.empty();
  std::string text = "# PyTorch's operator samples through the compiler" +
                     (has_backend ? ", with " + backend : std::string()) + "\n\n`program_samples DIR " +
                     (has_backend ? "--backend " + backend + " " : std::string()) +
                     "--docs FILE` writes this page after `export_samples.py DIR` "
                     "([contributing.md](contributing.md)).\nA cell has the programs that compile, run and "
                     "equal PyTorch's results, of all that torch.export wrote.\nSamples that torch.export "
                     "cannot write, and random results, are not counted.\n";
  if (has_backend)
    text += "\"delegated\" counts the programs of which " + backend +
            " runs a part; the rest of each runs on portable kernels.\n";
  text += "\n" + std::to_string(all.right) + " of " + std::to_string(all.total) + " programs of " +
          std::to_string(ops.size()) + " operators are right, compiled " +
          (has_backend ? "for " + backend + ", which runs a part of " + std::to_string(all.delegated)
                       : "for portable kernels") +
          ". " + std::to_string(excused) + " more have a reason, listed at the end.\n\n" +
          family_table(has_backend, samples) + "\n" + operator_table(has_backend, samples);
  return text + failure_table(excuses, samples) + excused_table(excuses, samples);
}

int report(const std::vector<Excuse>& excuses, const std::vector<Sample>& samples, const std::string& tsv) {
  const auto is_listed = [&](const Sample& sample) {
    return std::any_of(excuses.begin(), excuses.end(),
                       [&](const Excuse& row) { return !row.is_pattern && row.path == sample.name(); });
  };
  std::map<std::string, int> counts;
  int surprises = 0;
  std::ofstream file(tsv);
  for (const Sample& sample : samples) {
    const bool is_right = sample.verdict.kind == "right";
    const bool is_excused = !is_right && find_excuse(excuses, sample) != nullptr;
    ++counts[is_excused ? "excused" : sample.verdict.kind];
    file << sample.name() << "\t" << sample.verdict.kind << "\t" << sample.verdict.detail << "\n";
    if (is_right ? !is_listed(sample) : is_excused) continue;
    ++surprises;
    std::printf("%s: %s %s\n", sample.name().c_str(), sample.verdict.kind.c_str(),
                is_right ? "(listed as another verdict)" : sample.verdict.detail.c_str());
  }
  std::printf("%zu programs:", samples.size());
  for (const auto& [kind, count] : counts) std::printf(" %d %s", count, kind.c_str());
  std::printf("\n");
  return surprises;
}

}  // namespace etb::tests
