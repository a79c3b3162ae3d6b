// SPDX-License-Identifier: Apache-2.0
// The platforms of the machine, and the devices that the plugin can use.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/gpu/run/device_facts.hpp"
#include "plugins/opencl/opencl_api.hpp"

namespace etb::opencl {

struct DeviceFacts : gpu::DeviceFacts {
  cl_platform_id platform = nullptr;
  cl_device_id handle = nullptr;
  uint64_t offset_alignment = 0;    // of parts of a buffer, in bytes
  bool has_exact_division = false;  // correctly rounded division and square root, on request
};

// Created once by a plugin: the loader loads every driver of the machine.
class Instance {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Instance>> make();

  const Functions& functions() const { return functions_; }
  // Devices that lack something are left out, with a line in `reasons`.
  [[nodiscard]] Result<std::vector<DeviceFacts>> find_devices(std::vector<std::string>& reasons) const;

 private:
  explicit Instance(const Functions& functions) : functions_(functions) {}

  Functions functions_;
};

}  // namespace etb::opencl
