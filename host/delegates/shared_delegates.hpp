// SPDX-License-Identifier: Apache-2.0
// SharedDelegates: the delegates and devices that modules of one application have in use, so that a second module on a program
// runs the delegates of the first one.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "host/delegates/open_devices.hpp"
#include "host/delegates/shared_delegate.hpp"

namespace etb::host {

// For several threads.
class SharedDelegates {
 public:
  // Returns the use of a delegate for one context, and counts its memory in `memory`. Shares a delegate of other modules if four
  // things are equal: the program with its data files, the delegate in it, the device, and the options; and if the delegate may
  // run one more context at a time. Else makes a delegate. Without `files` in the request it always makes one. Returns the errors
  // of create and of DeviceMemory.
  [[nodiscard]] Result<DelegateUse> use(const SharedDelegate::Source& source, DeviceMemory& memory,
                                        uint64_t max_bytes);

  OpenDevices& devices() noexcept { return devices_; }

 private:
  // Addresses are unique while a delegate lives, which holds plugin, device and files.
  using Key = std::tuple<const PluginContext*, const Device*, const ProgramFiles*, std::string, uint32_t,
                         std::string>;
  struct Entry {
    std::mutex mutex;  // locked while a delegate is made, so that modules which load at one time share it
    std::vector<std::weak_ptr<SharedDelegate>> delegates;
  };

  std::shared_ptr<Entry> entry_of(const SharedDelegate::Source& source);

  OpenDevices devices_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Entry>> entries_;
  size_t tidy_at_ = 16;  // number of entries at which those without delegates are removed
};

}  // namespace etb::host
