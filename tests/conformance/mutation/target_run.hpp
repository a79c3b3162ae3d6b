// SPDX-License-Identifier: Apache-2.0
// One plugin of a run: makes its mutants, builds them and asks the judges.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "tests/conformance/mutation/build_tree.hpp"
#include "tests/conformance/mutation/campaign.hpp"
#include "tests/conformance/mutation/judges.hpp"
#include "tests/conformance/mutation/outcomes.hpp"

namespace etb::mutation {

class TargetRun {
 public:
  TargetRun(const CampaignOptions& options, const BuildTree& tree, const Target& target);
  ~TargetRun();
  TargetRun(const TargetRun&) = delete;
  TargetRun& operator=(const TargetRun&) = delete;

  // All mutants that the rules make, by file.
  std::vector<Mutant> list() const;

  // Finds commands and samples, and expects that the oracle accepts the unchanged plugin, linked as mutants are; with --all-cert, also
  // that cert passes it.
  Status prepare();

  // `of_file` holds outcomes of other mutants of the same file: the samples and cases that noticed them run first.
  MutantOutcome judge(const Mutant& mutant, const std::vector<MutantOutcome>& of_file);

  // Asks cert again about a mutant that the oracle noticed.
  MutantOutcome judge_again(const Mutant& mutant, MutantOutcome before);

 private:
  using Objects = std::vector<std::pair<std::string, std::string>>;  // path in the build tree, new file

  std::string scratch() const;
  Status find_commands();
  Build build_plugin(const Mutant& mutant, MutantOutcome& out, Objects& objects);
  Build compile(const Mutant& mutant, const std::string& text, Objects& objects);
  bool is_same_code(const Mutant& mutant, MutantOutcome& out, const Objects& objects);
  bool is_same_as_original(const CompileCommand& command, const std::string& text, const std::string& object);
  std::string link_kernels(const Mutant& mutant, const Objects& objects) const;
  void set_first(const Mutant& mutant, const std::vector<MutantOutcome>& of_file);
  void ask_cert_about(MutantOutcome& out);
  std::string find_declined();

  const CampaignOptions& options_;
  const BuildTree& tree_;
  const Target& target_;
  std::string folder_, plugin_link_, kernel_link_;
  std::map<std::string, std::vector<CompileCommand>> sources_;
  JudgeInputs inputs_;
  std::set<std::string> rejected_by_original_;  // cases; empty until they are needed
};

}  // namespace etb::mutation
