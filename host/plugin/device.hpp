// SPDX-License-Identifier: Apache-2.0
// Device: an opened device of a plugin.
#pragma once

#include "host/plugin/plugin_context.hpp"

namespace etb::host {

class Device {
 public:
  Device(Device&&) noexcept = default;
  Device& operator=(Device&&) noexcept = default;

  etb_device* handle() const noexcept { return core_->device; }

  // Returns an extension table for this device, or NULL.
  const void* find_extension(const char* id) const;

  // Calls `put` with the device's present state. The info is valid during the call.
  [[nodiscard]] Status query(const std::function<void(const etb_device_info&)>& put) const;

  // The part of a device that its delegates share. Members are declared in order of life.
  struct Core {
    std::shared_ptr<const PluginContext::Core> plugin;
    etb_device* device = nullptr;
    explicit Core(std::shared_ptr<const PluginContext::Core> keep) : plugin(std::move(keep)) {}
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;
    ~Core();
  };

 private:
  friend class PluginContext;
  explicit Device(std::shared_ptr<const Core> core) : core_(std::move(core)) {}

  std::shared_ptr<const Core> core_;
};

}  // namespace etb::host
