// SPDX-License-Identifier: Apache-2.0
// `etbackend verify PLUGIN`: runs the conformance suite on one plugin.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <set>
#include <thread>

#include "api/format/input_file.hpp"
#include "conformance/outcome/measured_case.hpp"
#include "conformance/process/confinement.hpp"
#include "conformance/process/in_process.hpp"
#include "conformance/process/replay.hpp"
#include "conformance/report/circumstances.hpp"
#include "conformance/report/coverage.hpp"
#include "conformance/report/junit.hpp"
#include "conformance/report/precision_rows.hpp"
#include "conformance/report/repro.hpp"
#include "conformance/report/sarif.hpp"
#include "conformance/report/terminal.hpp"
#include "conformance/report/waivers.hpp"
#include "conformance/runner/runner.hpp"
#include "conformance/runner/selection.hpp"
#include "conformance/runner/soak.hpp"
#include "tools/command.hpp"
#include "tools/page_facts.hpp"
#include "tools/pages/page.hpp"
#include "tools/pages/reports.hpp"
#include "tools/session_layers.hpp"
#include "tools/standard_files.hpp"
#include "tools/verify/collector.hpp"
#include "tools/verify/find_subject.hpp"
#include "tools/verify/interruptible.hpp"
#include "tools/verify/options.hpp"
#include "tools/verify/sanitizer_host.hpp"
#include "tools/verify/summary_json.hpp"

namespace etb::tools {
namespace {

using namespace etb::conformance;  // NOLINT(google-build-using-namespace): this file is about nothing else

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}
std::string today() { return now().substr(0, std::string_view("2026-01-31").size()); }

// Limit for waivers and saved failures, whose tensors are hexadecimal text.
constexpr uint64_t kMostInputBytes = uint64_t{256} << 20;

Result<std::vector<Waiver>> load_waivers(const VerifyOptions& options) {
  if (options.waiver_file.empty()) return std::vector<Waiver>{};
  ETB_ASSIGN(const std::string text, format::read_file_text(options.waiver_file, kMostInputBytes));
  return parse_waivers(text, today());
}

template <class T>
Status as_status(const Result<T>& result) {
  if (!result) return tl::make_unexpected(result.error());
  return {};
}

// Returns the options that a command needs to repeat this run on other items.
Invocation invocation_of(const VerifyOptions& options, const Session& session) {
  Invocation out;
  out.command = "etbackend";
  for (const std::string& path : session.plugin_paths) out.command += " --plugin-path " + quoted(path);
  out.command += " verify " + quoted(options.target);
  if (!options.backend.empty()) out.command += " --backend " + quoted(options.backend);
  if (options.contract != "f32") out.command += " --contract " + quoted(options.contract);
  if (options.has_network) out.command += " --network";
  for (const std::string& option : options.delegate_options)
    out.command += " --delegate-option " + quoted(option);
  for (const std::string& layer : options.layers) out.command += " --layer " + quoted(layer);
  if (!options.sanitizer_host.empty()) out.command += " --sanitizer-host " + quoted(options.sanitizer_host);
  out.saved_in = options.save_folder;
  return out;
}

// True if a document goes to standard output, so that other text must not.
bool has_document(const VerifyOptions& options) {
  const auto is_standard = [](const std::string& path) { return path == kStandardFile; };
  return options.json || is_standard(options.junit_file) || is_standard(options.sarif_file) ||
         is_standard(options.html_file) || is_standard(options.coverage_file) ||
         is_standard(options.results_file);
}
std::ostream& text_stream(const VerifyOptions& options, Session& session) {
  return has_document(options) ? session.err : session.out;
}

Status write_reports(const VerifyOptions& options, const Results& results, const Invocation& by,
                     Session& session) {
  if (!options.junit_file.empty()) ETB_TRY(write_output(options.junit_file, to_junit(results, by), session));
  if (!options.sarif_file.empty()) ETB_TRY(write_output(options.sarif_file, to_sarif(results, by), session));
  if (!options.coverage_file.empty())
    ETB_TRY(write_output(options.coverage_file, coverage_json(results), session));
  if (!options.html_file.empty())
    ETB_TRY(write_output(options.html_file,
                         pages::make_page(pages::verify_document(results, by, program_version())), session));
  return {};
}

// Checks that reports can be written, before hours of work instead of after.
Status expect_writable(const VerifyOptions& options) {
  for (const std::string* path :
       {&options.junit_file, &options.sarif_file, &options.html_file, &options.coverage_file})
    if (!path->empty() && *path != kStandardFile) ETB_TRY(format::expect_writable(*path));
  if (!options.save_folder.empty()) ETB_TRY(make_folder(options.save_folder));
  return {};
}

Result<ExitCode> finish(const VerifyOptions& options, Results results, Session& session) {
  std::ostream& text = text_stream(options, session);
  const Invocation by = invocation_of(options, session);
  // Files first: their errors must not suppress the summary on the terminal.
  Status written = write_reports(options, results, by, session);
  if (written && !options.save_folder.empty())
    if (const Result<size_t> saved = save_repros(results, by); !saved)
      written = tl::make_unexpected(saved.error());
  if (options.json)
    session.out << verify_summary(results).dump(2, ' ', true,
                                                nlohmann::ordered_json::error_handler_t::replace)
                << '\n';
  else
    print_summary(results, by, text);
  ETB_TRY(written);
  bool is_worse = false;
  if (!options.compare_file.empty()) {
    ETB_ASSIGN(const Results before, read_results(options.compare_file));
    is_worse = print_comparison(before, results, text);
  }
  const bool is_pass = add_up(results).is_pass();
  if (was_interrupted().load()) return ExitCode::UNAVAILABLE;
  return is_pass && !is_worse ? ExitCode::OK : ExitCode::NEGATIVE;
}

// Finds the plugin, with the layers of the command line before it.
Result<SubjectSpec> open_subject(const VerifyOptions& options, const Session& session) {
  ETB_ASSIGN(SubjectSpec subject, find_subject(options.target, options.backend, session));
  ETB_ASSIGN(subject.delegate_options, read_delegate_options(options.delegate_options, subject.entry));
  if (options.layers.empty()) return subject;
  ETB_TRY(as_status(make_silent_layers(options.layers, session)));
  subject.make_layers = [&options, &session] { return make_silent_layers(options.layers, session); };
  return subject;
}

Result<ExitCode> run_merge(const VerifyOptions& options, Session& session) {
  std::vector<Results> shards;
  for (const std::string& file : options.merge_files) {
    ETB_ASSIGN(Results shard, read_results(file));
    shards.push_back(std::move(shard));
  }
  ETB_ASSIGN(Results merged, merge(shards));
  if (!options.results_file.empty()) {
    ETB_ASSIGN(ResultsWriter writer, open_results(options.results_file, merged.header, session));
    for (const Outcome& outcome : merged.outcomes) writer.add(outcome);
    ETB_TRY(writer.status());
  }
  VerifyOptions with_target = options;
  if (with_target.target.empty()) with_target.target = merged.header.plugin_path;
  if (with_target.target.empty()) with_target.target = merged.header.plugin_id;
  return finish(with_target, std::move(merged), session);
}

void print_json(const nlohmann::ordered_json& report, std::ostream& out) {
  out << report.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

ExitCode run_list(const std::vector<Item>& items, bool as_json, Session& session) {
  if (as_json) {
    print_json(item_list(items), session.out);
    return ExitCode::OK;
  }
  for (const Item& item : items)
    session.out << item.name
                << (item.check != nullptr
                        ? std::string("  ") + item.check->sentence +
                              (*item.check->rule != '\0' ? std::string(" (") + item.check->rule + ")" : "")
                        : "")
                << '\n';
  return ExitCode::OK;
}

Header make_header(const VerifyOptions& options, const Plan& plan, const Session& session) {
  Header header;
  header.suite_version = kSuiteVersion;
  header.profile = options.profile;
  header.plugin_id = plan.subject.entry.id;
  header.plugin_version = plan.subject.entry.version();
  header.plugin_path = plan.subject.entry.library_path;
  header.library_sha256 = digest_of(plan.subject.entry);
  header.backend_id = plan.subject.backend_id;
  header.date = now();
  header.host = describe_host();
  header.command = session.command_line;
  header.suite_digest = suite_digest();
  header.seed = options.seed;
  header.contract = to_text(plan.contract);
  for (const PrecisionRow& row : plan.contract.rows) header.contract += "; " + to_text(row);
  for (const auto& [key, value] : plan.subject.delegate_options)
    header.delegate_options += (header.delegate_options.empty() ? "" : " ") + key + "=" + value;
  header.item_count = plan.items.size();
  header.shard = options.shard;
  return header;
}

// With --resume: removes the items whose outcomes are in the file.
Result<std::vector<Outcome>> take_up(const VerifyOptions& options, Plan& plan, const Header& header) {
  std::vector<Outcome> kept;
  if (!options.resume) return kept;
  if (options.results_file.empty() || options.results_file == kStandardFile)
    return make_error(Code::INVALID_ARGUMENT,
                      "--resume needs --results FILE, the file of the run to continue");
  ETB_ASSIGN(Results before, read_results(options.results_file));
  if (before.header.plugin_id != header.plugin_id || before.header.library_sha256 != header.library_sha256 ||
      before.header.suite_version != header.suite_version || before.header.contract != header.contract ||
      before.header.seed != header.seed || before.header.delegate_options != header.delegate_options)
    return make_error(Code::INCOMPATIBLE,
                      "--resume: '" + options.results_file +
                          "' belongs to another plugin, build, suite, contract, delegate option or seed");
  std::set<std::string> done;
  // A failure that was not examined runs again for that.
  for (Outcome& outcome : before.outcomes) {
    if (is_failure(outcome.state) && !has_look(outcome) && plan.confirms) continue;
    if (done.insert(outcome.name).second) kept.push_back(std::move(outcome));
  }
  std::vector<Item> rest;
  for (Item& item : plan.items)
    if (done.count(item.name) == 0) rest.push_back(std::move(item));
  plan.items = std::move(rest);
  return kept;
}

// Runs in child processes. A soak run repeats until its time is over.
Status run_isolated(const VerifyOptions& options, Plan plan, uint32_t round, Collector& collector,
                    Session& session) {
  std::ostream& text = text_stream(options, session);
  plan.has_network = options.has_network;
  std::string why_not;
  plan.confinement = find_confinement(options.has_network, why_not);
  if (!plan.confinement.has_namespaces)
    text << "note: the plugin's processes share namespaces with this process: " << why_not << '\n';
  if (!plan.confinement.has_network_cut && !options.has_network)
    text << "note: the plugin has access to the network: " << why_not << '\n';
  session.out.flush();  // so that a child does not write it again
  const Interruptible guard;
  const std::vector<Item> items = plan.items;
  const uint64_t deadline_ns = plan.deadline_ns;
  size_t repeated = 0;
  for (bool is_first = true;; ++round, is_first = false) {
    plan.items = soak_round(items, round == 0 ? 0 : options.seed + round);
    // Even if the time is short, the first round is complete: a part of it would prove little about the
    // plugin.
    plan.deadline_ns = is_first ? 0 : deadline_ns;
    const auto take = [&](const Outcome& outcome) {
      repeated += round != 0 ? 1 : 0;
      // Later rounds store failures only: a night of passes would fill memory and disk.
      if (round == 0 || is_failure(outcome.state) || outcome.state == State::kNotRun) collector.add(outcome);
    };
    const auto refine = [&](const Outcome& outcome) { collector.refine(outcome); };
    ETB_TRY(run_plan(plan, take, refine, was_interrupted()));
    if (deadline_ns == 0 || monotonic_ns() >= deadline_ns || was_interrupted().load()) break;
  }
  if (deadline_ns != 0)
    text << "soak: round " << round << ", " << repeated << " further cases and checks, with other numbers\n";
  return {};
}

Result<ExitCode> run_plugin(const VerifyOptions& options, Plan plan, Session& session) {
  ETB_ASSIGN(std::vector<Waiver> waivers, load_waivers(options));
  const Header header = make_header(options, plan, session);
  ETB_ASSIGN(std::vector<Outcome> kept, take_up(options, plan, header));
  uint32_t first_round = 0;  // round at which a resumed soak run continues
  for (const Outcome& outcome : kept)
    if (plan.deadline_ns != 0 && round_of(outcome.name) >= options.seed)
      first_round = std::max(first_round, round_of(outcome.name) - options.seed + 1);
  ETB_TRY(expect_writable(options));
  if (!options.compare_file.empty()) ETB_TRY(as_status(read_results(options.compare_file)));
  Collector collector(header, std::move(waivers), session, text_stream(options, session));
  ETB_TRY(collector.open_file(options.results_file, std::move(kept)));
  session.err.flush();
  if (options.in_process) {
    std::vector<uint32_t> all;
    for (uint32_t i = 0; i < plan.items.size(); ++i) all.push_back(i);
    if (options.break_first) ::raise(SIGTRAP);
    for (Outcome& outcome : run_in_process(plan, all)) collector.add(std::move(outcome));
  } else {
    ETB_TRY(run_isolated(options, std::move(plan), first_round, collector, session));
  }
  ETB_ASSIGN(const ExitCode code, finish(options, collector.take(), session));
  ETB_TRY(collector.file_status());
  return code;
}

// The item for the end of a batch is named after its last case, with this prefix.
std::string without_end(const std::string& name) {
  const std::string end = end_of("");
  return name.rfind(end, 0) == 0 ? name.substr(end.size()) : name;
}

// Returns the items of a replay file in order: those that must run before, then the failure itself.
Result<std::vector<Item>> items_of(const Repro& repro, std::shared_ptr<const Case>& out_small) {
  std::vector<Item> out;
  if (repro.is_measured) {
    out_small = make_measured_case(repro.name, *repro.small);
    out.push_back({repro.name, out_small.get(), nullptr});
    return out;
  }
  std::vector<std::string> names = repro.sequence;
  names.push_back(repro.name);
  for (const std::string& name : names) {
    const Case* const item = find_case(without_end(name));
    const Check* const check = find_check(name);
    if (item == nullptr && check == nullptr)
      return make_error(Code::NOT_FOUND, "replay: no case or check '" + name.substr(0, 200) + "'");
    out.push_back({item != nullptr ? without_end(name) : name, item, check});
  }
  if (repro.small && out.back().item != nullptr) {
    out_small = make_case(*out.back().item, *repro.small);
    out.back().item = out_small.get();
  }
  return out;
}

std::string runtime_of(const VerifyOptions& options, const SubjectSpec& subject) {
  return options.sanitizer_host.empty() ? sanitizer_of(subject.entry.library_path) : options.sanitizer_host;
}

Result<ExitCode> run_replay(VerifyOptions options, Session& session) {
  ETB_ASSIGN(const std::string text, format::read_file_text(options.replay_file, kMostInputBytes));
  Result<Repro> repro_read = parse_repro(text);
  if (!repro_read)
    return tl::make_unexpected(with_context(std::move(repro_read).error(), "'" + options.replay_file + "'"));
  const Repro& repro = *repro_read;
  Plan plan;
  std::shared_ptr<const Case> small;  // outlives the plan
  ETB_ASSIGN(plan.items, items_of(repro, small));
  if (options.target.empty()) options.target = repro.plugin_id;
  options.patterns = {repro.name};
  ETB_ASSIGN(plan.subject, open_subject(options, session));
  ETB_TRY(enter_sanitizer_host(runtime_of(options, plan.subject)));
  ETB_ASSIGN(plan.contract, parse_contract(repro.contract.substr(0, repro.contract.find(';'))));
  ETB_ASSIGN(plan.contract.rows, read_precision_rows(plan.subject.entry.manifest_path));
  plan.batch_size = static_cast<uint32_t>(plan.items.size());
  plan.case_timeout_ms = options.case_timeout_ms;
  plan.check_timeout_ms = options.check_timeout_ms;
  plan.confirms = false;
  return run_plugin(options, std::move(plan), session);
}

Result<ExitCode> run(VerifyOptions options, Session& session) {
  ETB_TRY(as_status(uses_standard_output({{"--junit", options.junit_file},
                                          {"--sarif", options.sarif_file},
                                          {"--html", options.html_file},
                                          {"--coverage", options.coverage_file},
                                          {"--results", options.results_file},
                                          {"--json", options.json ? kStandardFile : ""}},
                                         session)));
  if (options.break_first && !options.in_process)
    return make_error(Code::INVALID_ARGUMENT, "--break needs --in-process");
  if (!options.merge_files.empty()) return run_merge(options, session);
  if (!options.replay_file.empty()) return run_replay(options, session);
  ETB_ASSIGN(const Profile profile, parse_profile(options.profile));
  ETB_ASSIGN(const Shard shard, parse_shard(options.shard));
  Plan plan;
  plan.items = with_seed(select_items(profile, options.patterns, shard), options.seed);
  if (shard.count > 1) options.shard = fmt::format("{}/{}", shard.index + 1, shard.count);
  // A shard may be empty, but not all shards together.
  if (plan.items.empty() && (shard.count == 1 || select_items(profile, options.patterns, {}).empty()))
    return make_error(Code::NOT_FOUND,
                      "no case or check matches\nhint: `etbackend verify --list --case PATTERN` lists them");
  if (options.list) return run_list(plan.items, options.json, session);
  if (options.target.empty())
    return make_error(Code::INVALID_ARGUMENT,
                      "no plugin is named\nhint: give a name, a manifest or a library");
  ETB_ASSIGN(plan.subject, open_subject(options, session));
  ETB_TRY(enter_sanitizer_host(runtime_of(options, plan.subject)));
  ETB_ASSIGN(plan.contract, parse_contract(options.contract));
  ETB_ASSIGN(plan.contract.rows, read_precision_rows(plan.subject.entry.manifest_path));
  plan.may_add_workers = options.workers == 0;
  plan.worker_count =
      options.workers != 0 ? options.workers : std::max(1u, std::thread::hardware_concurrency());
  plan.case_timeout_ms = options.case_timeout_ms;
  plan.check_timeout_ms = options.check_timeout_ms;
  plan.confirms = !options.no_confirm;
  plan.fail_fast = options.fail_fast;
  // Cases first: thousands of them cost as much as a few checks.
  if (plan.fail_fast)
    std::stable_partition(plan.items.begin(), plan.items.end(),
                          [](const Item& item) { return item.check == nullptr; });
  ETB_ASSIGN(const uint32_t minimise_seconds, parse_duration(options.minimise_time));
  plan.minimise_ms = std::min(minimise_seconds, 1000000u) * 1000;
  if (options.fail_fast && (!options.waiver_file.empty() || options.in_process))
    return make_error(Code::INVALID_ARGUMENT, "--fail-fast excludes --waivers and --in-process");
  if (profile != Profile::kSoak && !options.soak_time.empty())
    return make_error(Code::INVALID_ARGUMENT, "--time needs --profile soak");
  if (profile == Profile::kSoak && options.in_process)
    return make_error(Code::INVALID_ARGUMENT, "--profile soak excludes --in-process");
  if (profile == Profile::kSoak) {
    ETB_ASSIGN(const uint32_t seconds, parse_duration(options.soak_time.empty() ? "10m" : options.soak_time));
    plan.deadline_ns = monotonic_ns() + uint64_t{seconds} * 1000000000u;
  }
  return run_plugin(options, std::move(plan), session);
}

}  // namespace

void register_verify(CLI::App& app, Session& session) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command =
      app.add_subcommand("verify", "Run the conformance suite against a plugin, in child processes");
  add_verify_options(*command, *options);
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
