// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/mutation/outcomes.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace etb::mutation {
namespace {

constexpr const char* kBuilds[] = {"runs", "fails", "same"};

constexpr std::pair<const char*, double Seconds::*> kSecondsFields[] = {{"compile", &Seconds::compile},
                                                                        {"link", &Seconds::link},
                                                                        {"oracle", &Seconds::oracle},
                                                                        {"cert", &Seconds::cert}};

struct Count {
  size_t made = 0, fails = 0, same = 0, runs = 0, by_oracle = 0, by_both = 0, by_cert_only = 0, by_none = 0,
         open = 0, declined = 0;
};

void add(Count& count, const MutantOutcome& one) {
  ++count.made;
  count.fails += one.build == Build::kFails;
  count.same += one.build == Build::kSame;
  if (one.build != Build::kRuns) return;
  ++count.runs;
  count.declined += one.is_declined();
  if (one.is_declined()) return;
  count.by_oracle += one.is_noticed_by_oracle;
  count.by_both += one.is_noticed_by_oracle && one.is_noticed_by_cert;
  count.by_cert_only += !one.is_noticed_by_oracle && one.is_noticed_by_cert;
  count.by_none += !one.is_noticed_by_oracle && !one.is_noticed_by_cert && one.has_cert;
  count.open += !one.is_noticed_by_oracle && !one.is_noticed_by_cert && !one.has_cert;
}

std::string percent(const Count& count) {
  if (count.by_oracle == 0) return "-";
  return fmt::format("{:.1f} %",
                     100.0 * static_cast<double>(count.by_both) / static_cast<double>(count.by_oracle));
}

std::string row_of(const std::string& name, const Count& count) {
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", name, count.made,
                     count.fails + count.same, count.declined, count.by_oracle, count.by_both, percent(count),
                     count.by_cert_only, count.by_none, count.open);
}

template <class KeyOf>
std::string table_of(const std::map<std::string, MutantOutcome>& outcomes, const char* heading,
                     KeyOf key_of) {
  std::map<std::string, Count> counts;
  Count all;
  for (const auto& [id, one] : outcomes) add(counts[key_of(one)], one), add(all, one);
  std::string out = fmt::format(
      "| {} | mutants | do not compile, or same code | reject nodes | noticed by the oracle | of these, by "
      "cert | score | "
      "by cert only | by neither | oracle only "
      "asked |\n|---|---|---|---|---|---|---|---|---|---|\n",
      heading);
  for (const auto& [name, count] : counts) out += row_of(name, count);
  return out + row_of("all", all) + "\n";
}

// Means of the mutants of each plugin that run, in seconds of a processor.
std::string costs_of(const std::map<std::string, MutantOutcome>& outcomes) {
  struct Sum {
    size_t count = 0;
    Seconds seconds;
  };
  std::map<std::string, Sum> sums;
  for (const auto& [id, one] : outcomes) {
    if (one.build != Build::kRuns) continue;
    Sum& sum = sums[one.target];
    ++sum.count;
    for (const auto& [name, field] : kSecondsFields) sum.seconds.*field += one.seconds.*field;
  }
  std::string out =
      "| plugin | mutants that run | compile | link | oracle | cert |\n|---|---|---|---|---|---|\n";
  for (const auto& [target, sum] : sums) {
    out += fmt::format("| {} | {} |", target, sum.count);
    for (const auto& [name, field] : kSecondsFields)
      out += fmt::format(" {:.1f} |", sum.seconds.*field / static_cast<double>(sum.count));
    out += '\n';
  }
  return out + "\n";
}

std::string tables_of(const std::map<std::string, MutantOutcome>& outcomes) {
  return table_of(outcomes, "plugin", [](const MutantOutcome& one) { return one.target; }) +
         table_of(outcomes, "class", [](const MutantOutcome& one) { return one.mutant.group; });
}

// When, where and by which suite cert judged.
std::string circumstances_table(const std::map<std::string, MutantOutcome>& outcomes) {
  std::map<std::string, size_t> counts;
  for (const auto& [id, one] : outcomes)
    if (one.has_cert) ++counts[one.circumstances];
  std::string out = "| day, machine and suite digest of cert | mutants judged |\n|---|---|\n";
  for (const auto& [circumstances, count] : counts)
    out += fmt::format("| {} | {} |\n", circumstances.empty() ? "not recorded" : circumstances, count);
  return out + "\n";
}

std::string survivor_text(const MutantOutcome& one, const std::map<std::string, std::string>& reasons) {
  std::string out =
      fmt::format("`{}` {}, {}:{}, {}\n\n```diff\n{}```\n\nThe oracle noticed: {}\n\n", one.mutant.id,
                  one.target, one.mutant.file, one.mutant.line, one.mutant.group, one.diff, one.by_oracle);
  if (const auto reason = reasons.find(one.mutant.id); reason != reasons.end())
    out += "Explained: " + reason->second + "\n\n";
  return out;
}

}  // namespace

std::map<std::string, MutantOutcome> read_outcomes(const std::string& path) {
  std::map<std::string, MutantOutcome> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object()) continue;
    MutantOutcome one;
    one.mutant.id = json.value("id", "");
    one.target = json.value("target", "");
    one.mutant.file = json.value("file", "");
    one.mutant.line = json.value("line", 0u);
    one.mutant.group = json.value("class", "");
    one.diff = json.value("diff", "");
    for (size_t i = 0; i < std::size(kBuilds); ++i)
      if (json.value("build", "") == kBuilds[i]) one.build = static_cast<Build>(i);
    one.is_noticed_by_oracle = json.value("oracle", false);
    one.is_noticed_by_cert = json.value("cert", false);
    one.has_cert = json.value("has_cert", false);
    one.by_oracle = json.value("by_oracle", "");
    one.by_cert = json.value("by_cert", "");
    one.declined = json.value("declined", "");
    one.circumstances = json.value("circumstances", "");
    const nlohmann::json seconds = json.value("seconds", nlohmann::json::object());
    for (const auto& [name, field] : kSecondsFields) one.seconds.*field = seconds.value(name, 0.0);
    out[one.mutant.id] = std::move(one);
  }
  return out;
}

void append_outcome(const std::string& path, const MutantOutcome& one) {
  nlohmann::ordered_json seconds;
  for (const auto& [name, field] : kSecondsFields) seconds[name] = std::round(one.seconds.*field * 10) / 10;
  const nlohmann::ordered_json json = {{"id", one.mutant.id},
                                       {"target", one.target},
                                       {"file", one.mutant.file},
                                       {"line", one.mutant.line},
                                       {"class", one.mutant.group},
                                       {"build", kBuilds[static_cast<size_t>(one.build)]},
                                       {"oracle", one.is_noticed_by_oracle},
                                       {"cert", one.is_noticed_by_cert},
                                       {"has_cert", one.has_cert},
                                       {"by_oracle", one.by_oracle},
                                       {"by_cert", one.by_cert},
                                       {"declined", one.declined},
                                       {"circumstances", one.circumstances},
                                       {"seconds", seconds},
                                       {"diff", one.diff}};
  // A new line first: the run before may have been killed within a line.
  std::ofstream(path, std::ios::app) << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
                                            "\n";
}

std::map<std::string, std::string> read_reasons(const std::string& path) {
  std::map<std::string, std::string> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (const size_t blank = line.find(' '); blank != std::string::npos && line[0] != '#')
      out[line.substr(0, blank)] = line.substr(blank + 1);
  return out;
}

std::string make_page(const PageInput& input) {
  std::string out =
      "# Conformance: mutation score\n\n"
      "Written by `mutation_test`; [writing_checks.md](writing_checks.md#measure-the-suite-with-mutants) "
      "describes how to run it. A mutant is a "
      "plugin with one\nsmall change of its sources that a machine made. The oracle runs PyTorch's samples "
      "and whole models through it, "
      "and compares with PyTorch's\nnumbers. The score is the part of the mutants that `etbackend verify "
      "--profile cert` fails, of those that the oracle "
      "notices. Mutants that make a kernel fail, so that the plugin rejects its nodes and computes nothing "
      "wrong, count "
      "neither way.\nThe suite's own planted faults are on another page: "
      "[conformance_kill_matrix.md](conformance_kill_matrix.md).\n\n";
  out += "```sh\n" + input.command + "\n```\n\n";
  out += "Mutants that the rules make:";
  for (const auto& [target, count] : input.possible) out += fmt::format(" {} {},", target, count);
  out.back() = '.';
  out += " The tables are of a seeded sample.\n\n## Score\n\n" + tables_of(input.now);
  if (!input.before.empty()) out += "## Before this edition of the suite\n\n" + tables_of(input.before);
  out += "## Circumstances\n\n" + circumstances_table(input.now);
  out += "## Cost\n\nMeans for a mutant that runs, in seconds of a processor.\n\n" + costs_of(input.now);
  std::string open, explained, closed;
  for (const auto& [id, one] : input.now)
    if (one.is_survivor())
      (input.reasons.count(id) != 0 ? explained : open) += survivor_text(one, input.reasons);
  for (const auto& [id, one] : input.before) {
    const auto now = input.now.find(id);
    if (!one.is_survivor() || now == input.now.end() || !now->second.is_noticed_by_cert) continue;
    closed += fmt::format("`{}` {}:{}, now failed by `{}`\n\n```diff\n{}```\n\n", id, one.mutant.file,
                          one.mutant.line, now->second.by_cert, one.diff);
  }
  out +=
      "## Survivors\n\nThe oracle notices them, and cert does not.\n\n" + (open.empty() ? "None.\n\n" : open);
  if (!explained.empty()) out += "## Survivors with a reason\n\n" + explained;
  if (!closed.empty()) out += "## Survivors of before that cert fails now\n\n" + closed;
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace etb::mutation
