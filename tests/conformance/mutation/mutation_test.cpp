// SPDX-License-Identifier: Apache-2.0
// Measures the conformance suite with machine mutants of plugins (docs/writing_checks.md).
//
//   mutation_test --root DIR --build DIR --work DIR [--target NAME[:N]]... [--sample N] [--seed S] [--shard I/N] [--samples DIR] [--programs DIR] [--list] [--fresh]
//                 [--file TEXT] [--only-survivors] [--all-cert] [--page FILE] [--before FILE] [--reasons FILE] [--expect-score PERCENT]
//
// --sample N takes N mutants of each target that the seed selects (0: all); --target NAME:N takes N of this one. Outcomes are lines of WORK/outcomes.jsonl; a run goes on
// where the last one stopped. --samples: a folder of export_samples.py; without it, the samples of the repository. --only-survivors
// asks cert again about mutants that survived. --all-cert: asks cert also about mutants that the oracle does not notice.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/conformance/mutation/campaign.hpp"

namespace etb::mutation {
namespace {

bool parse(int argc, char** argv, CampaignOptions& options) {
  const std::map<std::string, std::string*> texts = {
      {"--root", &options.root},       {"--programs", &options.programs}, {"--build", &options.build},
      {"--work", &options.work},       {"--samples", &options.samples},   {"--seed", &options.seed},
      {"--page", &options.page},       {"--before", &options.before},     {"--file", &options.file},
      {"--reasons", &options.reasons}, {"--shard", &options.shard}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--list") {
      options.list = true;
    } else if (word == "--fresh") {
      options.fresh = true;
    } else if (word == "--only-survivors") {
      options.only_survivors = true;
    } else if (word == "--all-cert") {
      options.all_cert = true;
    } else if (++i == argc) {
      return false;
    } else if (word == "--target") {
      const std::string name = argv[i];
      const size_t colon = std::min(name.find(':'), name.size());
      options.targets[name.substr(0, colon)] =
          colon == name.size() ? 0 : static_cast<size_t>(std::atoll(name.c_str() + colon + 1));
    } else if (word == "--sample") {
      options.sample = static_cast<size_t>(std::atoll(argv[i]));
    } else if (word == "--expect-score") {
      options.expected_score = std::atof(argv[i]);
    } else if (const auto text = texts.find(word); text != texts.end()) {
      *text->second = argv[i];
    } else {
      return false;
    }
  }
  for (const auto& [name, sample] : options.targets)
    if (find_target(name) == nullptr) return false;
  return !options.root.empty() && !options.build.empty() && !options.work.empty();
}

}  // namespace
}  // namespace etb::mutation

int main(int argc, char** argv) {
  etb::mutation::CampaignOptions options;
  if (!etb::mutation::parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: mutation_test --root DIR --build DIR --work DIR [options]; see mutation_test.cpp\n");
    return 2;
  }
  const etb::Result<bool> passed = etb::mutation::run_campaign(options);
  if (!passed) std::fprintf(stderr, "mutation_test: %s\n", passed.error().message.c_str());
  return passed ? (*passed ? 0 : 1) : 2;
}
