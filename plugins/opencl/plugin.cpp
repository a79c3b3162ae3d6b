// SPDX-License-Identifier: Apache-2.0
#include "plugins/opencl/plugin.hpp"

ETB_DEFINE_PLUGIN(etb::opencl::OpenclPlugin, "org.etbackend.opencl", "etbackend", "0.1.0")
