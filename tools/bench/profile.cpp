// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace etb::bench {

using host::EventKind;

Profile::Profile() {
  sink_.struct_size = sizeof(sink_);
  sink_.ctx = this;
  sink_.put = &Profile::put;
}

// The map allocates in the first run, which is a warm-up run; later ones find their entries.
void Profile::on_event(const host::Event& event) noexcept {
  if (event.kind == EventKind::kLoadMethod || event.kind == EventKind::kInitMethod) return;
  const uint64_t ns = event.end_ns - event.begin_ns;
  if (event.kind == EventKind::kExecute) {
    ++runs_;
    total_ns_ += ns;
    return;
  }
  Entry& entry = entries_[{event.chain_index, event.instruction_index, event.kind}];
  if (entry.name.empty()) entry.name = event.name == nullptr ? "" : event.name;
  entry.kind = event.kind;
  entry.ns += ns;
  ++entry.calls;
}

void Profile::clear() noexcept {
  runs_ = total_ns_ = 0;
  for (auto& [key, entry] : entries_) {
    entry.ns = entry.calls = 0;
    for (auto& [name, sum] : entry.events) sum = {};
  }
}

const etb_event_sink* Profile::delegate_events(int32_t chain_index, int32_t instruction_index) noexcept {
  delegate_ = {chain_index, instruction_index, EventKind::kDelegate};
  return &sink_;
}

etb_status Profile::put(void* self, const etb_event* event) noexcept {
  auto& profile = *static_cast<Profile*>(self);
  // Ticks of another clock can be counted, too: only their difference is used.
  if (event->ns_denominator == 0 || event->end_ticks < event->begin_ticks) return ETB_OK;
  const double ticks = static_cast<double>(event->end_ticks - event->begin_ticks);
  const double ns =
      ticks * static_cast<double>(event->ns_numerator) / static_cast<double>(event->ns_denominator);
  const std::string name =
      event->name != nullptr ? std::string(event->name) : fmt::format("debug id {}", event->debug_id);
  auto& [calls, sum] = profile.entries_[profile.delegate_].events[name];
  ++calls;
  sum += static_cast<uint64_t>(ns);
  return ETB_OK;
}

std::vector<ProfileRow> Profile::rows() const {
  const double runs = static_cast<double>(std::max<uint64_t>(runs_, 1));
  const auto row = [&](std::string name, const char* kind, uint64_t calls, uint64_t ns) {
    return ProfileRow{std::move(name), kind, static_cast<double>(calls) / runs,
                      static_cast<double>(ns) / runs / 1e3,
                      total_ns_ == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(total_ns_)};
  };
  // Each group is a row and the rows of its plugin's events.
  std::vector<std::vector<ProfileRow>> groups;
  std::map<std::string, std::pair<uint64_t, uint64_t>> operators;
  uint64_t counted = 0;
  for (const auto& [key, entry] : entries_) {
    if (entry.kind == EventKind::kKernel) {
      operators[entry.name].first += entry.calls;
      operators[entry.name].second += entry.ns;
      counted += entry.ns;
    }
    if (entry.kind != EventKind::kDelegate) continue;
    counted += entry.ns;
    const auto& [chain, instruction, kind] = key;
    const std::string where = chain == 0 ? fmt::format("instruction {}", instruction)
                                         : fmt::format("chain {}, instruction {}", chain, instruction);
    auto& group = groups.emplace_back();
    group.push_back(row(fmt::format("{} ({})", entry.name, where), "delegate", entry.calls, entry.ns));
    for (const auto& [name, sum] : entry.events) group.push_back(row(name, "event", sum.first, sum.second));
    std::stable_sort(group.begin() + 1, group.end(),
                     [](const ProfileRow& a, const ProfileRow& b) { return a.us > b.us; });
  }
  for (const auto& [name, sum] : operators) groups.push_back({row(name, "operator", sum.first, sum.second)});
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.front().us > b.front().us; });
  std::vector<ProfileRow> out;
  for (auto& group : groups) out.insert(out.end(), group.begin(), group.end());
  out.push_back(row("(runtime)", "runtime", runs_, total_ns_ > counted ? total_ns_ - counted : 0));
  return out;
}

}  // namespace etb::bench
