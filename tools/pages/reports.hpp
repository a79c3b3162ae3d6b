// SPDX-License-Identifier: Apache-2.0
// The documents of the pages that commands write.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "api/format/etdump.hpp"
#include "conformance/report/kinds.hpp"
#include "conformance/report/results.hpp"
#include "etb/cpp/result.hpp"
#include "partitioner_sdk/partition/report.hpp"
#include "tools/pages/document.hpp"

namespace etb::pages {

// ---- compile

struct CompiledMethod {
  std::string name;
  uint64_t instruction_count = 0, delegate_call_count = 0;
  uint64_t arena_nbytes = 0, arena_lower_bound_nbytes = 0;
};
struct CompileResult {
  std::vector<std::string> warnings;
  std::vector<CompiledMethod> methods;
  uint64_t program_nbytes = 0;                           // 0: unknown
  std::vector<std::pair<std::string, double>> steps_ms;  // time of each step of the compiler
};
// `graphs` are those of reported_graphs(), made before lowering.
Json compile_document(const partition::Report& report, Json graphs, const CompileResult& result,
                      const Facts& facts);

// The commonest reasons and all nodes outside of plugins, as parts; none when plugins run everything.
std::vector<Json> rejection_parts(const partition::Report& report);

// ---- runs

// A row of a profile. Times are averages over the runs.
struct RunRow {
  std::string name;    // "add.out", "Conv2d #1"
  std::string place;   // "12", "1:12"; "" for the whole method
  std::string plugin;  // of a delegate's call and of the events inside; "" for kernels
  bool is_inside_delegate = false;
  double us = 0, p50_us = 0, p90_us = 0, min_us = 0, max_us = 0;
  double calls = 0;
  // Where the record of the compilation is known:
  std::string op, module, source;
};
// The time of a line of the model's source. An event of several lines is divided between them.
struct RunLine {
  std::string name;    // "model.py:12"
  std::string detail;  // operators, and the plugins
  double us = 0;
};
struct RunProfile {
  std::string block;
  size_t skip = 0;  // first blocks of this name that are left out
  size_t run_count = 0;
  double run_us = 0;  // average; 0: unknown
  std::vector<RunRow> rows;
  std::vector<RunLine> lines;  // the longest first; empty without a record
  std::string record;          // file; "" for none
};
// The timeline has the events of the blocks, the other parts those of the profile.
Json run_document(const RunProfile& profile, std::span<const format::EtdumpBlock> blocks, const Facts& facts);

// ---- verify

Json verify_document(const conformance::Results& results, const conformance::Invocation& by,
                     const std::string& version);

// ---- bench and comparison

// From the JSON of `etbackend bench --json`, of any origin.
[[nodiscard]] Result<Json> bench_document(const Json& report);

// Returns the document of a page that etbackend wrote, or of a report of `bench --json`. `name` is for messages. Checks all
// members that pages use, since the file may be of any origin.
[[nodiscard]] Result<Json> read_report(std::string_view bytes, const std::string& name);

// Both must be of one kind.
[[nodiscard]] Result<Json> compare_documents(Json a, Json b, const std::string& a_name,
                                             const std::string& b_name, const Facts& facts);

}  // namespace etb::pages
