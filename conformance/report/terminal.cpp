#include "conformance/report/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "conformance/runner/child_body.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kMaxLiveFailures = 10;
constexpr size_t kMaxListed = 25;
constexpr uint64_t kRedrawNs = 100000000;

// Bytes of a plugin's text that would steer a terminal become dots.
std::string printable(std::string text, size_t limit) {
  if (text.size() > limit) text = text.substr(0, limit) + "...";
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = c == '\n' ? ' ' : '.';
  return text;
}

std::string first_text(const Outcome& outcome) {
  if (outcome.findings.empty()) return outcome.reason;
  return outcome.findings[0].text;
}

// Failures of one check and one op are one line.
struct Kind {
  const Outcome* example = nullptr;
  size_t count = 0;
};

size_t failures_in(const std::map<State, size_t>& states) {
  size_t count = 0;
  for (const auto& [state, number] : states) count += is_failure(state) ? number : 0;
  return count;
}

size_t count_in(const std::map<State, size_t>& states, State state) {
  const auto found = states.find(state);
  return found != states.end() ? found->second : 0;
}

void print_groups(const Totals& totals, std::ostream& out) {
  std::vector<std::pair<std::string, std::map<State, size_t>>> groups(totals.by_group.begin(),
                                                                      totals.by_group.end());
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
    return failures_in(a.second) > failures_in(b.second);
  });
  out << fmt::format("{:<8} {:>7} {:>7} {:>12} {:>8} {:>8}\n", "group", "pass", "FAIL", "unsupported",
                     "warning", "waived");
  for (const auto& [group, states] : groups)
    out << fmt::format("{:<8} {:>7} {:>7} {:>12} {:>8} {:>8}\n", group, count_in(states, State::kPass),
                       failures_in(states), count_in(states, State::kUnsupported),
                       count_in(states, State::kWarning), count_in(states, State::kWaived));
}

void print_failures(const Results& results, const std::string& target, std::ostream& out) {
  std::map<std::string, Kind> kinds;
  for (const Outcome& outcome : results.outcomes) {
    if (!is_failure(outcome.state)) continue;
    const std::string check =
        outcome.findings.empty() ? std::string(to_text(outcome.state)) : outcome.findings[0].check;
    Kind& kind = kinds[check + " " + (outcome.op.empty() ? "" : outcome.op)];
    // The shortest name is the smallest case.
    if (kind.example == nullptr || outcome.name.size() < kind.example->name.size()) kind.example = &outcome;
    ++kind.count;
  }
  std::vector<std::pair<std::string, Kind>> order(kinds.begin(), kinds.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  for (size_t i = 0; i < order.size() && i < kMaxListed; ++i) {
    const auto& [title, kind] = order[i];
    const Outcome& example = *kind.example;
    out << fmt::format("\n{} {} ({} time{})\n  {}\n", to_text(example.state), title, kind.count,
                       kind.count == 1 ? "" : "s", printable(first_text(example), 300));
    if (!example.findings.empty() && !example.findings[0].rule.empty())
      out << "  rule: " << example.findings[0].rule << '\n';
    if (!example.smallest.empty()) out << "  smallest: " << printable(example.smallest, 300) << '\n';
    if (!example.sequence.empty())
      out << "  only after: " << printable(example.sequence.substr(0, example.sequence.find('\n')), 200)
          << '\n';
    out << "  repeat: etbackend verify " << target << " --case '" << example.name << "'\n";
  }
  if (order.size() > kMaxListed)
    out << fmt::format("\n... and {} more kinds of failures\n", order.size() - kMaxListed);
}

}  // namespace

void Terminal::add(const Outcome& outcome) {
  ++done_;
  if (is_failure(outcome.state)) {
    ++failures_;
    if (printed_failures_++ < kMaxLiveFailures) {
      if (is_live_) out_ << "\r\x1b[K";
      out_ << fmt::format("{}: {}: {}\n", to_text(outcome.state), printable(outcome.name, 200),
                          printable(first_text(outcome), 200))
           << std::flush;
    }
  }
  if (is_live_ && monotonic_ns() - drawn_ns_ > kRedrawNs) draw();
}

void Terminal::draw() {
  drawn_ns_ = monotonic_ns();
  constexpr size_t kWidth = 40;
  const size_t full = item_count_ == 0 ? kWidth : std::min(kWidth, done_ * kWidth / item_count_);
  out_ << fmt::format("\r[{:#<{}}{:-<{}}] {}/{}, {} failures\x1b[K", "", full, "", kWidth - full, done_,
                      item_count_, failures_)
       << std::flush;
}

void Terminal::end() {
  if (is_live_) out_ << "\r\x1b[K" << std::flush;
}

void print_summary(const Results& results, const std::string& target, std::ostream& out) {
  const Totals totals = add_up(results.outcomes);
  const Header& header = results.header;
  out << fmt::format("{} {}: executed on the plugin / claimed: {} / {} of {} cases\n", header.plugin_id,
                     header.plugin_version, totals.executed, totals.claimed, totals.case_count);
  const size_t rows = static_cast<size_t>(std::count(header.contract.begin(), header.contract.end(), ';'));
  out << fmt::format("profile {}{}, precision {}{}{}\n\n", header.profile,
                     header.profile == "cert" ? "" : " (no certificate: only cert gives one)",
                     header.contract.substr(0, header.contract.find(';')),
                     rows != 0 ? fmt::format(" with {} declared exceptions", rows) : "",
                     header.contract == "f32" ? "" : " (reduced precision)");
  print_groups(totals, out);
  print_failures(results, target, out);
  out << '\n'
      << (totals.is_pass() ? "PASS" : "FAIL: " + totals.why_not())
      << fmt::format(", {} checks and cases", results.outcomes.size())
      << (header.profile == "cert" ? "" : " (" + header.profile + " profile)") << '\n';
}

bool print_comparison(const Results& before, const Results& now, std::ostream& out) {
  std::map<std::string, const Outcome*> old;
  for (const Outcome& outcome : before.outcomes) old[outcome.name] = &outcome;
  size_t worse = 0, better = 0, added = 0, other = 0, listed = 0;
  for (const Outcome& outcome : now.outcomes) {
    const auto found = old.find(outcome.name);
    if (found == old.end()) {
      ++added;
      continue;
    }
    const State was = found->second->state;
    old.erase(found);
    if (was == outcome.state) continue;
    const bool is_worse = is_failure(outcome.state) && !is_failure(was),
               is_better = is_failure(was) && !is_failure(outcome.state);
    ++(is_worse ? worse : is_better ? better : other);
    if ((is_worse || is_better) && listed++ < kMaxListed)
      out << fmt::format("{}: {}: {} -> {}\n", is_worse ? "worse" : "better", outcome.name, to_text(was),
                         to_text(outcome.state));
  }
  out << fmt::format("compared with before: {} worse, {} better, {} otherwise changed, {} new, {} gone\n",
                     worse, better, other, added, old.size());
  return worse != 0;
}

}  // namespace etb::conformance
