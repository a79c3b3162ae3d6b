// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/collector.hpp"

#include <utility>

#include "tools/screen.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {

using conformance::Outcome;
using conformance::ResultsWriter;

Result<ResultsWriter> open_results(const std::string& path, const conformance::Header& header,
                                   Session& session, const std::vector<Outcome>& kept) {
  if (path != kStandardFile) return ResultsWriter::open(path, header, kept);
  const auto put = [&session](std::string_view line) -> Status {
    ETB_TRY(write_output(std::string(kStandardFile), line, session));
    session.raw_out->flush();  // for a reader that follows the run
    return {};
  };
  return ResultsWriter::open(put, header);
}

Collector::Collector(conformance::Header header, std::vector<conformance::Waiver> waivers, Session& session,
                     std::ostream& progress)
    : session_(session),
      waivers_(std::move(waivers)),
      terminal_(progress, header.item_count, session.screen != nullptr && &progress == &session.out) {
  if (session.screen != nullptr) session.screen->allow_redraw();
  results_.header = std::move(header);
}

Status Collector::open_file(const std::string& path, std::vector<Outcome> kept) {
  if (path.empty()) return {};
  results_.outcomes = std::move(kept);
  terminal_.keep(results_.outcomes.size());
  ETB_ASSIGN(ResultsWriter writer, open_results(path, results_.header, session_, results_.outcomes));
  writer_.emplace(std::move(writer));
  return {};
}

void Collector::add(Outcome outcome) {
  if (is_failure(outcome.state)) failures_[outcome.name] = results_.outcomes.size();
  apply_waivers(waivers_, results_.header.plugin_id, outcome);
  if (writer_ && outcome.state != conformance::State::kNotRun) writer_->add(outcome);
  terminal_.add(outcome);
  results_.outcomes.push_back(std::move(outcome));
}

void Collector::refine(Outcome outcome) {
  const auto found = failures_.find(outcome.name);
  if (found == failures_.end()) return;
  apply_waivers(waivers_, results_.header.plugin_id, outcome);
  if (writer_) writer_->add(outcome);
  terminal_.refine(outcome);
  results_.outcomes[found->second] = std::move(outcome);
}

conformance::Results Collector::take() {
  terminal_.end();
  return std::move(results_);
}

}  // namespace etb::tools
