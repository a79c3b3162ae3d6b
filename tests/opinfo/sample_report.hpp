// SPDX-License-Identifier: Apache-2.0
// Verdicts on PyTorch's samples: the list of those that are expected to be other than right, a page and a printed report.
#pragma once

#include <string>
#include <vector>

namespace etb::tests {

// The result of one sample; kinds as in program_samples.cpp.
struct Verdict {
  std::string kind = "crash", detail;
  bool is_delegated = false;  // the program calls a plugin
};

// "add/float32_10_method": operator, dtype of the sample, number, variant.
struct Sample {
  std::string path, op, dtype;
  Verdict verdict;

  std::string name() const { return op + path.substr(path.find_last_of('/')); }
};

// A row of the file of expected verdicts: "path verdict reason". "xnnpack:verdict" is a row for that backend only.
struct Excuse {
  std::string path, verdict, reason;
  bool is_pattern = false;  // all paths that begin so

  bool covers(const std::string& name) const { return is_pattern ? name.starts_with(path) : name == path; }
};

std::vector<Excuse> read_excuses(const std::string& path, const std::string& backend);

// Returns a page in Markdown: totals by family, and operator by dtype. `backend` is empty for portable kernels.
std::string make_page(const std::string& backend, const std::vector<Excuse>& excuses,
                      const std::vector<Sample>& samples);

// Prints the samples that are not as expected, and totals; writes each verdict to `tsv` unless it is empty.
// Returns the number of samples that are not as expected.
int report(const std::vector<Excuse>& excuses, const std::vector<Sample>& samples, const std::string& tsv);

}  // namespace etb::tests
