// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/collector.hpp"

#include <utility>

#include "tools/screen.hpp"

namespace etb::tools {

using conformance::Outcome;

Collector::Collector(conformance::Header header, std::vector<conformance::Waiver> waivers, Session& session,
                     std::ostream& progress)
    : waivers_(std::move(waivers)),
      terminal_(progress, header.item_count, session.screen != nullptr && &progress == &session.out) {
  if (session.screen != nullptr) session.screen->allow_redraw();
  results_.header = std::move(header);
}

Status Collector::open_file(const std::string& path, std::vector<Outcome> kept) {
  if (path.empty()) return {};
  results_.outcomes = std::move(kept);
  ETB_ASSIGN(conformance::ResultsWriter writer,
             conformance::ResultsWriter::open(path, results_.header, results_.outcomes));
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
