// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/event_rows.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>
#include <tuple>

namespace etb::inspect {
namespace {

using format::EtdumpBlock;
using format::EtdumpEvent;

constexpr std::string_view kNativeCall = "native_call_", kOperatorCall = "OPERATOR_CALL",
                           kMethod = "Method::execute";

double us_of(const EtdumpEvent& event) { return static_cast<double>(event.end_ns - event.begin_ns) / 1e3; }

std::string delegate_name(const EtdumpEvent& event) {
  return event.delegate_debug_name.empty() ? "debug id " + std::to_string(event.delegate_debug_id)
                                           : event.delegate_debug_name;
}

// Rows of one block. The events inside of a delegate are stored before its call, and come after it here.
class BlockRows {
 public:
  explicit BlockRows(Grouping grouping) : grouping_(grouping) {}

  void add(const EtdumpEvent& event) {
    if (grouping_ == Grouping::kEvent) {
      put(event.is_of_delegate() ? delegate_name(event) : event.name, event, event.is_of_delegate());
      return;
    }
    if (event.is_of_delegate()) {
      inside_.push_back(&event);
      return;
    }
    // The kernel's own event names the operator; the time is that of the call.
    if (event.name.starts_with(kNativeCall)) {
      operator_ = event.name.substr(kNativeCall.size());
      return;
    }
    if (event.chain_index < 0) return inside_.clear();
    put(event.name == kOperatorCall && !operator_.empty() ? operator_ : event.name, event, false);
    operator_.clear();
    for (const EtdumpEvent* inner : inside_) put(delegate_name(*inner), *inner, true);
    inside_.clear();
  }

  std::vector<EventRow>& rows() { return rows_; }

 private:
  void put(const std::string& name, const EtdumpEvent& event, bool is_inside) {
    const bool is_by_name = grouping_ == Grouping::kOperator;
    const int32_t chain = is_by_name ? -1 : event.chain_index;
    const int32_t instruction = is_by_name ? -1 : event.instruction_index;
    const auto [found, is_new] = indices_.try_emplace({chain, instruction, is_inside, name}, rows_.size());
    if (is_new) rows_.push_back({name, chain, instruction, is_inside, 0, {0}});
    EventRow& row = rows_[found->second];
    row.calls += 1;
    row.us[0] += us_of(event);
  }

  Grouping grouping_;
  std::string operator_;
  std::vector<const EtdumpEvent*> inside_;
  std::vector<EventRow> rows_;
  std::map<std::tuple<int32_t, int32_t, bool, std::string>, size_t> indices_;
};

}  // namespace

double EventRow::average_us() const {
  return us.empty() ? 0 : std::accumulate(us.begin(), us.end(), 0.0) / static_cast<double>(us.size());
}

Profile add_up(std::span<const EtdumpBlock> blocks, Grouping grouping, const std::string& block_name,
               size_t first) {
  Profile out;
  std::map<std::tuple<int32_t, int32_t, bool, std::string>, size_t> indices;
  for (const EtdumpBlock& block : blocks) {
    if (block.name != block_name) continue;
    if (first != 0) {
      --first;
      continue;
    }
    ++out.run_count;
    BlockRows one(grouping);
    for (const EtdumpEvent& event : block.events) {
      one.add(event);
      if (event.name == kMethod) out.run_us += us_of(event);
    }
    for (const EventRow& row : one.rows()) {
      const auto [found, is_new] = indices.try_emplace(
          {row.chain_index, row.instruction_index, row.is_inside_delegate, row.name}, out.rows.size());
      if (is_new) {
        out.rows.push_back(row);
        continue;
      }
      EventRow& sum = out.rows[found->second];
      sum.calls += row.calls;
      sum.us.push_back(row.us[0]);
    }
  }
  if (out.run_count == 0) return out;
  out.run_us /= static_cast<double>(out.run_count);
  for (EventRow& row : out.rows) row.calls /= static_cast<double>(out.run_count);
  return out;
}

void keep_longest(std::vector<EventRow>& rows, size_t count) {
  std::vector<std::vector<EventRow>> groups;
  for (EventRow& row : rows) {
    if (!row.is_inside_delegate || groups.empty()) groups.emplace_back();
    groups.back().push_back(std::move(row));
  }
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
    return a.front().average_us() > b.front().average_us();
  });
  if (count != 0 && groups.size() > count) groups.resize(count);
  rows.clear();
  for (auto& group : groups) rows.insert(rows.end(), group.begin(), group.end());
}

std::string to_perfetto(std::span<const EtdumpBlock> blocks) {
  using Json = nlohmann::ordered_json;
  Json events = Json::array();
  for (const EtdumpBlock& block : blocks)
    for (const EtdumpEvent& event : block.events) {
      const bool is_inside = event.is_of_delegate();
      // A delegate's clock may be another one, so its events have a line of their own.
      events.push_back({{"name", is_inside ? delegate_name(event) : event.name},
                        {"cat", is_inside ? "delegate" : "runtime"},
                        {"ph", "X"},
                        {"ts", static_cast<double>(event.begin_ns) / 1e3},
                        {"dur", us_of(event)},
                        {"pid", 1},
                        {"tid", is_inside ? 2 : 1},
                        {"args", {{"chain", event.chain_index}, {"instruction", event.instruction_index}}}});
    }
  return Json{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}}.dump(
             1, ' ', true, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace etb::inspect
