// SPDX-License-Identifier: Apache-2.0
// Facts about a device for the host, and those for compilation: its attributes, which target files have. Every API has these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "etb/device.h"
#include "plugins/gpu/compile/target.hpp"

namespace etb::gpu {

struct DeviceFacts {
  std::array<uint8_t, 16> uuid = {};
  std::array<uint8_t, ETB_FINGERPRINT_NBYTES> fingerprint = {};
  uint32_t vendor_number = 0, device_number = 0;
  uint64_t memory_total_bytes = 0, memory_free_bytes = 0;  // free: 0 if unknown
  std::string name, driver;
  // For compilation; "" or 0: unknown.
  std::string api;  // name and version, "Vulkan 1.3.230"
  std::string driver_name, driver_version;
  uint64_t max_range_bytes = 0;      // of the part of a buffer that a kernel reads
  uint64_t max_group_size = 0;       // invocations of a workgroup
  uint64_t shared_memory_bytes = 0;  // of a workgroup
  uint64_t subgroup_size = 0;        // invocations that run in step
  bool has_16bit_storage = false;    // kernels read and write 16-bit numbers
  bool has_float16 = false;          // and compute in float16
  // Arithmetic and conversions of float16: round to the nearest number and keep NaN, infinities and signs of zeros; keep subnormal numbers.
  bool rounds_halves = false, keeps_subnormal_halves = false;
  bool has_unified_memory = false;   // the device uses the host's memory
  int preference = 0;                // without a choice of the host, the device with the highest one runs
  bool is_cpu = false;
};

struct FreeMemory {
  void operator()(std::byte* memory) const noexcept { std::free(memory); }
};

// A fact that the host sees as an attribute.
struct TargetFact {
  const char* key;
  std::variant<std::string DeviceFacts::*, uint64_t DeviceFacts::*, bool DeviceFacts::*> member;
};
inline constexpr TargetFact kTargetFacts[] = {{"api", &DeviceFacts::api},
                                              {"driver", &DeviceFacts::driver_name},
                                              {"driver_version", &DeviceFacts::driver_version},
                                              {kMaxRangeAttribute, &DeviceFacts::max_range_bytes},
                                              {"max_group_size", &DeviceFacts::max_group_size},
                                              {"shared_memory_bytes", &DeviceFacts::shared_memory_bytes},
                                              {"subgroup_size", &DeviceFacts::subgroup_size},
                                              {"storage_16bit", &DeviceFacts::has_16bit_storage},
                                              {"float16", &DeviceFacts::has_float16},
                                              {"unified_memory", &DeviceFacts::has_unified_memory}};

// Returns the attributes of a device, without unknown ones. They point to texts of `facts`.
inline std::vector<etb_option> attributes_of(const DeviceFacts& facts) {
  std::vector<etb_option> attributes;
  for (const TargetFact& fact : kTargetFacts) {
    etb_option made{};
    made.struct_size = ETB_INIT_SIZE(etb_option);
    made.key = fact.key;
    made.text = "";
    bool is_known = true;
    if (const auto* text = std::get_if<std::string DeviceFacts::*>(&fact.member)) {
      made.type = ETB_OPTION_TEXT;
      made.text = (facts.**text).c_str();
      is_known = *made.text != '\0';
    } else if (const auto* number = std::get_if<uint64_t DeviceFacts::*>(&fact.member)) {
      made.type = ETB_OPTION_I64;
      made.i64 = static_cast<int64_t>(facts.**number);
      is_known = made.i64 > 0;
    } else {
      made.type = ETB_OPTION_BOOL;
      made.i64 = facts.*std::get<bool DeviceFacts::*>(fact.member) ? 1 : 0;
    }
    if (is_known) attributes.push_back(made);
  }
  return attributes;
}

// Points to `facts` and `attributes`.
inline etb_device_info describe(const DeviceFacts& facts, const std::vector<etb_option>& attributes) {
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
  info.attributes = attributes.data();
  info.attribute_count = attributes.size();
  return info;
}

}  // namespace etb::gpu
