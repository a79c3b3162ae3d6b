// SPDX-License-Identifier: Apache-2.0
// Facts about a device for the host; every API has these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "etb/device.h"

namespace etb::gpu {

struct DeviceFacts {
  std::array<uint8_t, 16> uuid = {};
  std::array<uint8_t, ETB_FINGERPRINT_NBYTES> fingerprint = {};
  uint32_t vendor_number = 0, device_number = 0;
  uint64_t memory_total_bytes = 0, memory_free_bytes = 0;  // free: 0 if unknown
  std::string name, driver;
  int preference = 0;  // without a choice of the host, the device with the highest one runs
  bool is_cpu = false;
};

struct FreeMemory {
  void operator()(std::byte* memory) const noexcept { std::free(memory); }
};

inline etb_device_info describe(const DeviceFacts& facts) {
  etb_device_info info{};
  info.struct_size = ETB_INIT_SIZE(etb_device_info);
  std::memcpy(info.uuid, facts.uuid.data(), sizeof(info.uuid));
  std::memcpy(info.fingerprint, facts.fingerprint.data(), sizeof(info.fingerprint));
  info.vendor_number = facts.vendor_number;
  info.device_number = facts.device_number;
  info.memory_total_bytes = facts.memory_total_bytes;
  info.memory_free_bytes = facts.memory_free_bytes;
  info.kind = facts.is_cpu ? "cpu" : "gpu";
  info.name = facts.name.c_str();
  info.driver_version = facts.driver.c_str();
  return info;
}

}  // namespace etb::gpu
