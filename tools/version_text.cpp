// SPDX-License-Identifier: Apache-2.0
#include "tools/version_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "etb/version.h"
#include "host/registry/platform.hpp"

namespace etb::tools {
namespace {

// Defines kCommit. Written again only when the commit changes (tools/cmake/EtbWriteCommit.cmake).
#include "commit.inc"

}  // namespace

// The build defines ETB_BUILD_TYPE, ETB_COMPILER and ETB_XNNPACK_VERSION.
std::string version_text() {
  const host::Platform& platform = host::detect_platform();
  return fmt::format(
      "etbackend {}.{}.{}, C ABI {}.{}{}\n"
      "commit   {}\n"
      "build    {}, {}, {} {}\n"
      "XNNPACK  {}\n"
      "CPU      {}",
      ETB_VERSION_MAJOR, ETB_VERSION_MINOR, ETB_VERSION_PATCH, ETB_ABI_MAJOR, ETB_ABI_MINOR,
      ETB_ABI_RELEASE_CANDIDATE ? " (release candidate)" : "", kCommit, ETB_BUILD_TYPE, ETB_COMPILER,
      platform.os, platform.arch, ETB_XNNPACK_VERSION, fmt::join(platform.cpu, " "));
}

}  // namespace etb::tools
