// SPDX-License-Identifier: Apache-2.0
// The plugin that a program of shared tests is built for.
#pragma once

#include "etb/etbackend.h"

namespace etb::gpu {

struct TestedPlugin {
  const etb_plugin_table* (*query)(const etb_host*, uint32_t abi_min, uint32_t abi_max);
  bool (*has_timestamps)();  // of all devices, asked without the delegate that is tested
  const char* hint;          // for a machine without a device
};

// Defined by each plugin.
const TestedPlugin& tested_plugin();

}  // namespace etb::gpu
