// SPDX-License-Identifier: Apache-2.0
#include "tools/version_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "etb/version.h"
#include "host/registry/platform.hpp"

namespace etb::tools {
namespace {

// Defines kCommit. Written again only when the commit changes (tools/cmake/EtbWriteCommit.cmake).
#include "commit.inc"

std::string number(int major, int minor) { return fmt::format("{}.{}", major, minor); }

}  // namespace

std::string commit_text() { return kCommit; }

// The build defines ETB_BUILD_TYPE, ETB_COMPILER and ETB_XNNPACK_VERSION.
nlohmann::ordered_json version_json() {
  const host::Platform& platform = host::detect_platform();
  return {{"version", fmt::format("{}.{}", number(ETB_VERSION_MAJOR, ETB_VERSION_MINOR), ETB_VERSION_PATCH)},
          {"abi", number(ETB_ABI_MAJOR, ETB_ABI_MINOR)},
          {"abi_release_candidate", ETB_ABI_RELEASE_CANDIDATE != 0},
          {"commit", kCommit},
          {"build_type", ETB_BUILD_TYPE},
          {"compiler", ETB_COMPILER},
          {"os", platform.os},
          {"arch", platform.arch},
          {"xnnpack", ETB_XNNPACK_VERSION},
          {"cpu", platform.cpu}};
}

std::string version_text() {
  const nlohmann::ordered_json facts = version_json();
  const auto text = [&facts](const char* key) { return facts[key].get<std::string>(); };
  return fmt::format(
      "etbackend {}, C ABI {}{}\n"
      "commit   {}\n"
      "build    {}, {}, {} {}\n"
      "XNNPACK  {}\n"
      "CPU      {}",
      text("version"), text("abi"), facts["abi_release_candidate"].get<bool>() ? " (release candidate)" : "",
      text("commit"), text("build_type"), text("compiler"), text("os"), text("arch"), text("xnnpack"),
      fmt::join(facts["cpu"].get<std::vector<std::string>>(), " "));
}

}  // namespace etb::tools
