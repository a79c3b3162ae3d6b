// SPDX-License-Identifier: Apache-2.0
// The result of a comparison: as text, as JSON, and as the table of ExecuTorch's numeric gap.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/diff/search.hpp"

namespace etb::diff {

// Metrics by name: "mse", "l1", "snr", "cosine", "max_abs", "max_rel".
std::vector<std::string> metric_names();
double metric(const Metrics& metrics, const std::string& name);

struct ReportContext {
  const Comparison& comparison;
  std::string model;                     // its file
  std::string inputs;                    // "random inputs of seed 7"
  std::vector<std::string> comparators;  // names of the user's
  std::vector<std::string> repros;       // file of each location; "" without one
  std::vector<std::string> commands;     // that repeat each location; "" without one
};

// `max_rows`: 0 prints all; those with the largest errors come first.
std::string to_text(const ReportContext& context, const SearchResult& result, size_t max_rows);
nlohmann::ordered_json to_json(const ReportContext& context, const SearchResult& result);
// Columns: aot_debug_handle, aot_ops, aot_intermediate_output, runtime_ops, runtime_debug_handle,
// runtime_intermediate_output, gap, stacktraces. Side A is "aot", side B is "runtime". `gap`: name of a metric.
std::string to_tsv(const ReportContext& context, const SearchResult& result, const std::string& gap);

}  // namespace etb::diff
