// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/testing/tested_plugin.hpp"

#include "etb/static_plugins.h"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(opencl);
}

namespace etb::gpu {

const TestedPlugin& tested_plugin() {
  // Every OpenCL device can time its commands.
  static constexpr TestedPlugin kPlugin = {etb_plugin_query_opencl, [] { return true; },
                                           "no OpenCL device: install pocl-opencl-icd"};
  return kPlugin;
}

}  // namespace etb::gpu
