// SPDX-License-Identifier: Apache-2.0
// ManifestOverlay (`<id>.local.json`): an administrator's settings for a plugin, without a change of
// the vendor's file. It can only disable, re-prioritise or pin a plugin, so it never makes a plugin
// load something different.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/registry/diagnostic.hpp"

namespace etb::host {

inline constexpr std::string_view kOverlaySuffix = ".local.json";

struct ManifestOverlay {
  bool disable = false;
  std::optional<int32_t> priority;
  std::vector<std::string> pin;  // provided ids for which the host prefers this plugin
};

struct OverlayReading {
  std::optional<ManifestOverlay> overlay;
  std::vector<Diagnostic> diagnostics;
};

OverlayReading parse_overlay(std::string_view text);

}  // namespace etb::host
