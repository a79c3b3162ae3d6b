#include "conformance/runner/shrink.hpp"

#include <poll.h>

#include "conformance/runner/child.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kMaxReplays = 60;

// Whether the last of `items` fails in the way of `state` in a fresh child: deaths are deaths, findings findings.
bool fails(const Plan& plan, std::vector<uint32_t> items, State state, const std::atomic<bool>& stop) {
  const std::string name = plan.items[items.back()].name;
  const bool wants_death = state == State::kCrash || state == State::kHang;
  Result<std::unique_ptr<Child>> child = Child::start(plan, std::move(items));
  if (!child) return false;
  bool has_failed = false;
  while ((*child)->step([&](const Outcome& outcome) {
    has_failed = has_failed || (outcome.name == name && is_failure(outcome.state));
  })) {
    if (stop.load()) return false;
    pollfd waiting{(*child)->fd(), POLLIN, 0};
    ::poll(&waiting, 1, 5);
  }
  const bool has_died = (*child)->done_count() + 1 == (*child)->items().size();  // in the last item
  return wants_death ? has_died : has_failed;
}

}  // namespace

Shrunk shrink(const Plan& plan, const std::vector<uint32_t>& prefix, uint32_t item, State state,
              const std::atomic<bool>& stop) {
  Shrunk out;
  const auto fails_after = [&](const std::vector<uint32_t>& before) {
    ++out.replay_count;
    std::vector<uint32_t> items = before;
    items.push_back(item);
    return fails(plan, std::move(items), state, stop);
  };
  out.fails_alone = fails_after({});
  if (out.fails_alone || prefix.empty()) return out;
  out.fails_again = fails_after(prefix);
  if (!out.fails_again) return out;
  out.sequence = prefix;
  // ddmin: leave out one of ever more pieces.
  for (size_t pieces = 2; out.sequence.size() > 1 && pieces <= out.sequence.size() &&
                          out.replay_count < kMaxReplays && !stop.load();) {
    const size_t piece = (out.sequence.size() + pieces - 1) / pieces;
    bool has_shrunk = false;
    for (size_t at = 0; at < out.sequence.size() && out.replay_count < kMaxReplays; at += piece) {
      std::vector<uint32_t> less(out.sequence.begin(), out.sequence.begin() + static_cast<long>(at));
      less.insert(less.end(),
                  out.sequence.begin() + static_cast<long>(std::min(at + piece, out.sequence.size())),
                  out.sequence.end());
      if (less.empty() || !fails_after(less)) continue;
      out.sequence = std::move(less);
      pieces = std::max<size_t>(pieces - 1, 2);
      has_shrunk = true;
      break;
    }
    if (!has_shrunk) {
      if (pieces >= out.sequence.size()) break;
      pieces = std::min(pieces * 2, out.sequence.size());
    }
  }
  return out;
}

}  // namespace etb::conformance
