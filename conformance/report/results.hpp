// Results of a run: the header, the outcomes, and what they add up to. results.jsonl is the header and one line an outcome; a failure comes
// once more when it was looked at closely, and the last line of a name counts.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/format/output_file.hpp"
#include "conformance/report/outcome_json.hpp"
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
  size_t item_count = 0;
  std::string shard;  // "2/8", "" for everything
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
  bool is_part = false;  // of a run that is cut into shards
  size_t of(State state) const;
  // Nothing fails, and something ran on the plugin, unless only checks were asked for, which execute nothing that counts. In one shard of a run
  // nothing needs to run on the plugin: whether it does is a statement about all shards together, which --merge makes.
  bool is_pass() const { return why_not().empty(); }
  // What the last line says when is_pass() is false.
  std::string why_not() const;
};
Totals add_up(const std::vector<Outcome>& outcomes);
// The same, for a shard as a part.
Totals add_up(const Results& results);

// Reads results.jsonl. A last line that was cut off by an interruption is left out; anything else that is no outcome is an error.
[[nodiscard]] Result<Results> read_results(const std::string& path);

// Writes line by line; each outcome is on disk before the next one.
class ResultsWriter {
 public:
  // With outcomes of an earlier run that was interrupted: they are written first, and the old file is replaced at once.
  [[nodiscard]] static Result<ResultsWriter> open(const std::string& path, const Header& header,
                                                  const std::vector<Outcome>& kept = {});
  void add(const Outcome& outcome);
  // The first error of add(): a disk that is full, a reader that has gone.
  const Status& status() const { return status_; }

 private:
  explicit ResultsWriter(format::OutputFile file) : file_(std::move(file)) {}
  format::OutputFile file_;
  Status status_;
};

// Puts shards together. Refuses (Code::INCOMPATIBLE) those of other plugins, suites or contracts, items that occur twice, and a part of the
// shards for the whole.
[[nodiscard]] Result<Results> merge(const std::vector<Results>& shards);

// Writes a whole file; the error names it.
[[nodiscard]] Status write_file(const std::string& path, const std::string& content);

}  // namespace etb::conformance
