// SPDX-License-Identifier: Apache-2.0
// Searches the tiers for manifests. For each plugin, reads its identity and checks if it would load,
// without running its code.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/registry/platform.hpp"
#include "host/registry/plugin_entry.hpp"
#include "host/registry/trusted_file.hpp"

namespace etb::host {

struct ScanOptions {
  SearchOptions search;
  TrustPolicy trust;
  Platform platform = detect_platform();
  bool check_digests = false;  // hash every library now, not only before it is loaded
  bool no_shadow = false;      // a user's plugin may not replace a certified one of the system
  // Checks the certificate that a manifest names. Not set: it stays unchecked and has no effect.
  std::function<CertificateState(const PluginEntry& entry)> judge_certificate;
};

enum class FolderState { kSearched, kMissing, kRefused, kRepeated };
const char* to_text(FolderState state);

struct FolderReport {
  SearchFolder place;
  FolderState state = FolderState::kSearched;
  std::string reason;  // for kRefused and kRepeated
  size_t manifest_count = 0;
};

// "environment /opt/x: refused, ..."
std::string to_text(const FolderReport& report);

struct ScanResult {
  std::vector<PluginEntry> entries;   // in search order
  std::vector<FolderReport> places;   // in search order
  std::vector<std::string> warnings;  // about the environment and about overlays without a plugin
};

ScanResult scan_plugins(const ScanOptions& options);

}  // namespace etb::host
