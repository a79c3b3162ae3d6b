// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/results.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace etb::bench {
namespace {

// Above these a warning is printed. Samples of a quiet machine vary by some percent, from process to process.
constexpr double kNoisyVariation = 0.10;
constexpr double kBusyProcessors = 0.25;

void evaluate_turns(const Options& options, VariantResult& result) {
  std::vector<double> all;
  double cpu = 0, elapsed = 0;
  result.counts.assign(options.counters.size(), 0.0);
  for (const Turn& turn : result.turns) {
    for (size_t i = 0; i < std::min(result.counts.size(), turn.counts.size()); ++i)
      result.counts[i] += turn.counts[i];
    all.insert(all.end(), turn.wall_us.begin(), turn.wall_us.end());
    cpu += turn.cpu_us;
    elapsed += turn.elapsed_us;
  }
  result.summary = summarise(std::move(all), options.percents);
  const Summary& summary = result.summary;
  if (summary.count > 0) result.cpu_us = cpu / static_cast<double>(summary.count);
  for (double& count : result.counts) count /= static_cast<double>(std::max<uint64_t>(summary.count, 1));
  if (elapsed > 0) result.runs_per_second = 1e6 * static_cast<double>(summary.count) / elapsed;
}

double median_of(const std::vector<Start>& starts, double Start::*member) {
  std::vector<double> values;
  for (const Start& start : starts) values.push_back(start.*member);
  return summarise(std::move(values), {}).median;
}

}  // namespace

std::vector<double> VariantResult::sample_times(uint32_t parallel) const {
  std::vector<double> out;
  for (const Turn& turn : turns) out.push_back(summarise(turn.wall_us, {}).median / parallel);
  return out;
}

Start VariantResult::median_start() const {
  return {median_of(starts, &Start::load_us), median_of(starts, &Start::init_us),
          median_of(starts, &Start::first_us)};
}

void evaluate(const Options& options, Results& results) {
  for (VariantResult& result : results.variants) {
    evaluate_turns(options, result);
    result.sample_variation = summarise(result.sample_times(1), {}).variation;
    if (result.sample_variation > kNoisyVariation)
      results.warnings.push_back(
          fmt::format("noisy: the samples of '{}' vary by {:.0f} % (sd of their medians)", result.label,
                      result.sample_variation * 100));
  }
  for (size_t i = 0; i < results.variants.size(); ++i) {
    VariantResult& result = results.variants[i];
    if (!results.list.baselines[i] || result.turns.empty()) continue;
    const VariantResult& baseline = results.variants[*results.list.baselines[i]];
    if (baseline.turns.empty()) continue;
    result.ratio = compare(result.sample_times(results.list.variants[i].parallel),
                           baseline.sample_times(results.list.variants[*results.list.baselines[i]].parallel),
                           options.seed);
  }
  if (results.other_processors > kBusyProcessors)
    results.warnings.push_back(fmt::format("other processes used {:.1f} of {} processors meanwhile",
                                           results.other_processors, results.machine.processors));
  if (results.is_cut_by_time)
    results.warnings.push_back("stopped at --max-time before all samples were measured");
  if (results.is_interrupted)
    results.warnings.push_back("interrupted: the figures are those of the samples measured so far");
}

}  // namespace etb::bench
