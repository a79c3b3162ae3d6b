// `<id>.local.json`: what an administrator may say about a plugin without touching the vendor's file. It can disable,
// re-prioritise or pin; nothing else, so it can never make a plugin load something different.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/registry/fault.hpp"

namespace etb::host {

inline constexpr std::string_view kOverlaySuffix = ".local.json";

struct ManifestOverlay {
  bool disable = false;
  std::optional<int32_t> priority;
  std::vector<std::string> pin;  // provided ids for which this plugin is chosen before others
};

struct OverlayReading {
  std::optional<ManifestOverlay> overlay;
  std::vector<Fault> faults;
};

OverlayReading parse_overlay(std::string_view text);

}  // namespace etb::host
