// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/mutation/target_run.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

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

// Adds the processor time of child processes to a number, from its construction to its destruction. The clock would measure what else
// the machine does.
class Meter {
 public:
  explicit Meter(double& seconds) : seconds_(seconds), begin_(now()) {}
  ~Meter() { seconds_ += now() - begin_; }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

 private:
  static double now() {
    rusage usage = {};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    const auto seconds_of = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  }

  double& seconds_;
  double begin_;
};

}  // namespace

TargetRun::TargetRun(const CampaignOptions& options, const BuildTree& tree, const Target& target)
    : options_(options),
      tree_(tree),
      target_(target),
      folder_(options.work + "/" + target.name + "." + std::to_string(::getpid())),
      sources_(tree.sources_of(target)) {
  fs::create_directories(folder_ + "/plugin");
  fs::create_directories(folder_ + "/private");
}

TargetRun::~TargetRun() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::vector<Mutant> TargetRun::list() const {
  std::vector<Mutant> out;
  for (const auto& [file, commands] : sources_) {
    if (file.find(options_.file) == std::string::npos) continue;
    for (Mutant& mutant : find_mutants(file, Source(read_text(tree_.root() + "/" + file))))
      out.push_back(std::move(mutant));
  }
  return out;
}

Status TargetRun::find_commands() {
  inputs_.plugin_folder = folder_ + "/plugin";
  ETB_ASSIGN(plugin_link_, tree_.link_command(target_.ninja_target, scratch()));
  if (const RunResult run = tree_.link(plugin_link_, target_.product, inputs_.plugin_folder, {});
      !run.is_ok())
    return make_error(Code::INVALID_DATA, "the unchanged plugin does not link: " + run.output);
  if (target_.has_kernels) {
    ETB_ASSIGN(kernel_link_, tree_.link_command("kernel_cases", scratch()));
  }
  return {};
}

Status TargetRun::prepare() {
  ETB_TRY(find_commands());
  inputs_.root = tree_.root();
  inputs_.programs = options_.programs;
  inputs_.kernel_program = target_.has_kernels ? options_.programs + "/kernel_cases" : "";
  inputs_.folder = scratch();
  ETB_ASSIGN(inputs_.samples, list_samples(target_, inputs_, options_.samples, options_.work));
  double seconds = 0;
  {
    const Meter meter(seconds);
    if (const Notice notice = ask_oracle(target_, inputs_); notice.is_noticed)
      return make_error(Code::INVALID_DATA, "the oracle rejects the unchanged plugin: " + notice.by);
  }
  // A mutant that loops without end costs this limit; one that is only slow stays below it.
  inputs_.oracle_cpu_seconds = static_cast<uint32_t>(20 + 5 * seconds);
  if (options_.all_cert)
    if (const Notice notice = ask_cert(target_, inputs_); notice.is_noticed)
      return make_error(Code::INVALID_DATA, "cert fails the unchanged plugin: " + notice.by);
  return {};
}

MutantOutcome TargetRun::judge(const Mutant& mutant, const std::vector<MutantOutcome>& of_file) {
  MutantOutcome out;
  out.target = target_.name;
  out.mutant = mutant;
  out.diff = diff_of(mutant, read_text(tree_.root() + "/" + mutant.file));
  Objects objects;
  out.build = build_plugin(mutant, out, objects);
  if (out.build != Build::kRuns) return out;
  set_first(mutant, of_file);
  {
    const Meter meter(out.seconds.link);
    inputs_.kernel_program = link_kernels(mutant, objects);
  }
  {
    const Meter meter(out.seconds.oracle);
    inputs_.folder = scratch();
    const Notice oracle = ask_oracle(target_, inputs_);
    out.is_noticed_by_oracle = oracle.is_noticed;
    out.by_oracle = oracle.by;
  }
  if (!out.is_noticed_by_oracle && is_same_code(mutant, out, objects)) {
    out.build = Build::kSame;
    return out;
  }
  if (out.is_noticed_by_oracle || options_.all_cert) ask_cert_about(out);
  return out;
}

MutantOutcome TargetRun::judge_again(const Mutant& mutant, MutantOutcome before) {
  before.mutant = mutant;
  Objects objects;
  if (build_plugin(mutant, before, objects) != Build::kRuns) return before;
  set_first(mutant, {before});
  ask_cert_about(before);
  return before;
}

// Makes an empty private folder.
std::string TargetRun::scratch() const {
  const std::string path = folder_ + "/private";
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

Build TargetRun::build_plugin(const Mutant& mutant, MutantOutcome& out, Objects& objects) {
  {
    const Meter meter(out.seconds.compile);
    const Build build = compile(mutant, read_text(tree_.root() + "/" + mutant.file), objects);
    if (build != Build::kRuns) return build;
  }
  const Meter meter(out.seconds.link);
  return tree_.link(plugin_link_, target_.product, inputs_.plugin_folder, objects).is_ok() ? Build::kRuns
                                                                                           : Build::kFails;
}

Build TargetRun::compile(const Mutant& mutant, const std::string& text, Objects& objects) {
  const std::string folder = scratch();
  for (const CompileCommand& command : sources_.at(mutant.file)) {
    if (!is_run_here(command.object)) continue;
    const std::string object = folder_ + "/mutant_" + std::to_string(objects.size()) + ".o";
    if (!tree_.compile(command, apply(mutant, text), folder, object).is_ok()) return Build::kFails;
    objects.push_back({command.object, object});
  }
  return objects.empty() ? Build::kSame : Build::kRuns;
}

// The original is compiled only for mutants that the oracle does not notice: the others differ from it.
bool TargetRun::is_same_code(const Mutant& mutant, MutantOutcome& out, const Objects& objects) {
  const Meter meter(out.seconds.compile);
  const std::string text = read_text(tree_.root() + "/" + mutant.file);
  for (const CompileCommand& command : sources_.at(mutant.file))
    for (const auto& [original, object] : objects)
      if (original == command.object && !is_same_as_original(command, text, object)) return false;
  return true;
}

// Objects of unchanged files are kept in the work folder. All mutants of a file are compared with one compilation, and so are those of a
// later run.
bool TargetRun::is_same_as_original(const CompileCommand& command, const std::string& text,
                                    const std::string& object) {
  const std::string originals = options_.work + "/originals";
  fs::create_directories(originals);
  const std::string original = fmt::format("{}/{:016x}.o", originals, hash_of(command.command + '\n' + text));
  if (!fs::exists(original)) {
    const std::string part = folder_ + "/original.o";
    if (!tree_.compile(command, text, scratch(), part).is_ok()) return false;
    fs::rename(part, original);
  }
  return read_text(object) == read_text(original);
}

std::string TargetRun::link_kernels(const Mutant& mutant, const Objects& objects) const {
  if (!target_.has_kernels || !mutant.file.starts_with("host/kernels/")) return {};
  const std::string folder = folder_ + "/plugin";
  return tree_.link(kernel_link_, "bin/kernel_cases", folder, objects).is_ok() ? folder + "/kernel_cases"
                                                                               : "";
}

void TargetRun::set_first(const Mutant& mutant, const std::vector<MutantOutcome>& of_file) {
  inputs_.first_ops = ops_named_in(read_text(tree_.root() + "/" + mutant.file));
  inputs_.noticed_before.clear();
  inputs_.cases_before.clear();
  for (const MutantOutcome& one : of_file) {
    inputs_.noticed_before.push_back(one.by_oracle);
    if (const size_t end = one.by_cert.find(" ("); end != std::string::npos && end != 0)
      inputs_.cases_before.insert(one.by_cert.substr(0, end));
  }
}

void TargetRun::ask_cert_about(MutantOutcome& out) {
  const Meter meter(out.seconds.cert);
  inputs_.folder = scratch();
  const Notice cert = ask_cert(target_, inputs_);
  out.is_noticed_by_cert = cert.is_noticed;
  out.by_cert = cert.by;
  out.has_cert = true;
  out.circumstances = circumstances_of_cert(inputs_);
  out.declined = cert.is_noticed || !out.is_noticed_by_oracle ? "" : find_declined();
}

// Returns a case that the mutant rejected in the run before, and that the unchanged plugin takes.
std::string TargetRun::find_declined() {
  const std::set<std::string> rejected = rejected_cases(inputs_);
  if (rejected_by_original_.empty()) {
    JudgeInputs original = inputs_;
    original.plugin_folder = folder_ + "/original";
    fs::create_directories(original.plugin_folder);
    original.folder = scratch();
    original.first_ops.clear();
    original.cases_before.clear();
    if (!tree_.link(plugin_link_, target_.product, original.plugin_folder, {}).is_ok()) return {};
    if (ask_cert(target_, original).is_noticed) return {};
    rejected_by_original_ = rejected_cases(original);
  }
  for (const std::string& name : rejected)
    if (rejected_by_original_.count(name) == 0) return name;
  return {};
}

}  // namespace etb::mutation
