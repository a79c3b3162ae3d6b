// Takes outcomes where they go: file, terminal, memory.
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

class Collector {
 public:
  Collector(conformance::Header header, std::vector<conformance::Waiver> waivers, Session& session);

  // Outcomes of an earlier run that was interrupted stay as they are. Without a file outcomes are only in memory.
  [[nodiscard]] Status open_file(const std::string& path, std::vector<conformance::Outcome> kept);

  void add(conformance::Outcome outcome);
  // A failure again, with what a closer look found.
  void refine(conformance::Outcome outcome);
  // Whether all outcomes reached the file, where there is one.
  Status file_status() const { return writer_ ? writer_->status() : Status(); }
  conformance::Results take();

 private:
  std::vector<conformance::Waiver> waivers_;
  conformance::Results results_;
  std::map<std::string, size_t> failures_;  // where they are
  conformance::Terminal terminal_;
  std::optional<conformance::ResultsWriter> writer_;
};

}  // namespace etb::tools
