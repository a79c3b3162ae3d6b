// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/testing/tested_plugin.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "etb/static_plugins.h"
#include "plugins/vulkan/instance.hpp"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(vulkan);
}

namespace etb::gpu {

const TestedPlugin& tested_plugin() {
  static constexpr TestedPlugin kPlugin = {
      etb_plugin_query_vulkan,
      [] {
        const auto instance = vulkan::Instance::make();
        if (!instance) return false;
        std::vector<std::string> reasons;
        const auto devices = (*instance)->find_devices(reasons);
        return devices && std::ranges::all_of(*devices, [](const vulkan::DeviceFacts& facts) {
                 return facts.timestamp_bits != 0;
               });
      },
      "no Vulkan device: install mesa-vulkan-drivers"};
  return kPlugin;
}

}  // namespace etb::gpu
