// SPDX-License-Identifier: Apache-2.0
// Sends outcomes to the file, the terminal and memory.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "conformance/report/results.hpp"
#include "conformance/report/terminal.hpp"
#include "conformance/report/waivers.hpp"
#include "tools/command.hpp"

namespace etb::tools {

// Opens a file for outcomes; "-" is standard output. `kept` are the outcomes of an earlier interrupted run.
[[nodiscard]] Result<conformance::ResultsWriter> open_results(
    const std::string& path, const conformance::Header& header, Session& session,
    const std::vector<conformance::Outcome>& kept = {});

class Collector {
 public:
  Collector(conformance::Header header, std::vector<conformance::Waiver> waivers, Session& session,
            std::ostream& progress);

  // Keeps `kept`, the outcomes of an earlier interrupted run. "-" is standard output. Without a file, outcomes are
  // only in memory.
  [[nodiscard]] Status open_file(const std::string& path, std::vector<conformance::Outcome> kept);

  void add(conformance::Outcome outcome);
  // Replaces the outcome of a failure that was examined again.
  void refine(conformance::Outcome outcome);
  // Returns an error if outcomes could not be written to the file.
  Status file_status() const { return writer_ ? writer_->status() : Status(); }
  conformance::Results take();

 private:
  Session& session_;
  std::vector<conformance::Waiver> waivers_;
  conformance::Results results_;
  std::map<std::string, size_t> failures_;  // index by name
  conformance::Terminal terminal_;
  std::optional<conformance::ResultsWriter> writer_;
};

}  // namespace etb::tools
