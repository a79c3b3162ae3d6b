// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/open_devices.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <vector>

#include "api/format/hex.hpp"
#include "host/delegates/delegate_options.hpp"

namespace etb::host {
namespace {

struct Found {
  std::array<uint8_t, 16> uuid{};
  std::string name, text;  // the text is for errors
  std::shared_ptr<const DeviceTarget> target = nullptr;
};

std::string to_lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

Result<std::vector<Found>> all_devices(const PluginContext& plugin) {
  std::vector<Found> out;
  ETB_TRY(plugin.each_device([&](const etb_device_info& info) {
    Found& found = out.emplace_back();
    std::memcpy(found.uuid.data(), info.uuid, found.uuid.size());
    found.name = info.name == nullptr ? "" : info.name;
    found.text = std::string(info.kind == nullptr ? "" : info.kind) + " '" + found.name + "' uuid " +
                 format::to_hex(info.uuid);
    found.target = std::make_shared<const DeviceTarget>(info);
  }));
  return out;
}

// A uuid or a whole name decides before a part of a name.
std::vector<Found> matches(const std::vector<Found>& devices, const std::string& wanted) {
  const std::string text = to_lower(wanted);
  std::string digits = text;
  std::erase(digits, '-');
  const auto those = [&](const auto& suits) {
    std::vector<Found> out;
    std::copy_if(devices.begin(), devices.end(), std::back_inserter(out), suits);
    return out;
  };
  std::vector<Found> out = those([&](const Found& d) { return format::to_hex(d.uuid) == digits; });
  if (out.empty()) out = those([&](const Found& d) { return to_lower(d.name) == text; });
  if (out.empty())
    out = those([&](const Found& d) { return to_lower(d.name).find(text) != std::string::npos; });
  return out;
}

std::string list_of(const std::vector<Found>& devices) {
  std::string out;
  for (const Found& device : devices) out += (out.empty() ? "" : ", ") + device.text;
  return out;
}

}  // namespace

Result<std::shared_ptr<const Device>> OpenDevices::open(const PluginContext& plugin,
                                                        const std::string& wanted,
                                                        std::span<const etb_option> options) {
  ETB_ASSIGN(const std::vector<Found> devices, all_devices(plugin));
  const std::vector<Found> found = matches(devices, wanted);
  if (found.empty())
    return make_error(Code::NOT_FOUND, "device '" + wanted + "': the plugin has " +
                                           (devices.empty() ? "no device now" : list_of(devices)));
  if (found.size() > 1)
    return make_error(Code::INVALID_ARGUMENT,
                      "device '" + wanted + "': " + std::to_string(found.size()) +
                          " devices of the plugin match, expected one: " + list_of(found));
  return open_uuid(plugin, found[0].uuid, options);
}

Result<std::shared_ptr<const DeviceTarget>> OpenDevices::describe(const PluginContext& plugin,
                                                                  const std::string* wanted) {
  ETB_ASSIGN(const std::vector<Found> devices, all_devices(plugin));
  const std::vector<Found> found = wanted == nullptr ? devices : matches(devices, *wanted);
  return found.size() == 1 ? found[0].target : nullptr;
}

Result<std::shared_ptr<const Device>> OpenDevices::open_only(const PluginContext& plugin) {
  ETB_ASSIGN(const std::vector<Found> devices, all_devices(plugin));
  if (devices.size() == 1) return open_uuid(plugin, devices[0].uuid, {});
  return make_error(Code::NOT_FOUND,
                    "the plugin has " + std::to_string(devices.size()) + " devices, expected one");
}

Result<std::shared_ptr<const Device>> OpenDevices::open_uuid(const PluginContext& plugin, const Uuid& wanted,
                                                             std::span<const etb_option> options) {
  const std::lock_guard lock(mutex_);
  std::erase_if(devices_, [](const auto& item) { return item.second.expired(); });
  std::weak_ptr<const Device>& known = devices_[{&plugin, wanted, key_of(options)}];
  if (auto device = known.lock()) return device;
  uint8_t uuid[16];
  std::memcpy(uuid, wanted.data(), sizeof uuid);
  ETB_ASSIGN(Device opened, plugin.open_device(uuid, options));
  auto device = std::make_shared<const Device>(std::move(opened));
  known = device;
  return device;
}

}  // namespace etb::host
