// SPDX-License-Identifier: Apache-2.0
// Writes a manifest as lines of text: "libraries[0].path: my_npu.so".
#pragma once

#include <string>
#include <vector>

#include "host/registry/manifest.hpp"

namespace etb::host {

std::vector<std::string> manifest_lines(const Manifest& manifest);

}  // namespace etb::host
