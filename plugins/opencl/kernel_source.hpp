// SPDX-License-Identifier: Apache-2.0
// OpenCL C of the kernels, without comments, for the compilers of drivers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/gpu/plan/chains.hpp"

namespace etb::opencl {

struct KernelSource {
  std::vector<std::string_view> texts;  // in this order; the function is called KERNEL_NAME
  std::string macros;                   // options that define macros
};

KernelSource kernel_source(const gpu::KernelVariant& variant);

}  // namespace etb::opencl
