// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/shared_delegates.hpp"

#include <algorithm>

#include "host/delegates/delegate_options.hpp"

namespace etb::host {

namespace {

Result<DelegateUse> use_new(std::shared_ptr<SharedDelegate> made, const SharedDelegate::Source& source,
                            DeviceMemory& memory, uint64_t max_bytes) {
  DelegateUse use = DelegateUse::of(std::move(made));
  ETB_TRY(use.count_memory(memory, source.request, max_bytes));
  return use;
}

}  // namespace

Result<DelegateUse> SharedDelegates::use(const SharedDelegate::Source& source, DeviceMemory& memory,
                                         uint64_t max_bytes) {
  if (source.request.files == nullptr) {
    ETB_ASSIGN(auto made, SharedDelegate::make(source));
    return use_new(std::move(made), source, memory, max_bytes);
  }
  const std::shared_ptr<Entry> entry = entry_of(source);
  const std::lock_guard lock(entry->mutex);
  for (const auto& known : entry->delegates) {
    auto living = known.lock();
    if (living == nullptr) continue;
    DelegateUse use = DelegateUse::of(std::move(living));
    if (!use) continue;
    ETB_TRY(use.count_memory(memory, source.request, max_bytes));
    return use;
  }
  std::erase_if(entry->delegates, [](const auto& known) { return known.expired(); });
  ETB_ASSIGN(auto made, SharedDelegate::make(source));
  ETB_ASSIGN(DelegateUse use, use_new(made, source, memory, max_bytes));
  entry->delegates.push_back(made);
  return use;
}

std::shared_ptr<SharedDelegates::Entry> SharedDelegates::entry_of(const SharedDelegate::Source& source) {
  const std::lock_guard lock(mutex_);
  if (entries_.size() >= tidy_at_) {
    std::erase_if(entries_, [](const auto& item) {
      Entry& entry = *item.second;
      if (item.second.use_count() != 1) return false;  // a thread makes a delegate of it
      const std::lock_guard reading(entry.mutex);
      return std::ranges::all_of(entry.delegates, [](const auto& known) { return known.expired(); });
    });
    tidy_at_ = 2 * entries_.size() + 16;
  }
  const DelegateRequest& request = source.request;
  std::shared_ptr<Entry>& entry =
      entries_[{source.plugin.get(), source.device.get(), request.files, std::string(request.method_name),
                request.index, key_of(source.options)}];
  if (entry == nullptr) entry = std::make_shared<Entry>();
  return entry;
}

}  // namespace etb::host
