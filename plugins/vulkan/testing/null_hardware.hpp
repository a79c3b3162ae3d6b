// SPDX-License-Identifier: Apache-2.0
// RADV of Mesa on "null hardware": the driver of AMD's GPUs with its compiler and its pipeline cache, without a GPU. It compiles
// kernels and runs nothing.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "plugins/gpu/kernels/kernel.hpp"
#include "plugins/vulkan/device.hpp"

namespace etb::vulkan {

struct NullHardware {
  std::shared_ptr<Instance> instance;
  DeviceFacts facts;

  Result<std::shared_ptr<Device>> open() const { return Device::open(instance, facts); }
};

// Changes the environment of the process: RADV, without a cache of its own, has this GPU from then on.
inline Result<NullHardware> find_null_hardware() {
  (void)setenv("RADV_FORCE_FAMILY", "navi21", 1);
  (void)setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
  ETB_ASSIGN(auto instance, Instance::make());
  std::vector<std::string> reasons;
  ETB_ASSIGN(const auto devices, instance->find_devices(reasons));
  for (const DeviceFacts& each : devices)
    if (each.name.find("RADV") != std::string::npos) return NullHardware{instance, each};
  return make_error(Code::NOT_FOUND, "no RADV: install mesa-vulkan-drivers");
}

// Needs this kernel, and nothing else of a plan. `halves`: HALVES of kernel.glsl.
inline void add_kernel(gpu::ExecutionPlan& plan, gpu::Kernel kernel, uint32_t halves) {
  gpu::KernelVariant variant;
  variant.kernel = kernel;
  variant.halves = halves;
  if (gpu::is_chain(kernel)) {  // a sum, limited
    const uint32_t bits = (halves != 0 ? gpu::kRoundsBit : 0) |
                          ((halves & gpu::kInHalfBit) != 0 ? gpu::kInHalfStepBit : 0);
    variant.chain.steps = {
        (gpu::kBinaryCodes + static_cast<uint32_t>(gpu::BinaryFunction::kAdd)) | 1 << 12 | bits,
        static_cast<uint32_t>(gpu::UnaryFunction::kClamp) | 5 << 8 | bits};
  }
  if (gpu::is_plain(variant)) {
    plan.uses_plain[gpu::index_of(kernel)] = true;
  } else {
    plan.variants.push_back(variant);
  }
}

}  // namespace etb::vulkan
