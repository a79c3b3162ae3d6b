// SPDX-License-Identifier: Apache-2.0
// The OpenCL plugin.
#pragma once

#include "plugins/gpu/run/plugin.hpp"
#include "plugins/opencl/context.hpp"

namespace etb::opencl {

class OpenclPlugin : public gpu::GpuPlugin<OpenclApi> {
 public:
  static Result<OpenclPlugin> make(const Host& host, const Options&) { return OpenclPlugin(host); }

 private:
  explicit OpenclPlugin(const Host& host) : GpuPlugin(host) {}
};

}  // namespace etb::opencl
