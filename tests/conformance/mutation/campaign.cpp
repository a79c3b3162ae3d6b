// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/mutation/campaign.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/conformance/mutation/build_tree.hpp"
#include "tests/conformance/mutation/judges.hpp"
#include "tests/conformance/mutation/outcomes.hpp"
#include "tests/conformance/mutation/sample_list.hpp"

namespace etb::mutation {
namespace {

namespace fs = std::filesystem;

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

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

// One plugin of the run, with what its mutants share.
class TargetRun {
 public:
  TargetRun(const CampaignOptions& options, const BuildTree& tree, const Target& target)
      : options_(options),
        tree_(tree),
        target_(target),
        folder_(options.work + "/" + target.name + "." + std::to_string(::getpid())) {
    fs::create_directories(folder_ + "/plugin");
    fs::create_directories(folder_ + "/private");
  }
  ~TargetRun() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  TargetRun(const TargetRun&) = delete;
  TargetRun& operator=(const TargetRun&) = delete;

  std::vector<Mutant> list() {
    std::vector<Mutant> out;
    for (const auto& [file, commands] : tree_.sources_of(target_)) {
      if (file.find(options_.file) == std::string::npos) continue;
      for (Mutant& mutant : find_mutants(file, Source(read_text(tree_.root() + "/" + file))))
        out.push_back(std::move(mutant));
    }
    return out;
  }

  // Finds commands and samples, and expects that the unchanged plugin passes the oracle; with --all-cert, also cert.
  Status prepare() {
    sources_ = tree_.sources_of(target_);
    ETB_ASSIGN(plugin_link_, tree_.link_command(target_.ninja_target, scratch()));
    if (target_.has_kernels) {
      ETB_ASSIGN(kernel_link_, tree_.link_command("kernel_cases", scratch()));
    }
    inputs_ = {.root = tree_.root(),
               .programs = options_.programs,
               .plugin_folder = fs::path(tree_.build() + "/" + target_.product).parent_path().string(),
               .kernel_program = target_.has_kernels ? options_.programs + "/kernel_cases" : "",
               .sample_list = "",
               .folder = scratch()};
    ETB_ASSIGN(inputs_.sample_list, make_sample_list(target_, inputs_, options_.samples, options_.work));
    if (const Notice notice = ask_oracle(target_, inputs_); notice.is_noticed)
      return make_error(Code::INVALID_DATA, "the oracle rejects the unchanged plugin: " + notice.by);
    if (options_.all_cert)
      if (const Notice notice = ask_cert(target_, inputs_, {}, false); notice.is_noticed)
        return make_error(Code::INVALID_DATA, "cert fails the unchanged plugin: " + notice.by);
    inputs_.plugin_folder = folder_ + "/plugin";
    return {};
  }

  MutantOutcome judge(const Mutant& mutant) {
    MutantOutcome out;
    const std::string text = read_text(tree_.root() + "/" + mutant.file);
    out.target = target_.name;
    out.mutant = mutant;
    out.diff = diff_of(mutant, text);
    std::vector<std::pair<std::string, std::string>> objects;
    out.build = compile(mutant, text, objects);
    if (out.build != Build::kRuns) return out;
    if (!tree_.link(plugin_link_, target_.product, inputs_.plugin_folder, objects).is_ok()) {
      out.build = Build::kFails;
      return out;
    }
    inputs_.kernel_program = link_kernels(mutant, objects);
    const Notice oracle = ask_oracle(target_, inputs_);
    out.is_noticed_by_oracle = oracle.is_noticed;
    out.by_oracle = oracle.by;
    ask_cert_about(out);
    return out;
  }

  // Asks cert again about a mutant that the oracle noticed.
  MutantOutcome judge_again(const Mutant& mutant, MutantOutcome before) {
    std::vector<std::pair<std::string, std::string>> objects;
    before.mutant = mutant;
    if (compile(mutant, read_text(tree_.root() + "/" + mutant.file), objects) != Build::kRuns ||
        !tree_.link(plugin_link_, target_.product, inputs_.plugin_folder, objects).is_ok())
      return before;
    ask_cert_about(before);
    return before;
  }

 private:
  // An empty private folder.
  std::string scratch() const {
    const std::string path = folder_ + "/private";
    fs::remove_all(path);
    fs::create_directories(path);
    return path;
  }

  void ask_cert_about(MutantOutcome& out) {
    inputs_.folder = scratch();
    const bool is_whole = out.is_noticed_by_oracle || options_.all_cert;
    const Notice cert = ask_cert(target_, inputs_, patterns_for(out.mutant.file, out.by_oracle), !is_whole);
    out.is_noticed_by_cert = cert.is_noticed;
    out.by_cert = cert.by;
    out.has_cert = cert.is_noticed || is_whole;
  }

  Build compile(const Mutant& mutant, const std::string& text,
                std::vector<std::pair<std::string, std::string>>& objects) {
    bool is_same = true;
    size_t variant = 0;
    const std::string folder = scratch();
    for (const CompileCommand& command : sources_.at(mutant.file)) {
      const std::string object = folder_ + "/mutant_" + std::to_string(variant++) + ".o";
      if (!tree_.compile(command, apply(mutant, text), folder, object).is_ok()) return Build::kFails;
      const std::string good = folder_ + "/good.o";
      std::string& original = originals_[command.object];
      if (original.empty()) {
        if (!tree_.compile(command, text, folder, good).is_ok()) return Build::kFails;
        original = read_text(good);
      }
      is_same &= read_text(object) == original;
      objects.push_back({command.object, object});
    }
    return is_same ? Build::kSame : Build::kRuns;
  }

  std::string link_kernels(const Mutant& mutant,
                           const std::vector<std::pair<std::string, std::string>>& objects) {
    if (!target_.has_kernels || !mutant.file.starts_with("host/kernels/")) return {};
    const std::string folder = folder_ + "/plugin";
    return tree_.link(kernel_link_, "bin/kernel_cases", folder, objects).is_ok() ? folder + "/kernel_cases"
                                                                                 : "";
  }

  const CampaignOptions& options_;
  const BuildTree& tree_;
  const Target& target_;
  std::string folder_, plugin_link_, kernel_link_;
  std::map<std::string, std::vector<CompileCommand>> sources_;
  std::map<std::string, std::string> originals_;  // content of unchanged objects
  JudgeInputs inputs_;
};

// The order by hash makes a longer sample contain a shorter one of the same seed.
std::vector<Mutant> choose(std::vector<Mutant> all, const CampaignOptions& options, const Shard& shard) {
  const auto rank = [&](const Mutant& mutant) { return hash_of(options.seed + mutant.id); };
  std::sort(all.begin(), all.end(), [&](const Mutant& a, const Mutant& b) { return rank(a) < rank(b); });
  if (options.sample != 0 && all.size() > options.sample) all.resize(options.sample);
  std::vector<Mutant> out;
  for (size_t i = 0; i < all.size(); ++i)
    if (i % shard.count == shard.index) out.push_back(std::move(all[i]));
  return out;
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
  std::fflush(stdout);
}

Status run_target(const CampaignOptions& options, const BuildTree& tree, const Target& target,
                  const Shard& shard, size_t& out_possible) {
  const std::string file = options.work + "/outcomes.jsonl";
  std::map<std::string, MutantOutcome> done = read_outcomes(file);
  TargetRun run(options, tree, target);
  const std::vector<Mutant> all = run.list();
  out_possible = all.size();
  bool is_prepared = false;
  for (const Mutant& mutant : choose(all, options, shard)) {
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
    const MutantOutcome outcome =
        options.only_survivors ? run.judge_again(mutant, before->second) : run.judge(mutant);
    append_outcome(file, outcome);
    print(outcome);
  }
  return {};
}

std::string command_of(const CampaignOptions& options) {
  return fmt::format(
      "build/dev/bin/mutation_test --root . --build build/dev --work WORK --sample {} --seed {}{}{}",
      options.sample, options.seed, options.samples.empty() ? "" : " --samples SAMPLES",
      options.targets.empty() ? ""
                              : " --target " + fmt::format("{}", fmt::join(options.targets, " --target ")));
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

}  // namespace

Result<bool> run_campaign(const CampaignOptions& given) {
  CampaignOptions options = given;
  fs::create_directories(options.work);
  options.work = fs::canonical(options.work).string();
  options.programs =
      fs::canonical(options.programs.empty() ? options.build + "/bin" : options.programs).string();
  if (options.fresh) fs::remove(options.work + "/outcomes.jsonl");
  ETB_ASSIGN(const BuildTree tree, BuildTree::open(options.root, options.build));
  ETB_ASSIGN(const Shard shard, parse_shard(options.shard));
  PageInput page;
  for (const Target& target : all_targets()) {
    const bool is_named =
        std::find(options.targets.begin(), options.targets.end(), target.name) != options.targets.end();
    if (!options.targets.empty() && !is_named) continue;
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
