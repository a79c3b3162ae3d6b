// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/inspector/event_rows.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>

#include "partitioner_sdk/inspector/times.hpp"

namespace etb::inspector {
namespace {

using format::EtdumpBlock;
using format::EtdumpEvent;

constexpr std::string_view kNativeCall = "native_call_", kOperatorCall = "OPERATOR_CALL",
                           kMethod = "Method::execute";

double us_of(const EtdumpEvent& event) { return static_cast<double>(event.elapsed_ns()) / 1e3; }

// Rows of one block. The events inside of a delegate are stored before its call, and come after it here.
class BlockRows {
 public:
  BlockRows(Grouping grouping, const MethodIndex* method) : grouping_(grouping), method_(method) {}

  void add(const EtdumpEvent& event) {
    if (grouping_ == Grouping::kEvent) {
      put(event.is_of_delegate() ? name_inside_delegate(event) : event.name, event, event.is_of_delegate());
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
    for (const EtdumpEvent* inner : inside_) put(name_inside_delegate(*inner), *inner, true);
    inside_.clear();
  }

  std::vector<EventRow>& rows() { return rows_; }

 private:
  void put(const std::string& name, const EtdumpEvent& event, bool is_inside) {
    const bool is_by_name = grouping_ == Grouping::kOperator;
    const int32_t chain = is_by_name ? -1 : event.chain_index;
    const int32_t instruction = is_by_name ? -1 : event.instruction_index;
    const auto [found, is_new] = indices_.try_emplace({chain, instruction, is_inside, name}, rows_.size());
    if (is_new) {
      rows_.push_back({name, chain, instruction, is_inside, 0, {0}});
      if (method_ != nullptr && !is_by_name && !is_of_whole_method(event))
        rows_.back().origin = method_->find(event);
    }
    EventRow& row = rows_[found->second];
    row.calls += 1;
    row.us[0] += us_of(event);
  }

  Grouping grouping_;
  const MethodIndex* method_;
  std::string operator_;
  std::vector<const EtdumpEvent*> inside_;
  std::vector<EventRow> rows_;
  std::map<std::tuple<int32_t, int32_t, bool, std::string>, size_t> indices_;
};

}  // namespace

std::string name_inside_delegate(const EtdumpEvent& event) {
  return event.delegate_debug_name.empty() ? "debug id " + std::to_string(event.delegate_debug_id)
                                           : event.delegate_debug_name;
}

double EventRow::average_us() const { return mean(us); }

Result<Profile> add_up(std::span<const EtdumpBlock> blocks, Grouping grouping, const std::string& block_name,
                       size_t first, const RecordIndex* record) {
  Profile out;
  std::map<std::tuple<int32_t, int32_t, bool, std::string>, size_t> indices;
  for (const EtdumpBlock& block : blocks) {
    if (block.name != block_name) continue;
    if (first != 0) {
      --first;
      continue;
    }
    ++out.run_count;
    const MethodIndex* method = nullptr;
    if (record != nullptr) {
      ETB_ASSIGN(method, record->find_method(block));
    }
    BlockRows one(grouping, method);
    double run_us = 0;
    for (const EtdumpEvent& event : block.events) {
      one.add(event);
      if (event.name == kMethod) run_us += us_of(event);
    }
    out.run_us += run_us;
    out.run_times_us.push_back(run_us);
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

}  // namespace etb::inspector
