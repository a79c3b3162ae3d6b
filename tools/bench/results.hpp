// SPDX-License-Identifier: Apache-2.0
// Results of a benchmark, for every kind of report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/bench/machine.hpp"
#include "tools/bench/paired_ratio.hpp"
#include "tools/bench/statistics.hpp"
#include "tools/bench/variants.hpp"

namespace etb::bench {

// One start of a variant in a new process.
struct Start {
  double load_us = 0;   // opens and verifies the file
  double init_us = 0;   // loads the method, with its delegates and their plugins
  double first_us = 0;  // first run
};

// Successive runs of a variant: one sample.
struct Turn {
  std::vector<double> wall_us;  // of each run
  double cpu_us = 0;            // of all runs and all threads together
  double elapsed_us = 0;        // the sum of wall_us, or less if runs are simultaneous
  double begin_seconds = 0;     // since the start of the first sample
  std::vector<double> counts;   // of all runs and all threads together, in the order of --counters
};

struct DelegateUse {
  std::string id, plugin, version;
  uint32_t count = 0;
};

struct ProfileRow {
  std::string name;
  std::string kind;  // operator, delegate, event (inside of the delegate before it), runtime
  double calls = 0;  // of one run
  double us = 0;     // of one run
  double share = 0;  // of the time of a run
};

struct VariantResult {
  std::string label;
  std::optional<Error> error;
  std::string method;
  uint64_t file_nbytes = 0;  // of the program
  std::optional<double> compile_us;
  std::vector<Start> starts;
  std::vector<Turn> turns;     // samples
  uint64_t memory_nbytes = 0;  // growth of the peak resident set since before the load
  std::vector<DelegateUse> delegates;
  std::vector<std::string> notes;
  std::vector<ProfileRow> profile;
  std::optional<PairedRatio> ratio;
  // Derived from `turns`
  Summary summary;
  double sample_variation = 0;  // coefficient of variation of the times of samples
  double cpu_us = 0;            // of one run
  double runs_per_second = 0;
  std::vector<double> counts;     // of one run, in the order of --counters
  bool counts_user_only = false;  // the system did not allow to count its own work

  Start median_start() const;
  // Returns the typical time of each sample for one run: the median of its runs, which a pause of the system
  // during some of them does not change. Simultaneous runs divide it.
  std::vector<double> sample_times(uint32_t parallel) const;
};

struct Results {
  VariantList list;
  std::vector<VariantResult> variants;  // in the order of the list
  Machine machine;
  std::string version, date, command_line;
  std::vector<std::string> warnings;
  double seconds = 0;           // of all samples, with their starts
  double other_processors = 0;  // processors that other processes used meanwhile
  bool is_interrupted = false;
  bool is_cut_by_time = false;
};

// Fills the derived members, and adds warnings about noise.
void evaluate(const Options& options, Results& results);

}  // namespace etb::bench
