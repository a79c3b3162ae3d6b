// SPDX-License-Identifier: Apache-2.0
#include "host/plugin/device.hpp"

#include "etb/cpp/sink.hpp"

namespace etb::host {

Device::Core::~Core() {
  if (device != nullptr) plugin->table.device->close(device, nullptr);
}

const void* Device::find_extension(const char* id) const {
  return core_->plugin->table.get_extension(core_->plugin->plugin, ETB_OBJECT_DEVICE, core_->device, id);
}

Status Device::query(const std::function<void(const etb_device_info&)>& put) const {
  auto put_one = [&put](const etb_device_info& info) -> etb_status {
    put(info);
    return ETB_OK;
  };
  const auto sink = sink_to<etb_device_sink>(put_one);
  etb_error error = ETB_ERROR_INIT;
  return check(core_->plugin->table.device->query(core_->device, &sink, &error), error);
}

}  // namespace etb::host
