// SPDX-License-Identifier: Apache-2.0
// A Vulkan instance, and the devices that it finds.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/gpu/run/device_facts.hpp"
#include "plugins/vulkan/kept_libraries.hpp"
#include "plugins/vulkan/vulkan_api.hpp"

namespace etb::vulkan {

// One physical device that the plugin can use.
struct DeviceFacts : gpu::DeviceFacts {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties = {};
  uint32_t queue_family = 0;
  uint32_t timestamp_bits = 0;         // of that queue; 0: none
  uint64_t host_import_alignment = 0;  // of imported host memory; 0: the driver cannot import it
  bool has_robust_access = false;
  bool has_tiles = false;             // a CPU driver that can run the kernels of KernelFamily::kTiles
  bool needs_float_controls = false, needs_float16_extension = false;  // extensions before Vulkan 1.2
};

// Created once by a plugin, because creation loads every driver of the machine. Does not move.
class Instance {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Instance>> make();
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const InstanceFunctions& functions() const { return functions_; }
  // Call after the driver did something for the first time, because it may then load libraries.
  void keep_libraries() const { libraries_.keep(); }
  // Reads the devices again: free memory changes. Devices that lack something are left out, with a line in `reasons`.
  [[nodiscard]] Result<std::vector<DeviceFacts>> find_devices(std::vector<std::string>& reasons) const;

 private:
  Instance() = default;
  Status create();

  KeptLibraries libraries_;
  LoaderLibrary library_;
  VkInstance handle_ = VK_NULL_HANDLE;
  InstanceFunctions functions_;
};

}  // namespace etb::vulkan
