// `etbackend verify PLUGIN`: the conformance suite against one plugin.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "conformance/report/html.hpp"
#include "conformance/report/junit.hpp"
#include "conformance/report/precision_rows.hpp"
#include "conformance/report/repro.hpp"
#include "conformance/report/sarif.hpp"
#include "conformance/report/terminal.hpp"
#include "conformance/report/waivers.hpp"
#include "conformance/runner/child_body.hpp"
#include "conformance/runner/confinement.hpp"
#include "conformance/runner/runner.hpp"
#include "conformance/runner/selection.hpp"
#include "conformance/runner/soak.hpp"
#include "tools/verify/find_subject.hpp"

namespace etb::tools {
namespace {

using namespace etb::conformance;  // NOLINT(google-build-using-namespace): this file is about nothing else

struct Options {
  std::string target;
  std::string backend;
  std::string profile = "ci";
  std::vector<std::string> patterns;
  std::string contract = "f32";
  uint32_t workers = 0;
  uint32_t case_timeout_ms = 10000;
  uint32_t check_timeout_ms = 60000;
  std::string shard;
  std::string soak_time;
  std::string results_file, junit_file, sarif_file, html_file, compare_file, waiver_file, save_folder,
      replay_file;
  std::vector<std::string> merge_files;
  bool list = false;
  bool resume = false;
  bool in_process = false;
  bool break_first = false;
  bool no_confirm = false;
  bool has_network = false;
};

std::atomic<bool> interrupted{false};
void note_interrupt(int) { interrupted.store(true); }

// Ctrl-C ends the run, not the program: what is done is kept.
class Interruptible {
 public:
  Interruptible() {
    interrupted.store(false);
    struct sigaction action {};
    action.sa_handler = note_interrupt;
    ::sigaction(SIGINT, &action, &old_int_);
    ::sigaction(SIGTERM, &action, &old_term_);
  }
  ~Interruptible() {
    ::sigaction(SIGINT, &old_int_, nullptr);
    ::sigaction(SIGTERM, &old_term_, nullptr);
  }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  struct sigaction old_int_, old_term_;
};

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

Result<std::string> read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return make_error(Code::NOT_FOUND, "cannot read '" + path + "'");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Result<std::vector<Waiver>> load_waivers(const Options& options) {
  if (options.waiver_file.empty()) return std::vector<Waiver>{};
  ETB_ASSIGN(const std::string text, read_text(options.waiver_file));
  return parse_waivers(text, today());
}

Status write_reports(const Options& options, const Results& results) {
  if (!options.junit_file.empty()) ETB_TRY(write_file(options.junit_file, to_junit(results)));
  if (!options.sarif_file.empty()) ETB_TRY(write_file(options.sarif_file, to_sarif(results, options.target)));
  if (!options.html_file.empty()) ETB_TRY(write_file(options.html_file, to_html(results, options.target)));
  return {};
}

// A report that cannot be written is said before hours of work, not after.
Status try_writing(const Options& options) {
  for (const std::string& path : {options.junit_file, options.sarif_file, options.html_file})
    if (!path.empty()) ETB_TRY(write_file(path, ""));
  if (!options.save_folder.empty()) ETB_TRY(make_folder(options.save_folder));
  return {};
}

Result<ExitCode> finish(const Options& options, Results results, Session& session) {
  ETB_TRY(write_reports(options, results));
  if (!options.save_folder.empty()) {
    ETB_ASSIGN(const size_t count, save_repros(results, options.save_folder));
    session.out << count << " failures saved in " << options.save_folder << '\n';
  }
  print_summary(results, options.target, session.out);
  bool is_worse = false;
  if (!options.compare_file.empty()) {
    ETB_ASSIGN(const Results before, read_results(options.compare_file));
    is_worse = print_comparison(before, results, session.out);
  }
  const bool is_pass = add_up(results.outcomes).is_pass();
  if (interrupted.load()) return ExitCode::UNAVAILABLE;
  return is_pass && !is_worse ? ExitCode::OK : ExitCode::NEGATIVE;
}

Result<ExitCode> run_merge(const Options& options, Session& session) {
  std::vector<Results> shards;
  for (const std::string& file : options.merge_files) {
    ETB_ASSIGN(Results shard, read_results(file));
    shards.push_back(std::move(shard));
  }
  ETB_ASSIGN(Results merged, merge(shards));
  if (!options.results_file.empty()) {
    ETB_ASSIGN(ResultsWriter writer, ResultsWriter::open(options.results_file, merged.header));
    for (const Outcome& outcome : merged.outcomes) writer.add(outcome);
  }
  Options with_target = options;
  if (with_target.target.empty()) with_target.target = merged.header.plugin_id;
  return finish(with_target, std::move(merged), session);
}

ExitCode run_list(const std::vector<Item>& items, Session& session) {
  for (const Item& item : items)
    session.out << item.name
                << (item.check != nullptr
                        ? std::string("  ") + item.check->sentence +
                              (*item.check->rule != '\0' ? std::string(" (") + item.check->rule + ")" : "")
                        : "")
                << '\n';
  return ExitCode::OK;
}

Header make_header(const Options& options, const Plan& plan) {
  Header header;
  header.suite_version = kSuiteVersion;
  header.profile = options.profile;
  header.plugin_id = plan.subject.entry.id;
  header.plugin_version = plan.subject.entry.version();
  header.plugin_path = plan.subject.entry.library_path;
  header.library_sha256 = digest_of(plan.subject.entry);
  header.backend_id = plan.subject.backend_id;
  header.contract = to_text(plan.contract);
  for (const PrecisionRow& row : plan.contract.rows) header.contract += "; " + to_text(row);
  header.item_count = plan.items.size();
  header.shard = options.shard;
  return header;
}

// Takes outcomes where they go: file, terminal, memory.
class Collector {
 public:
  Collector(const Options& options, Header header, std::vector<Waiver> waivers, Session& session)
      : waivers_(std::move(waivers)),
        terminal_(session.out, header.item_count,
                  ::isatty(STDOUT_FILENO) != 0 && &session.out == &std::cout) {
    results_.header = std::move(header);
    (void)options;
  }

  // Outcomes of an earlier run that was interrupted stay as they are.
  Status open_file(const Options& options, std::vector<Outcome> kept) {
    if (options.results_file.empty()) return {};
    results_.outcomes = std::move(kept);
    ETB_ASSIGN(ResultsWriter writer,
               ResultsWriter::open(options.results_file, results_.header, results_.outcomes));
    writer_.emplace(std::move(writer));
    return {};
  }

  void add(Outcome outcome) {
    apply_waivers(waivers_, results_.header.plugin_id, outcome);
    if (writer_ && outcome.state != State::kNotRun) writer_->add(outcome);
    terminal_.add(outcome);
    results_.outcomes.push_back(std::move(outcome));
  }
  Results take() {
    terminal_.end();
    return std::move(results_);
  }

 private:
  std::vector<Waiver> waivers_;
  Results results_;
  Terminal terminal_;
  std::optional<ResultsWriter> writer_;
};

// With --resume: what is in the file needs not run again.
Result<std::vector<Outcome>> take_up(const Options& options, Plan& plan, const Header& header) {
  std::vector<Outcome> kept;
  if (!options.resume) return kept;
  if (options.results_file.empty())
    return make_error(Code::INVALID_ARGUMENT, "--resume needs --results FILE of the run to go on with");
  ETB_ASSIGN(Results before, read_results(options.results_file));
  if (before.header.plugin_id != header.plugin_id || before.header.library_sha256 != header.library_sha256 ||
      before.header.suite_version != header.suite_version || before.header.contract != header.contract)
    return make_error(Code::INCOMPATIBLE, "--resume: '" + options.results_file +
                                              "' is of another plugin, build, suite or contract");
  std::set<std::string> done;
  for (Outcome& outcome : before.outcomes)
    if (done.insert(outcome.name).second) kept.push_back(std::move(outcome));
  std::vector<Item> rest;
  for (Item& item : plan.items)
    if (done.count(item.name) == 0) rest.push_back(std::move(item));
  plan.items = std::move(rest);
  return kept;
}

// In child processes; a soak run again and again, until its time is over.
Status run_isolated(const Options& options, Plan plan, uint32_t round, Collector& collector,
                    Session& session) {
  plan.has_network = options.has_network;
  if (const Status alone = can_leave_network(); !alone && !plan.has_network) {
    session.out << "note: the plugin keeps the network: " << alone.error().message << '\n';
    plan.has_network = true;
  }
  session.out.flush();  // a child must not write it again
  const Interruptible guard;
  const std::vector<Item> items = plan.items;
  size_t repeated = 0;
  for (;; ++round) {
    plan.items = soak_round(items, round);
    const auto take = [&](const Outcome& outcome) {
      repeated += round != 0 ? 1 : 0;
      // Later rounds are about what goes wrong: a night of passes would fill memory and disk.
      if (round == 0 || is_failure(outcome.state) || outcome.state == State::kNotRun) collector.add(outcome);
    };
    const Result<RunTotals> totals = run_plan(plan, take, interrupted);
    if (!totals) return tl::make_unexpected(totals.error());
    if (plan.deadline_ns == 0 || monotonic_ns() >= plan.deadline_ns || interrupted.load()) break;
  }
  if (plan.deadline_ns != 0)
    session.out << "soak: round " << round << ", " << repeated
                << " cases and checks more than those below, with other numbers\n";
  return {};
}

Result<ExitCode> run_plugin(const Options& options, Plan plan, Session& session) {
  ETB_ASSIGN(std::vector<Waiver> waivers, load_waivers(options));
  const Header header = make_header(options, plan);
  ETB_ASSIGN(std::vector<Outcome> kept, take_up(options, plan, header));
  uint32_t first_round = 0;  // of a soak run that goes on
  for (const Outcome& outcome : kept)
    if (plan.deadline_ns != 0) first_round = std::max(first_round, round_of(outcome.name) + 1);
  ETB_TRY(try_writing(options));
  Collector collector(options, header, std::move(waivers), session);
  ETB_TRY(collector.open_file(options, std::move(kept)));
  session.err.flush();
  if (options.in_process) {
    std::vector<uint32_t> all;
    for (uint32_t i = 0; i < plan.items.size(); ++i) all.push_back(i);
    if (options.break_first) ::raise(SIGTRAP);
    for (Outcome& outcome : run_in_process(plan, all)) collector.add(std::move(outcome));
  } else {
    ETB_TRY(run_isolated(options, std::move(plan), first_round, collector, session));
  }
  return finish(options, collector.take(), session);
}

// The items of a replay file in their order: what must run before, then the failure itself.
Result<std::vector<Item>> items_of(const Repro& repro, std::shared_ptr<const Case>& out_small) {
  std::vector<Item> out;
  std::vector<std::string> names = repro.sequence;
  names.push_back(repro.name);
  for (const std::string& name : names) {
    const Case* const item = find_case(name);
    const Check* const check = find_check(name);
    if (item == nullptr && check == nullptr)
      return make_error(Code::NOT_FOUND, "replay: no case or check '" + name.substr(0, 200) + "'");
    out.push_back({name, item, check});
  }
  if (repro.small && out.back().item != nullptr) {
    out_small = make_case(*out.back().item, *repro.small);
    out.back().item = out_small.get();
  }
  return out;
}

Result<ExitCode> run_replay(Options options, Session& session) {
  ETB_ASSIGN(const std::string text, read_text(options.replay_file));
  ETB_ASSIGN(const Repro repro, parse_repro(text));
  Plan plan;
  std::shared_ptr<const Case> small;  // outlives the plan
  ETB_ASSIGN(plan.items, items_of(repro, small));
  if (options.target.empty()) options.target = repro.plugin_id;
  options.patterns = {repro.name};
  ETB_ASSIGN(plan.subject, find_subject(options.target, options.backend, session));
  ETB_ASSIGN(plan.contract, parse_contract(repro.contract.substr(0, repro.contract.find(';'))));
  ETB_ASSIGN(plan.contract.rows, read_precision_rows(plan.subject.entry.manifest_path));
  plan.batch_size = static_cast<uint32_t>(plan.items.size());
  plan.case_timeout_ms = options.case_timeout_ms;
  plan.check_timeout_ms = options.check_timeout_ms;
  plan.confirms = false;
  return run_plugin(options, std::move(plan), session);
}

Result<ExitCode> run(const Options& options, Session& session) {
  if (options.break_first && !options.in_process)
    return make_error(Code::INVALID_ARGUMENT, "--break needs --in-process");
  if (!options.merge_files.empty()) return run_merge(options, session);
  if (!options.replay_file.empty()) return run_replay(options, session);
  ETB_ASSIGN(const Profile profile, parse_profile(options.profile));
  ETB_ASSIGN(const Shard shard, parse_shard(options.shard));
  Plan plan;
  plan.items = select_items(profile, options.patterns, shard);
  if (plan.items.empty())
    return make_error(Code::NOT_FOUND,
                      "no case or check fits; `etbackend verify --list --case PATTERN` shows what there is");
  if (options.list) return run_list(plan.items, session);
  if (options.target.empty())
    return make_error(Code::INVALID_ARGUMENT, "which plugin? Give a name, a manifest or a library");
  ETB_ASSIGN(plan.subject, find_subject(options.target, options.backend, session));
  ETB_ASSIGN(plan.contract, parse_contract(options.contract));
  ETB_ASSIGN(plan.contract.rows, read_precision_rows(plan.subject.entry.manifest_path));
  plan.worker_count =
      options.workers != 0 ? options.workers : std::max(1u, std::thread::hardware_concurrency());
  plan.case_timeout_ms = options.case_timeout_ms;
  plan.check_timeout_ms = options.check_timeout_ms;
  plan.confirms = !options.no_confirm;
  if (profile != Profile::kSoak && !options.soak_time.empty())
    return make_error(Code::INVALID_ARGUMENT, "--time is for --profile soak");
  if (profile == Profile::kSoak && options.in_process)
    return make_error(Code::INVALID_ARGUMENT, "--profile soak does not run --in-process");
  if (profile == Profile::kSoak) {
    ETB_ASSIGN(const uint32_t seconds, parse_duration(options.soak_time.empty() ? "10m" : options.soak_time));
    plan.deadline_ns = monotonic_ns() + uint64_t{seconds} * 1000000000u;
  }
  return run_plugin(options, std::move(plan), session);
}

}  // namespace

void register_verify(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("verify", "Run the conformance suite against a plugin, in child processes");
  command->add_option("PLUGIN", options->target,
                      "A plugin's name, id, manifest or library; 'portable' is the reference backend itself");
  command->add_option("--backend", options->backend, "Which of its delegate ids; the first without it");
  command->add_option("--profile", options->profile, "smoke, ci, cert (everything) or soak")
      ->capture_default_str();
  command
      ->add_option("--case", options->patterns,
                   "Only these cases and checks, by name or pattern with * and ? (may be repeated)")
      ->allow_extra_args(false);
  command->add_flag("--list", options->list, "List the cases and checks instead of running them");
  command
      ->add_option("--contract", options->contract,
                   "What the plugin computes in: f32, f16, bf16, f16:f32 (inputs:accumulator), with :ftz "
                   "when it flushes subnormals")
      ->capture_default_str();
  command
      ->add_option("--workers", options->workers,
                   "Child processes at once; 0: one a processor. Results do not depend on it")
      ->capture_default_str();
  command->add_option("--case-timeout-ms", options->case_timeout_ms, "How long one case may take")
      ->capture_default_str();
  command->add_option("--check-timeout-ms", options->check_timeout_ms, "How long one check may take")
      ->capture_default_str();
  command->add_option(
      "--shard", options->shard,
      "Only this part, 2/8; without it GoogleTest's, Slurm's and Kubernetes' variables count");
  command->add_option("--time", options->soak_time,
                      "How long a soak run lasts, 90s, 10m or 2h; 10m without it");
  command->add_flag("--network", options->has_network,
                    "Leave the plugin the network; without it child processes have none");
  command->add_option("--results", options->results_file, "Write JSON lines as they happen");
  command->add_flag("--resume", options->resume,
                    "Go on with an interrupted run: what --results holds is not run again");
  command->add_option("--junit", options->junit_file, "Write JUnit XML");
  command->add_option("--sarif", options->sarif_file, "Write failures as SARIF");
  command->add_option("--html", options->html_file, "Write a report of one HTML file");
  command->add_option("--compare", options->compare_file,
                      "Say what changed since another run's results; worse is an error");
  command->add_option("--waivers", options->waiver_file, "Failures that somebody answers for, as JSON");
  command->add_option("--save", options->save_folder,
                      "Save the smallest failure of each kind in this folder, for --replay");
  command->add_option("--replay", options->replay_file,
                      "Run a saved failure again, with what must run before it");
  command
      ->add_option("--merge", options->merge_files,
                   "Put results of shards together instead of running (may be repeated)")
      ->allow_extra_args(false);
  command->add_flag("--in-process", options->in_process, "Without isolation, for a debugger");
  command->add_flag("--break", options->break_first,
                    "With --in-process: stop in the debugger before the first case");
  command->add_flag("--no-confirm", options->no_confirm, "Do not run failures again alone to shrink them");
  name_values(*command, {{"--backend", "ID"},
                         {"--profile", "PROFILE"},
                         {"--case", "PATTERN"},
                         {"--contract", "CONTRACT"},
                         {"--shard", "I/N"},
                         {"--time", "TIME"},
                         {"--results", "FILE"},
                         {"--junit", "FILE"},
                         {"--sarif", "FILE"},
                         {"--html", "FILE"},
                         {"--compare", "FILE"},
                         {"--waivers", "FILE"},
                         {"--save", "DIR"},
                         {"--replay", "FILE"},
                         {"--merge", "FILE"}});
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
