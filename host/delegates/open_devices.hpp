// SPDX-License-Identifier: Apache-2.0
// OpenDevices: finds the device that an application named, and opens it once for all delegates on it.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

#include "host/delegates/device_target.hpp"
#include "host/plugin/device.hpp"

namespace etb::host {

// Choice of an application for the plugin's default device, also if the program names another one.
inline constexpr std::string_view kDefaultDevice = "default";

class OpenDevices {
 public:
  // Returns the device of `plugin` with this uuid (32 hexadecimal digits; hyphens are ignored), with this name,
  // or the only one whose name has this text, in any case. It stays open while the result is held. Calls with equal options
  // share it. Errors name the devices that the plugin has: Code::NOT_FOUND without a match,
  // Code::INVALID_ARGUMENT with several.
  [[nodiscard]] Result<std::shared_ptr<const Device>> open(const PluginContext& plugin,
                                                           const std::string& wanted,
                                                           std::span<const etb_option> options = {});

  // Returns the description of the device that open() opens; of the only device if `wanted` is NULL. NULL if there is none, or
  // several.
  [[nodiscard]] static Result<std::shared_ptr<const DeviceTarget>> describe(const PluginContext& plugin,
                                                                            const std::string* wanted);

  // Opens the device of a plugin that has one. NOT_FOUND for a plugin with another number of devices.
  [[nodiscard]] Result<std::shared_ptr<const Device>> open_only(const PluginContext& plugin);

 private:
  using Uuid = std::array<uint8_t, 16>;

  Result<std::shared_ptr<const Device>> open_uuid(const PluginContext& plugin, const Uuid& uuid,
                                                  std::span<const etb_option> options);

  std::mutex mutex_;
  // By plugin, whose address is unique while a device of it is open, and by the text of the options.
  std::map<std::tuple<const PluginContext*, Uuid, std::string>, std::weak_ptr<const Device>> devices_;
};

}  // namespace etb::host
