// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/benchmark.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <thread>

#include "api/format/time_left.hpp"
#include "tools/bench/compiled_file.hpp"
#include "tools/bench/worker.hpp"
#include "tools/progress.hpp"
#include "tools/run/timing.hpp"

namespace etb::bench {
namespace {

constexpr double kProfileSeconds = 1;
constexpr uint32_t kMostProfileRuns = 200;

class Benchmark {
 public:
  Benchmark(const Options& options, const Environment& environment, Results& results)
      : options_(options),
        environment_(environment),
        results_(results),
        runs_(results.list.variants.size()),
        progress_(environment.is_quiet) {}

  void run() {
    compile();
    measure();
    for (size_t i = 0; i < runs_.size(); ++i) stop(i);
    if (options_.profiles) measure_profiles();
    results_.is_interrupted = is_interrupted();
  }

 private:
  // State of a variant.
  struct Run {
    const CompiledFile* program = nullptr;  // of an archive
    std::optional<Worker> worker;
    uint32_t repeat = 0;  // 0: not known yet
  };

  bool is_interrupted() const { return environment_.interrupted.load(); }
  VariantResult& result(size_t index) { return results_.variants[index]; }

  // Keeps the first error of a variant. An interruption is no error of a variant.
  bool keep_error(size_t index, const Error& error) {
    if (!is_interrupted() && !result(index).error) result(index).error = error;
    stop(index);
    return false;
  }

  // Calls `job` for each variant without an error, until Ctrl-C. Every second call goes through them in
  // reverse: A B, B A. Each variant is then as often before as after another one, and a slow drift of the
  // machine's speed affects both alike.
  template <class Job>
  void for_each(Job job) {
    const size_t count = runs_.size();
    for (size_t i = 0; i < count && !is_interrupted(); ++i) {
      const size_t index = is_reversed_ ? count - 1 - i : i;
      if (!result(index).error) job(index);
    }
    is_reversed_ = !is_reversed_;
  }

  Setup setup_of(size_t index) const {
    const Run& run = runs_[index];
    return {options_, results_.list.variants[index], run.program == nullptr ? -1 : run.program->file.get(),
            environment_.registry, environment_.secure};
  }

  void compile();
  bool start(size_t index);
  [[nodiscard]] Status warm_up_longer(size_t index, const Turn& warm);
  void choose_repeat(size_t index, const Turn& warm);
  void stop(size_t index);
  void measure();
  void show_round(uint32_t round, double elapsed_seconds);
  bool take_sample(size_t index);
  void measure_profiles();
  void rest() const;
  double own_seconds() const;

  const Options& options_;
  const Environment& environment_;
  Results& results_;
  std::vector<Run> runs_;
  std::map<std::pair<std::string, std::vector<std::string>>, CompiledFile>
      programs_;  // by archive and plugins
  bool is_reversed_ = false;
  double ended_seconds_ = 0;  // processor time of ended processes
  tools::Stopwatch watch_;    // since the start of the first sample
  tools::Progress progress_;
};

void Benchmark::compile() {
  for_each([&](size_t index) {
    const Variant& variant = results_.list.variants[index];
    std::error_code ignored;
    if (!variant.is_archive) {
      result(index).file_nbytes = std::filesystem::file_size(variant.file, ignored);
      return;
    }
    const std::pair key(variant.file, variant.plugins);
    auto found = programs_.find(key);
    if (found == programs_.end()) {
      progress_.show("compiling " + result(index).label);
      Result<CompiledFile> made = compile_archive(variant, environment_);
      if (!made) return void(keep_error(index, made.error()));
      found = programs_.emplace(key, *std::move(made)).first;
    }
    runs_[index].program = &found->second;
    result(index).file_nbytes = found->second.nbytes;
    result(index).compile_us = found->second.compile_us;
  });
  is_reversed_ = false;
}

// Starts a process for the variant, and warms it up.
bool Benchmark::start(size_t index) {
  const bool is_first = result(index).starts.empty();
  Result<Worker> worker = Worker::start(setup_of(index), environment_.interrupted, result(index));
  if (!worker) return keep_error(index, worker.error());
  runs_[index].worker.emplace(*std::move(worker));
  const uint32_t timed = std::min(options_.warmup, 3u);
  const Result<Turn> warm = runs_[index].worker->run(timed, options_.warmup - timed, &result(index));
  if (!warm) return keep_error(index, warm.error());
  if (const Status status = warm_up_longer(index, *warm); !status) return keep_error(index, status.error());
  if (runs_[index].repeat == 0) choose_repeat(index, *warm);
  if (is_first && !results_.list.variants[index].plugins.empty() && result(index).delegates.empty())
    results_.warnings.push_back(fmt::format(
        "'{}': no plugin accepted a node, so that all of it runs on portable kernels", result(index).label));
  return true;
}

// Runs until --warmup-time is over, in pieces of about a tenth of it.
Status Benchmark::warm_up_longer(size_t index, const Turn& warm) {
  double us = result(index).starts.back().first_us;
  for (const double run_us : warm.wall_us) us = std::min(us, run_us);
  const double wanted = options_.warmup_time * 1e6;
  const auto piece = static_cast<uint32_t>(std::clamp(wanted / 10 / std::max(us, 0.01), 1.0, 1e6));
  const tools::Stopwatch watch;
  while (watch.us() < wanted && !is_interrupted()) {
    const Result<Turn> turn = runs_[index].worker->run(0, piece);
    if (!turn) return tl::make_unexpected(turn.error());
  }
  return {};
}

// Samples of all variants take about the same time.
void Benchmark::choose_repeat(size_t index, const Turn& warm) {
  double us = result(index).starts.back().first_us;
  for (const double run_us : warm.wall_us) us = std::min(us, run_us);
  const double wanted = std::ceil(options_.min_time * 1e6 / options_.samples / std::max(us, 0.01));
  const double most = std::max(1.0, static_cast<double>(kMaxRuns) / options_.samples);
  runs_[index].repeat =
      options_.repeat != 0 ? options_.repeat : static_cast<uint32_t>(std::clamp(wanted, 1.0, most));
}

void Benchmark::stop(size_t index) {
  auto& worker = runs_[index].worker;
  if (worker) ended_seconds_ += worker->cpu_seconds();
  worker.reset();
}

void Benchmark::rest() const {
  // In pieces, so that Ctrl-C ends it.
  for (uint32_t left = options_.delay_ms; left > 0 && !is_interrupted();) {
    const uint32_t piece = std::min(left, 50u);
    std::this_thread::sleep_for(std::chrono::milliseconds(piece));
    left -= piece;
  }
}

double Benchmark::own_seconds() const {
  double out = cpu_seconds(::getpid()) + ended_seconds_;
  for (const Run& run : runs_)
    if (run.worker) out += run.worker->cpu_seconds();
  return out;
}

// A new process for each sample: addresses of code and data differ from process to process, and so do times,
// by some percent. Comparisons of the same two processes would take such luck for a difference of programs.
bool Benchmark::take_sample(size_t index) {
  rest();
  if (is_interrupted()) return false;
  const double begin_seconds = watch_.us() / 1e6;
  const bool is_warm = !runs_[index].worker;
  if (is_warm && !start(index)) return false;
  Run& run = runs_[index];
  // In a kept process, other variants have filled the caches meanwhile.
  const uint32_t settling = is_warm || run.repeat == 1 ? 0 : 1;
  Result<Turn> turn = run.worker->run(run.repeat, settling);
  if (!turn) return keep_error(index, turn.error());
  turn->begin_seconds = begin_seconds;
  result(index).turns.push_back(*std::move(turn));
  if (!options_.keeps_loaded) stop(index);
  return true;
}

// Fewer samples than planned are taken when the time for all of them is over.
void Benchmark::show_round(uint32_t round, double elapsed_seconds) {
  const uint32_t count = options_.samples;
  if (round == 0) return progress_.show(fmt::format("measuring, {} samples", count));
  double left = elapsed_seconds / round * (count - round);
  if (options_.max_time > 0) left = std::min(left, std::max(options_.max_time - elapsed_seconds, 0.0));
  progress_.show_often(fmt::format("measuring {} of {} samples, about {} left", round + 1, count,
                                   format::duration_text(left)));
}

void Benchmark::measure() {
  const double busy_before = busy_seconds(), own_before = own_seconds();
  watch_ = {};
  const auto seconds = [this] { return watch_.us() / 1e6; };
  for (uint32_t round = 0; round < options_.samples && !is_interrupted(); ++round) {
    if (options_.max_time > 0 && round > 0 && seconds() + seconds() / round > options_.max_time) {
      results_.is_cut_by_time = true;
      break;
    }
    show_round(round, seconds());
    for_each([&](size_t index) { take_sample(index); });
  }
  results_.seconds = seconds();
  const double others = (busy_seconds() - busy_before) - (own_seconds() - own_before);
  // The system counts in ticks of 10 ms: a short benchmark shows nothing.
  if (results_.seconds > 0.5) results_.other_processors = std::max(0.0, others / results_.seconds);
}

void Benchmark::measure_profiles() {
  for_each([&](size_t index) {
    progress_.show("profiling " + result(index).label);
    double us = result(index).starts.back().first_us;
    for (const double sample_us : result(index).sample_times(1)) us = std::min(us, sample_us);
    const double wanted = kProfileSeconds * 1e6 / std::max(us, 1.0);
    const auto runs = static_cast<uint32_t>(std::clamp<double>(wanted, 3, kMostProfileRuns));
    auto rows = profile(setup_of(index), runs, environment_.interrupted);
    if (rows)
      result(index).profile = *std::move(rows);
    else
      keep_error(index, make_error(rows.error().code, "profile: " + rows.error().message).value());
  });
}

}  // namespace

void run_benchmark(const Options& options, const Environment& environment, Results& results) {
  const std::vector<std::string> labels = results.list.labels();
  results.variants.resize(labels.size());
  for (size_t i = 0; i < labels.size(); ++i) results.variants[i].label = labels[i];
  Benchmark(options, environment, results).run();
}

}  // namespace etb::bench
