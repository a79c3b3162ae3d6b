// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/device_memory.hpp"

#include <algorithm>

namespace etb::host {

namespace {

constexpr size_t kShownDelegates = 4;  // a message has room for about these

// A plugin may state any numbers.
uint64_t add_up(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }
uint64_t times(uint64_t bytes, uint64_t count) {
  return count != 0 && bytes > UINT64_MAX / count ? UINT64_MAX : bytes * count;
}
uint64_t sum(const DelegateHolding& holding) { return add_up(holding.resident_bytes, holding.context_bytes); }

std::string to_text(const DelegateHolding& holding) {
  return "'" + holding.backend_id + "' of method '" + holding.method_name + "' " +
         std::to_string(holding.resident_bytes) + " resident and " + std::to_string(holding.context_bytes) +
         " for runs";
}

// `all` ends with the delegate that does not fit.
auto too_large(std::vector<DelegateHolding> all, uint64_t total, uint64_t max_bytes) {
  const DelegateHolding& last = all.back();
  std::string text = (last.device_name.empty() ? "the default device" : "device '" + last.device_name + "'") +
                     " of plugin '" + last.plugin_id + "': its delegates need " + std::to_string(total) +
                     " bytes, expected at most " + std::to_string(max_bytes) +
                     " (the limit max_device_bytes): " + to_text(last);
  std::stable_sort(all.begin(), all.end() - 1, [](const auto& a, const auto& b) { return sum(a) > sum(b); });
  const size_t shown = std::min(all.size() - 1, kShownDelegates - 1);
  for (size_t i = 0; i < shown; ++i) text += ", " + to_text(all[i]);
  uint64_t others = 0;
  for (size_t i = shown; i + 1 < all.size(); ++i) others = add_up(others, sum(all[i]));
  if (shown + 1 < all.size())
    text += ", " + std::to_string(all.size() - 1 - shown) + " others " + std::to_string(others);
  return make_error(Code::OUT_OF_RESOURCES, text);
}

}  // namespace

Result<std::unique_ptr<DeviceMemory::Share>> DeviceMemory::add(DelegateHolding holding,
                                                               const PluginContext& plugin,
                                                               const Device* device, uint64_t max_bytes) {
  holding.plugin_id = plugin.table().ident->id;
  std::optional<Uuid> uuid;
  if (device != nullptr)
    ETB_TRY(device->query([&](const etb_device_info& info) {
      uuid = std::to_array(info.uuid);
      holding.device_name = info.name;
    }));
  const uint64_t context_bytes = holding.context_bytes;
  const Row made{&plugin, uuid, std::move(holding), context_bytes, 1};
  const std::lock_guard lock(mutex_);
  ETB_TRY(check(made, max_bytes));
  rows_.push_back(made);
  return std::make_unique<Share>(shared_from_this(), std::prev(rows_.end()));
}

Status DeviceMemory::check(const Row& row, uint64_t max_bytes) const {
  if (max_bytes == 0) return {};
  uint64_t total = sum(row.holding);
  std::vector<DelegateHolding> all;
  for (const Row& other : rows_) {
    if (&other == &row || other.plugin != row.plugin || other.device != row.device) continue;
    all.push_back(other.holding);
    total = add_up(total, sum(other.holding));
  }
  if (total <= max_bytes) return {};
  all.push_back(row.holding);
  return too_large(std::move(all), total, max_bytes);
}

Status DeviceMemory::add_context(Row& row, uint64_t max_bytes) {
  const std::lock_guard lock(mutex_);
  ++row.context_count;
  row.holding.context_bytes = times(row.bytes_per_context, row.context_count);
  Status checked = check(row, max_bytes);
  if (checked) return {};
  --row.context_count;
  row.holding.context_bytes = times(row.bytes_per_context, row.context_count);
  return checked;
}

void DeviceMemory::remove_context(Row& row) {
  const std::lock_guard lock(mutex_);
  --row.context_count;
  row.holding.context_bytes = times(row.bytes_per_context, row.context_count);
}

std::vector<DelegateHolding> DeviceMemory::holdings() const {
  const std::lock_guard lock(mutex_);
  std::vector<DelegateHolding> out;
  for (const Row& row : rows_) out.push_back(row.holding);
  return out;
}

void DeviceMemory::remove(std::list<Row>::iterator row) {
  const std::lock_guard lock(mutex_);
  rows_.erase(row);
}

}  // namespace etb::host
