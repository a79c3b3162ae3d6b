// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/options.hpp"

#include "tools/command.hpp"

namespace etb::tools {

namespace {

constexpr uint32_t kMaxWorkers = 1024;  // each has a few processes and descriptors

}  // namespace

void add_verify_options(CLI::App& command, VerifyOptions& options) {
  command.add_option("PLUGIN", options.target,
                     "A plugin's name, id, manifest or library; 'portable' is the reference backend itself");
  command.add_option("--backend", options.backend, "Which of its delegate ids; the first without it");
  command.add_option("--profile", options.profile, "smoke, ci, cert (everything) or soak")
      ->capture_default_str();
  command
      .add_option("--case", options.patterns,
                  "Only these cases and checks, by name or pattern with * and ? (may be repeated)")
      ->allow_extra_args(false);
  command.add_flag("--list", options.list, "List the cases and checks instead of running them");
  command
      .add_option("--contract", options.contract,
                  "What the plugin computes in: f32, f16, bf16, f16:f32 (inputs:accumulator), with :ftz "
                  "when it flushes subnormals")
      ->capture_default_str();
  command
      .add_option("--workers", options.workers,
                  "Child processes at once; 0: one per processor. Results do not depend on it")
      ->check(CLI::Range(0u, kMaxWorkers).description(""))
      ->capture_default_str();
  command.add_option("--case-timeout-ms", options.case_timeout_ms, "How long one case may take")
      ->capture_default_str();
  command.add_option("--check-timeout-ms", options.check_timeout_ms, "How long one check may take")
      ->capture_default_str();
  command.add_option("--shard", options.shard,
                     "Only this part, 2/8; without it GoogleTest's, Slurm's and Kubernetes' variables count");
  command.add_option("--time", options.soak_time,
                     "How long a soak run lasts, 90s, 10m or 2h; 10m without it");
  command.add_flag("--network", options.has_network,
                   "Leave the plugin the network; without it child processes have none");
  command.add_option("--results", options.results_file, "Write JSON lines as they happen");
  command.add_flag("--resume", options.resume,
                   "Go on with an interrupted run: what --results holds is not run again");
  command.add_option("--junit", options.junit_file, "Write JUnit XML");
  command.add_option("--sarif", options.sarif_file, "Write failures as SARIF");
  command.add_option("--html", options.html_file, "Write a report of one HTML file");
  command.add_option("--compare", options.compare_file,
                     "Say what changed since another run's results; worse is an error");
  command.add_option("--waivers", options.waiver_file, "Failures that somebody answers for, as JSON");
  command.add_option("--save", options.save_folder, "Save each failure in this folder, for --replay");
  command.add_option("--replay", options.replay_file,
                     "Run a saved failure again, with what must run before it");
  command
      .add_option("--merge", options.merge_files,
                  "Put results of shards together instead of running (may be repeated)")
      ->allow_extra_args(false);
  command.add_flag("--in-process", options.in_process, "Without isolation, for a debugger");
  command.add_flag("--break", options.break_first,
                   "With --in-process: stop in the debugger before the first case");
  command.add_flag("--no-confirm", options.no_confirm, "Do not run failures again to make them smaller");
  command
      .add_option("--minimise-time", options.minimise_time,
                  "How long failures may be run again in all, to make them smaller")
      ->capture_default_str();
  name_values(command, {{"--backend", "ID"},
                        {"--profile", "PROFILE"},
                        {"--case", "PATTERN"},
                        {"--contract", "CONTRACT"},
                        {"--shard", "I/N"},
                        {"--time", "TIME"},
                        {"--minimise-time", "TIME"},
                        {"--results", "FILE"},
                        {"--junit", "FILE"},
                        {"--sarif", "FILE"},
                        {"--html", "FILE"},
                        {"--compare", "FILE"},
                        {"--waivers", "FILE"},
                        {"--save", "DIR"},
                        {"--replay", "FILE"},
                        {"--merge", "FILE"}});
}

}  // namespace etb::tools
