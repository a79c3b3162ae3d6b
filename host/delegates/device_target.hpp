// SPDX-License-Identifier: Apache-2.0
// DeviceTarget: the description of a device that check_payload receives.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "etb/device.h"

namespace etb::host {

// Owns a copy of what a plugin's device sink received.
class DeviceTarget {
 public:
  explicit DeviceTarget(const etb_device_info& info);
  DeviceTarget(const DeviceTarget&) = delete;
  DeviceTarget& operator=(const DeviceTarget&) = delete;

  // Borrows from this object.
  const etb_target& target() const noexcept { return target_; }

 private:
  etb_option copy(const etb_option& from);
  const char* keep(const char* text);

  etb_target target_{};
  std::vector<etb_option> attributes_;
  std::deque<std::vector<etb_option>> items_;  // of attributes that are lists
  std::deque<std::string> texts_;
};

}  // namespace etb::host
