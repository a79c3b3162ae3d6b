// SPDX-License-Identifier: Apache-2.0
// DeviceBuffer: memory of a device, by the extension buffer/1 of its plugin.
#pragma once

#include "etb/ext/buffer.h"
#include "host/plugin/device.hpp"

namespace etb::host {

class DeviceBuffer {
 public:
  // NOT_SUPPORTED if the plugin has no buffer/1, or not for this kind.
  [[nodiscard]] static Result<std::shared_ptr<DeviceBuffer>> allocate(std::shared_ptr<const Device> device,
                                                                      const char* kind, uint64_t nbytes);
  // Makes memory of the host, which `memory` describes, known to the device. `owner` keeps that memory alive.
  [[nodiscard]] static Result<std::shared_ptr<DeviceBuffer>> import(std::shared_ptr<const Device> device,
                                                                    const etb_buffer_desc& memory,
                                                                    std::shared_ptr<const void> owner);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  // Describes the memory as another kind; valid while this object lives.
  [[nodiscard]] Result<etb_buffer_desc> describe(const char* kind) const;
  // Makes writes of the device visible to the host, or writes of the host visible to the device.
  [[nodiscard]] Status to_host() { return sync(1); }
  [[nodiscard]] Status to_device() { return sync(2); }
  // True if runs do both themselves.
  bool is_coherent() const noexcept { return (table_.flags & ETB_BUFFER_COHERENT) != 0; }

 private:
  DeviceBuffer(std::shared_ptr<const Device> device, const etb_buffer_table& table)
      : device_(std::move(device)), table_(table) {}
  static Result<std::shared_ptr<DeviceBuffer>> make(std::shared_ptr<const Device> device);
  Status sync(uint32_t access);

  // Declared in order of life.
  std::shared_ptr<const Device> device_;
  std::shared_ptr<const void> owner_;
  const etb_buffer_table& table_;
  etb_buffer* buffer_ = nullptr;
};

}  // namespace etb::host
