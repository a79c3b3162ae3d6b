// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/options.hpp"

#include <CLI/CLI.hpp>

#include "tools/command.hpp"
#include "tools/option_values.hpp"
#include "tools/session_layers.hpp"

namespace etb::tools {

namespace {

constexpr uint32_t kMaxWorkers = 1024;  // each has a few processes and descriptors

}  // namespace

void add_verify_options(CLI::App& command, VerifyOptions& options) {
  command.add_option("PLUGIN", options.target,
                     "Name, id, manifest or library of a plugin; 'portable' is the reference backend");
  command.add_option("--backend", options.backend, "Delegate id to test (default: the first)");
  command.add_option("--profile", options.profile, "Amount of testing: smoke, ci, cert (everything) or soak")
      ->capture_default_str();
  command
      .add_option("--case", options.patterns,
                  "Run only these cases and checks, by name or pattern with * and ?; repeatable")
      ->allow_extra_args(false);
  command.add_flag("--list", options.list, "List the cases and checks, and run none");
  command.add_flag("--json", options.json,
                   "Print the summary, or the list, as one JSON object; other text goes to standard error");
  command
      .add_option("--contract", options.contract,
                  "Arithmetic of the plugin: f32, f16, bf16, f16:f32 (inputs:accumulator), with :ftz "
                  "if it flushes subnormals")
      ->capture_default_str();
  command
      .add_option("--workers", options.workers,
                  "Number of child processes at once; 0: one per processor, more if the plugin mostly waits. "
                  "Results do not "
                  "depend on it")
      ->check(whole_number(0, kMaxWorkers, "0: one per processor"))
      ->capture_default_str();
  command
      .add_option("--delegate-option", options.delegate_options,
                  "key=value: an option of each delegate that the suite creates, except where a check sets it; repeatable")
      ->allow_extra_args(false);
  command.add_option("--case-timeout-ms", options.case_timeout_ms, "Time limit of one case")
      ->check(whole_number(1, UINT32_MAX))
      ->capture_default_str();
  command.add_option("--check-timeout-ms", options.check_timeout_ms, "Time limit of one check")
      ->check(whole_number(1, UINT32_MAX))
      ->capture_default_str();
  command.add_option(
      "--shard", options.shard,
      "Run only this part, such as 2/8 (default: from the variables of GoogleTest, Slurm or Kubernetes)");
  command.add_option("--time", options.soak_time,
                     "Length of a soak run, such as 90s, 10m or 2h (default: 10m)");
  command.add_flag("--network", options.has_network,
                   "Give child processes access to the network (default: none)");
  command
      .add_option("--seed", options.seed,
                  "Random numbers of the cases: those of this seed instead of the suite's own")
      ->check(whole_number(0, UINT32_MAX));
  command.add_option(
      "--sanitizer-host", options.sanitizer_host,
      "Run-time library of the sanitizer that the plugin was built with (default: the one that "
      "its library names)");
  add_layer_option(command, options.layers);
  command.add_option("--results", options.results_file,
                     "Write each result as a JSON line as soon as it is known");
  command.add_flag("--resume", options.resume,
                   "Continue an interrupted run; results in the --results file are not repeated");
  command.add_option("--junit", options.junit_file, "Write JUnit XML");
  command.add_option("--sarif", options.sarif_file, "Write failures as SARIF");
  command.add_option("--html", options.html_file, "Write a report as one HTML file");
  command.add_option("--coverage", options.coverage_file,
                     "Write what was tested, and what was claimed and not tested, as JSON");
  command.add_option("--compare", options.compare_file,
                     "Print changes against the results of another run; a change for the worse is an error");
  command.add_option("--waivers", options.waiver_file,
                     "JSON file with failures that are accepted, and who accepts them");
  command.add_option("--save", options.save_folder, "Save each failure to this folder, for --replay");
  command.add_option("--replay", options.replay_file,
                     "Run a saved failure again, with the cases that must precede it");
  command
      .add_option("--merge", options.merge_files, "Merge the results of shards, and run nothing; repeatable")
      ->allow_extra_args(false);
  command.add_flag("--in-process", options.in_process, "Run without isolation, for a debugger");
  command.add_flag("--break", options.break_first,
                   "With --in-process: stop in the debugger before the first case");
  command.add_flag("--fail-fast", options.fail_fast,
                   "End the run at the first failure; cases run before checks");
  command.add_flag("--no-confirm", options.no_confirm, "Do not repeat failures to make them smaller");
  command
      .add_option("--minimise-time", options.minimise_time,
                  "Total time for repeating failures to make them smaller")
      ->capture_default_str();
  name_values(command, {{"--backend", "ID"},
                        {"--profile", "PROFILE"},
                        {"--case", "PATTERN"},
                        {"--contract", "CONTRACT"},
                        {"--delegate-option", "KEY=VALUE"},
                        {"--shard", "I/N"},
                        {"--time", "TIME"},
                        {"--seed", "N"},
                        {"--sanitizer-host", "FILE"},
                        {"--minimise-time", "TIME"},
                        {"--results", "FILE"},
                        {"--junit", "FILE"},
                        {"--sarif", "FILE"},
                        {"--html", "FILE"},
                        {"--coverage", "FILE"},
                        {"--compare", "FILE"},
                        {"--waivers", "FILE"},
                        {"--save", "DIR"},
                        {"--replay", "FILE"},
                        {"--merge", "FILE"}});
}

}  // namespace etb::tools
