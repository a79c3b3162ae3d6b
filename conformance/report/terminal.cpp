// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "api/format/time_left.hpp"
#include "conformance/report/coverage.hpp"
#include "conformance/subject/monotonic_clock.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kMaxLiveFailures = 10;
constexpr size_t kMaxListed = 25;
constexpr uint64_t kRedrawNs = 100000000;

// Replaces bytes of a plugin's text that could control the terminal by dots.
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

// Prints the most important of what the plugin claims and no case ran.
void print_untested(const Results& results, std::ostream& out) {
  constexpr size_t kMostGaps = 6;
  const std::vector<Gap> gaps = find_gaps(cover(results));
  if (gaps.empty()) return;
  out << "claimed, and not tested in this run:\n";
  for (size_t i = 0; i < gaps.size() && i < kMostGaps; ++i)
    out << "  " << printable(to_text(gaps[i]), 200) << '\n';
  if (gaps.size() > kMostGaps)
    out << fmt::format("  and {} more: --coverage FILE or --html FILE\n", gaps.size() - kMostGaps);
  out << '\n';
}

// Prints the circumstances that a reader needs to judge or to repeat the run.
void print_run(const Header& header, std::ostream& out) {
  constexpr size_t kShownDigits = 12;
  if (header.date.empty()) return;
  out << fmt::format("run: {}, on {}\n", header.date, printable(header.host, 200));
  out << fmt::format("run: {}\n", printable(header.command, 300));
  out << fmt::format("run: suite {} {}, seed {}\n", header.suite_version,
                     header.suite_digest.substr(0, kShownDigits), header.seed);
  if (!header.delegate_options.empty())
    out << fmt::format("run: delegates have the options {}\n", printable(header.delegate_options, 300));
}

void print_kind(const Kind& kind, const Invocation& by, std::ostream& out) {
  const Outcome& example = *kind.outcomes[0];
  out << fmt::format("\n{} {} ({} time{})\n  {}\n", to_text(example.state), kind.title, kind.outcomes.size(),
                     kind.outcomes.size() == 1 ? "" : "s", printable(first_text(example), 300));
  if (!example.findings.empty() && !example.findings[0].rule.empty())
    out << "  rule: " << example.findings[0].rule << '\n';
  if (!example.smallest.empty()) out << "  smallest: " << printable(example.smallest, 300) << '\n';
  if (!example.sequence.empty()) {
    const size_t end = example.sequence.find_last_not_of('\n');
    out << "  only after: " << printable(example.sequence.substr(0, end + 1), 200) << '\n';
  }
  out << "  repeat: " << repeat_command(by, example) << '\n';
}

// Prints the results of repeating the failures.
void print_looks(const Looks& looks, const Invocation& by, std::ostream& out) {
  if (looks.smaller + looks.itself + looks.after_others + looks.flaky + looks.none == 0) return;
  out << "\nfailures run again:";
  bool is_first = true;
  const auto say = [&](size_t count, const char* text) {
    if (count != 0) out << fmt::format("{} {} {}", std::exchange(is_first, false) ? "" : ",", count, text);
  };
  say(looks.smaller, "made smaller");
  say(looks.itself, "cannot be smaller");
  say(looks.after_others, "fail only after other cases");
  say(looks.flaky, "did not fail again");
  say(looks.none, "not tried (--no-confirm, or --minimise-time was over)");
  out << '\n';
  if (by.saved_in.empty())
    out << "each as a file to run again: --save FOLDER\n";
  else
    out << "each has a file in " << by.saved_in << ", and its command in " << by.saved_in
        << "/failures.txt\n";
}

void print_failures(const Results& results, const Invocation& by, std::ostream& out) {
  const std::vector<Kind> kinds = kinds_of_failures(results.outcomes);
  for (size_t i = 0; i < kinds.size() && i < kMaxListed; ++i) print_kind(kinds[i], by, out);
  if (kinds.size() > kMaxListed)
    out << fmt::format("\n... and {} more kinds of failures\n", kinds.size() - kMaxListed);
  if (!kinds.empty()) print_looks(count_looks(results.outcomes), by, out);
}

}  // namespace

Terminal::Terminal(std::ostream& out, size_t item_count, bool is_live)
    : out_(out), item_count_(item_count), is_live_(is_live), begin_ns_(monotonic_ns()) {}

void Terminal::add(const Outcome& outcome) {
  ++done_;
  if (is_failure(outcome.state)) {
    ++failures_;
    if (printed_failures_++ == kMaxLiveFailures) {
      if (is_live_) out_ << "\r\x1b[K";
      out_ << "... more failures follow; the summary has them all by kind\n" << std::flush;
    } else if (printed_failures_ <= kMaxLiveFailures) {
      if (is_live_) out_ << "\r\x1b[K";
      out_ << fmt::format("{}: {}: {}\n", to_text(outcome.state), printable(outcome.name, 200),
                          printable(first_text(outcome), 200))
           << std::flush;
    }
  }
  if (is_live_ && monotonic_ns() - drawn_ns_ > kRedrawNs) draw();
}

void Terminal::refine(const Outcome&) {
  ++refined_;
  if (!is_live_ || monotonic_ns() - drawn_ns_ <= kRedrawNs) return;
  drawn_ns_ = monotonic_ns();
  out_ << fmt::format("\rmaking failures smaller: {}/{}\x1b[K", refined_, failures_) << std::flush;
}

void Terminal::draw() {
  drawn_ns_ = monotonic_ns();
  constexpr size_t kWidth = 28;  // the whole line fits into 80 columns
  const size_t done = kept_ + done_;
  const size_t full = item_count_ == 0 ? kWidth : std::min(kWidth, done * kWidth / item_count_);
  const double seconds = static_cast<double>(drawn_ns_ - begin_ns_) / 1e9;
  out_ << fmt::format("\r[{:#<{}}{:-<{}}] {}/{}, {} failure{}{}\x1b[K", "", full, "", kWidth - full, done,
                      item_count_, failures_, failures_ == 1 ? "" : "s",
                      format::time_left_text(seconds, done_, item_count_ - std::min(item_count_, kept_)))
       << std::flush;
}

void Terminal::end() {
  if (is_live_) out_ << "\r\x1b[K" << std::flush;
}

void print_summary(const Results& results, const Invocation& by, std::ostream& out) {
  const Totals totals = add_up(results);
  const Header& header = results.header;
  out << fmt::format("{} {}: executed on the plugin / claimed: {} / {} of {} cases\n", header.plugin_id,
                     header.plugin_version, totals.executed, totals.claimed, totals.case_count);
  print_run(header, out);
  const size_t rows = static_cast<size_t>(std::count(header.contract.begin(), header.contract.end(), ';'));
  out << fmt::format("profile {}{}, precision {}{}{}\n\n", header.profile,
                     header.profile == "cert" ? "" : " (no certificate: only cert gives one)",
                     header.contract.substr(0, header.contract.find(';')),
                     rows != 0 ? fmt::format(" with {} declared exceptions", rows) : "",
                     header.contract == "f32" ? "" : " (reduced precision)");
  print_untested(results, out);
  print_groups(totals, out);
  print_failures(results, by, out);
  out << '\n'
      << (totals.is_pass() ? "PASS" : "FAIL: " + totals.why_not())
      << fmt::format(", {} checks and cases", results.outcomes.size())
      << (header.profile == "cert" ? "" : " (" + header.profile + " profile)") << '\n';
  if (totals.is_part)
    out << fmt::format("this is shard {}; the verdict about the plugin is that of all shards: --merge\n",
                       header.shard);
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
