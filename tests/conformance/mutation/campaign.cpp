// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/mutation/campaign.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/conformance/mutation/outcomes.hpp"
#include "tests/conformance/mutation/sample_list.hpp"
#include "tests/conformance/mutation/target_run.hpp"

namespace etb::mutation {
namespace {

namespace fs = std::filesystem;

struct Shard {
  uint64_t index = 0, count = 1;
};
Result<Shard> parse_shard(const std::string& text) {
  if (text.empty()) return Shard{};
  unsigned long long index = 0, count = 0;
  if (std::sscanf(text.c_str(), "%llu/%llu", &index, &count) != 2 || index < 1 || index > count)
    return make_error(Code::INVALID_ARGUMENT,
                      "shard '" + text + "', expected a number and how many there are: 2/8");
  return Shard{index - 1, count};
}

// The order by hash makes a longer sample contain a shorter one of the same seed.
std::vector<Mutant> choose(std::vector<Mutant> all, const std::string& seed, size_t sample,
                           const Shard& shard) {
  const auto rank = [&](const Mutant& mutant) { return hash_of(seed + mutant.id); };
  std::sort(all.begin(), all.end(), [&](const Mutant& a, const Mutant& b) { return rank(a) < rank(b); });
  if (sample != 0 && all.size() > sample) all.resize(sample);
  std::vector<Mutant> out;
  for (size_t i = 0; i < all.size(); ++i)
    if (i % shard.count == shard.index) out.push_back(std::move(all[i]));
  return out;
}

size_t sample_of(const CampaignOptions& options, const Target& target) {
  const auto named = options.targets.find(target.name);
  return named == options.targets.end() || named->second == 0 ? options.sample : named->second;
}

void print(const MutantOutcome& one) {
  const char* const verdict = one.build == Build::kFails  ? "does not compile"
                              : one.build == Build::kSame ? "same code"
                              : one.is_survivor()         ? "SURVIVES"
                              : one.is_noticed_by_cert    ? "noticed"
                                                          : "not noticed";
  std::printf("%s %s:%u %s: %s\n%s", one.mutant.id.c_str(), one.mutant.file.c_str(), one.mutant.line,
              one.mutant.group.c_str(), verdict, one.is_survivor() ? one.diff.c_str() : "");
  if (one.is_survivor()) std::printf("  oracle: %s\n", one.by_oracle.c_str());
  std::printf("  seconds of a processor: compile %.1f, link %.1f, oracle %.1f, cert %.1f\n",
              one.seconds.compile, one.seconds.link, one.seconds.oracle, one.seconds.cert);
  std::fflush(stdout);
}

std::vector<MutantOutcome> outcomes_of_file(const std::map<std::string, MutantOutcome>& outcomes,
                                            const std::string& file) {
  std::vector<MutantOutcome> out;
  for (const auto& [id, one] : outcomes)
    if (one.mutant.file == file) out.push_back(one);
  return out;
}

Status run_target(const CampaignOptions& options, const BuildTree& tree, const Target& target,
                  const Shard& shard, size_t& out_possible) {
  const std::string file = options.work + "/outcomes.jsonl";
  std::map<std::string, MutantOutcome> done = read_outcomes(file);
  TargetRun run(options, tree, target);
  const std::vector<Mutant> all = run.list();
  out_possible = all.size();
  bool is_prepared = false;
  for (const Mutant& mutant : choose(all, options.seed, sample_of(options, target), shard)) {
    if (options.list) {
      std::printf("%s %s %s:%u %s\n", mutant.id.c_str(), target.name.c_str(), mutant.file.c_str(),
                  mutant.line, mutant.group.c_str());
      continue;
    }
    const auto before = done.find(mutant.id);
    const bool is_wanted =
        options.only_survivors ? before != done.end() && before->second.is_survivor() : before == done.end();
    if (!is_wanted) continue;
    if (!is_prepared) ETB_TRY(run.prepare());
    is_prepared = true;
    const MutantOutcome outcome = options.only_survivors
                                      ? run.judge_again(mutant, before->second)
                                      : run.judge(mutant, outcomes_of_file(done, mutant.file));
    append_outcome(file, outcome);
    print(outcome);
    done[mutant.id] = outcome;
  }
  return {};
}

std::string command_of(const CampaignOptions& options) {
  std::string out = "build/dev/bin/mutation_test --root . --build build/dev --work WORK";
  for (const auto& [name, sample] : options.targets)
    out += " --target " + name + (sample == 0 ? "" : fmt::format(":{}", sample));
  if (options.sample != 0) out += fmt::format(" --sample {}", options.sample);
  return out + " --seed " + options.seed + (options.samples.empty() ? "" : " --samples SAMPLES");
}

// Prints the score of all outcomes and returns it in percent; -1 if the oracle noticed nothing.
double print_score(const std::map<std::string, MutantOutcome>& outcomes) {
  size_t noticed = 0, by_both = 0;
  for (const auto& [id, one] : outcomes) {
    if (one.build != Build::kRuns || !one.is_noticed_by_oracle) continue;
    ++noticed;
    by_both += one.is_noticed_by_cert;
  }
  std::printf("cert notices %zu of %zu mutants that the oracle notices\n", by_both, noticed);
  return noticed == 0 ? -1 : 100.0 * static_cast<double>(by_both) / static_cast<double>(noticed);
}

// Removes the files that a run keeps for the next one.
void remove_work(const std::string& work) {
  fs::remove(work + "/outcomes.jsonl");
  fs::remove_all(work + "/originals");
  for (const Target& target : all_targets()) fs::remove(sample_list_path(target, work));
}

}  // namespace

Result<bool> run_campaign(const CampaignOptions& given) {
  CampaignOptions options = given;
  fs::create_directories(options.work);
  options.work = fs::canonical(options.work).string();
  options.programs =
      fs::canonical(options.programs.empty() ? options.build + "/bin" : options.programs).string();
  if (options.fresh) remove_work(options.work);
  ETB_ASSIGN(const BuildTree tree, BuildTree::open(options.root, options.build));
  ETB_ASSIGN(const Shard shard, parse_shard(options.shard));
  PageInput page;
  for (const Target& target : all_targets()) {
    if (!options.targets.empty() && options.targets.count(target.name) == 0) continue;
    ETB_TRY(run_target(options, tree, target, shard, page.possible[target.name]));
  }
  if (options.list) return true;
  page.now = read_outcomes(options.work + "/outcomes.jsonl");
  if (!options.before.empty()) page.before = read_outcomes(options.before);
  page.reasons = read_reasons(options.reasons);
  page.command = command_of(options);
  if (!options.page.empty()) std::ofstream(options.page) << make_page(page);
  return print_score(page.now) >= options.expected_score;
}

}  // namespace etb::mutation
