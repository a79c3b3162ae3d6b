// SPDX-License-Identifier: Apache-2.0
// LivingDelegates: the delegates that a PluginDelegates has made and that have not ended.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace etb::host {

class PluginDelegate;

// For several threads.
class LivingDelegates {
 public:
  void add(std::string id, PluginDelegate& delegate) {
    const std::lock_guard lock(mutex_);
    delegates_.emplace_back(std::move(id), &delegate);
  }
  void remove(const PluginDelegate& delegate) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(delegates_, [&](const auto& item) { return item.second == &delegate; });
  }
  // Those of a delegate id, in the order in which they were made.
  std::vector<PluginDelegate*> of(const std::string& id) const {
    const std::lock_guard lock(mutex_);
    std::vector<PluginDelegate*> found;
    for (const auto& [each, delegate] : delegates_)
      if (each == id) found.push_back(delegate);
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, PluginDelegate*>> delegates_;
};

}  // namespace etb::host
