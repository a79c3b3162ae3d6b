// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/options.hpp"

#include <CLI/CLI.hpp>

#include "host/services/thread_pool.hpp"
#include "tools/bench/counters.hpp"
#include "tools/bench/number_list.hpp"
#include "tools/bench/processors.hpp"
#include "tools/option_values.hpp"

namespace etb::bench {
namespace {

// Adds an option for numbers and ranges of them, separated by commas.
CLI::Option* add_numbers(CLI::App& command, const char* name, std::vector<uint32_t>& out,
                         const NumberBounds& bounds, const char* text) {
  const auto expand = [bounds, &out](const std::vector<std::string>& words) {
    out.clear();
    for (const std::string& word : words)
      if (const auto numbers = parse_numbers(word, bounds))
        out.insert(out.end(), numbers->begin(), numbers->end());
  };
  const auto check = [bounds](const std::string& word) {
    const auto numbers = parse_numbers(word, bounds);
    return numbers ? std::string() : numbers.error().message;
  };
  return command.add_option_function<std::vector<std::string>>(name, expand, text)
      ->delimiter(',')
      ->check(check)
      ->type_name("N,...")
      ->allow_extra_args(false)
      ->default_str("1");
}

void add_variant_options(CLI::App& command, Options& options) {
  command.add_option("FILE", options.files, "Programs (.pte) and archives of torch.export (.pt2)")
      ->required();
  command
      .add_option("-b,--backend", options.backends,
                  "Compile archives for each of these: portable, a plugin, or A+B for several plugins in one "
                  "program. ID=PLUGIN,PLUGIN runs the delegates of programs with each of these plugins; "
                  "repeatable")
      ->type_name("LIST")
      ->allow_extra_args(false);
  add_numbers(command, "--threads", options.threads, {0, host::ThreadPool::kMaxWorkers, "0: all processors"},
              "Numbers of threads, such as 1,2,4 or 1-8*2 (doubling) or 2-8+2; 0: all processors");
  add_numbers(
      command, "--parallel", options.parallel, {1, 1024, ""},
      "Numbers of simultaneous runs, each on a thread and a copy of the method of its own, such as 1,2");
  command
      .add_option(
          "--method", options.methods,
          "Names of methods, separated by commas; *: all of the program (default: forward, or the first "
          "if there is none)")
      ->delimiter(',')
      ->type_name("NAME,...")
      ->allow_extra_args(false);
  command
      .add_option("--input-shapes", options.input_shapes,
                  "Sizes of dynamic inputs, one entry per input, such as 1x98,,2x3; repeat the option to "
                  "measure several sizes")
      ->type_name("SHAPE,...")
      ->allow_extra_args(false);
  command
      .add_option(
          "--load-mode", options.load_modes,
          "How the file is loaded, one or more of mmap (default), file and mlock, separated by commas")
      ->delimiter(',')
      ->check(tools::one_of({"mmap", "file", "mlock"}).description(""))
      ->type_name("MODE,...")
      ->allow_extra_args(false);
  command.add_flag("--list", options.lists, "Print the variants and run nothing");
}

void add_schedule_options(CLI::App& command, Options& options) {
  command
      .add_option(
          "--samples", options.samples,
          "Samples of each variant. Each is a new process that loads the variant, warms up and runs; samples "
          "of all variants alternate")
      ->check(tools::whole_number(1, 1'000'000))
      ->capture_default_str();
  command
      .add_option("--repeat", options.repeat,
                  "Timed runs in each sample (default: as many as --min-time needs)")
      ->check(tools::whole_number(1, kMaxRuns))
      ->type_name("N");
  command
      .add_option("--min-time", options.min_time, "Seconds of timed runs for each variant, without --repeat")
      ->check(CLI::Range(0.0, 1e6).description(""))
      ->type_name("SECONDS")
      ->capture_default_str();
  command
      .add_option("--max-time", options.max_time,
                  "Begin no further sample after this time for all variants together; 0: no limit")
      ->check(CLI::Range(0.0, 1e9).description(""))
      ->type_name("SECONDS")
      ->capture_default_str();
  command.add_option("--warmup", options.warmup, "Runs before the timed ones, in each process")
      ->check(tools::whole_number(0, kMaxRuns))
      ->capture_default_str();
  command
      .add_option("--warmup-time", options.warmup_time,
                  "Further runs before the timed ones until this time is over, in each process")
      ->check(CLI::Range(0.0, 1e6).description(""))
      ->type_name("SECONDS")
      ->capture_default_str();
  command.add_flag("--keep-loaded", options.keeps_loaded,
                   "Load each variant once and keep it for all samples, for programs that load slowly");
  command.add_option("--delay", options.delay_ms, "Milliseconds of rest before each sample")
      ->check(tools::whole_number(0, 3'600'000, "milliseconds"))
      ->type_name("MS")
      ->capture_default_str();
  command.add_option("--priority", options.priority, "Priority of the measured processes: -20 (first) to 19")
      ->check(CLI::Range(-20, 19).description(""))
      ->type_name("N");
  command.add_option("--cpus", options.cpus, "Run only on these processors, such as 0,2-3")
      ->check([](const std::string& text) {
        const auto parsed = parse_processors(text);
        return parsed ? std::string() : parsed.error().message;
      })
      ->type_name("LIST");
  command.add_option("--numa-node", options.numa_node, "Run only on processors and memory of this NUMA node")
      ->check(tools::whole_number(0, 1023))
      ->type_name("N");
  command.add_flag("--pin-threads", options.pins_threads, "Keep each thread on a processor of its own");
  command.add_flag(
      "--no-spin{false}", options.spins,
      "Threads without work block at once, instead of looking for work for some tens of microseconds first");
  command.add_flag("--exclude-inputs", options.excludes_inputs,
                   "Do not count the time to copy the inputs into the program's memory");
}

void add_report_options(CLI::App& command, Options& options) {
  command.add_option("--percentiles", options.percents, "Percentiles to report")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 100.0).description(""))
      ->type_name("P,...")
      ->allow_extra_args(false)
      ->default_str("50,90,95,99");
  command
      .add_option("--against", options.against,
                  "Compare with this: a file, a backend of the list, threads=N, parallel=N, method=NAME, "
                  "shapes=SHAPE,... or load-mode=MODE; it is added where it is missing")
      ->type_name("OTHER");
  command
      .add_option(
          "--fail-if-slower", options.fail_if_slower,
          "End with code 1 if a variant is slower than --against by more than this, with 95 % confidence")
      ->check(CLI::Range(0.0, 1e6).description(""))
      ->type_name("PERCENT")
      ->needs("--against");
  command.add_option("--seed", options.seed, "Seed of the confidence intervals")
      ->check(tools::whole_number(0, UINT64_MAX))
      ->capture_default_str();
  command
      .add_option("--counters", options.counters,
                  "Count these events of processor and system in each run, such as instructions,page-faults")
      ->delimiter(',')
      ->check(tools::one_of(counter_names()).description(""))
      ->type_name("NAME,...")
      ->allow_extra_args(false);
  command
      .add_option("--items", options.items,
                  "Items that a run processes, such as tokens or images: report their number per second")
      ->check(CLI::Range(1e-9, 1e18).description(""))
      ->type_name("N");
  command.add_flag(
      "--profile", options.profiles,
      "Print the operators and delegates with the largest share of the time, from runs of their own");
  command.add_option("--profile-rows", options.profile_rows, "Number of them, as text")
      ->check(tools::whole_number(1, 100'000))
      ->capture_default_str();
  command.add_option("--format", options.format, "Form of the report on standard output")
      ->check(tools::one_of({"text", "markdown", "csv", "json", "jsonl", "sql"}))
      ->capture_default_str();
  command.add_flag("--json", options.json, "The same as --format json");
  command
      .add_option(
          "-o,--output", options.outputs,
          "Write the report to this file, too, in the form of its ending: .json, .jsonl, .csv, .md, .sql, "
          "else text; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command.add_flag("--raw", options.has_raw_times, "Include the time of each run in JSON reports");
  command
      .add_option("--context", options.context,
                  "Include this text in the report, such as a commit; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

}  // namespace

void add_bench_options(CLI::App& command, Options& options) {
  add_variant_options(command, options);
  tools::add_input_options(command, options.inputs);
  command.add_option("--data", options.data_files, "External weights (.ptd); repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
  tools::add_plugin_options(command, options.plugins);
  add_schedule_options(command, options);
  add_report_options(command, options);
  tools::add_limit_options(command, options.limits);
}

}  // namespace etb::bench
