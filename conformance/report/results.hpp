// SPDX-License-Identifier: Apache-2.0
// Results of a run: header, outcomes and totals. results.jsonl has the header and one line per outcome. A
// failure that was examined again has a second line; the last line of a name counts.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/outcome/outcome_json.hpp"
#include "etb/cpp/result.hpp"

namespace etb::conformance {

struct Header {
  uint32_t suite_version = 1;
  std::string profile;
  std::string plugin_id;
  std::string plugin_version;
  std::string plugin_path;
  std::string library_sha256;  // "" for a static plugin
  std::string backend_id;
  std::string contract;
  std::string delegate_options;  // "float16=storage fusion=all"; "": none were given
  size_t item_count = 0;
  std::string shard;  // "2/8", "" for all items
  std::string date;   // beginning of the run, "2026-11-23T17:00:00Z"
  std::string host;   // processor, kernel and system
  std::string command;
  std::string suite_digest;  // names of all cases and checks, and the suite version, in hex
  uint32_t seed = 0;         // 0: the suite's own random numbers
};
nlohmann::ordered_json to_json(const Header& header);

struct Results {
  Header header;
  std::vector<Outcome> outcomes;
};

struct Totals {
  std::map<State, size_t> by_state;
  std::map<std::string, std::map<State, size_t>> by_group;
  size_t case_count = 0, claimed = 0, executed = 0;
  size_t failures = 0;
  bool is_part = false;  // one shard of a run
  size_t of(State state) const;
  // True if no item failed and at least one case ran on the plugin. Runs of checks only need none. A single
  // shard needs none either: --merge checks that for all shards together.
  bool is_pass() const { return why_not().empty(); }
  // Returns the reason for the report's last line if is_pass() is false.
  std::string why_not() const;
};
Totals add_up(const std::vector<Outcome>& outcomes);
// As above, for results that may be one shard.
Totals add_up(const Results& results);

// Reads results.jsonl. Ignores a last line cut off by an interruption. Any other line that is no outcome is
// an error.
[[nodiscard]] Result<Results> read_results(const std::string& path);

// Writes line by line. Each outcome is on disk before the next one.
class ResultsWriter {
 public:
  // With outcomes of an interrupted run: writes them first, then replaces the old file at once.
  [[nodiscard]] static Result<ResultsWriter> open(const std::string& path, const Header& header,
                                                  const std::vector<Outcome>& kept = {});
  // Passes each line to `put`, for standard output.
  using Put = std::function<Status(std::string_view line)>;
  [[nodiscard]] static Result<ResultsWriter> open(Put put, const Header& header);
  void add(const Outcome& outcome);
  // Returns the first error of add(), such as a full disk or a closed pipe.
  const Status& status() const { return status_; }

 private:
  explicit ResultsWriter(Put put) : put_(std::move(put)) {}
  Put put_;
  Status status_;
};

// Merges shards. Errors: INCOMPATIBLE for shards of different plugins, suites or contracts, for items that
// occur twice, and for an incomplete set of shards.
[[nodiscard]] Result<Results> merge(const std::vector<Results>& shards);

// Writes a whole file. The error names it.
[[nodiscard]] Status write_file(const std::string& path, const std::string& content);

}  // namespace etb::conformance
