// SPDX-License-Identifier: Apache-2.0
// PluginEntry: one plugin that the search found, with all that is known without running its code,
// and why it would not load.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "etb/plugin.h"
#include "host/registry/manifest.hpp"
#include "host/registry/plugin_ident.hpp"
#include "host/registry/reason.hpp"
#include "host/registry/search_path.hpp"

namespace etb::host {

enum class DigestState { kNone, kUnchecked, kMatches, kDiffers };
const char* to_text(DigestState state);

enum class CertificateState { kNone, kUnchecked, kHeld, kRefused };
const char* to_text(CertificateState state);

struct PluginEntry {
  Tier tier = Tier::kApplication;
  std::string directory;      // folder of the manifest; "" for a static plugin
  std::string manifest_path;  // absolute; "" for a static plugin
  std::string id;             // "" when the manifest contains no valid id
  std::optional<Manifest> manifest;
  std::vector<Diagnostic> diagnostics;  // defects of the manifest or its overlay

  int32_t priority = 0;  // after overlay and tier
  std::vector<std::string> pins;
  std::string overlay_path;

  std::optional<LibraryEntry> library;       // chosen for this machine
  std::string library_path;                  // absolute
  std::vector<std::string> library_reasons;  // why the others were rejected
  std::vector<std::string> needed;           // sonames that the library needs
  std::optional<PluginIdent> ident;
  DigestState digest = DigestState::kNone;
  CertificateState certificate = CertificateState::kNone;
  etb_plugin_query_fn static_query = nullptr;  // for a static plugin

  std::optional<Error> problem;       // why it would not load; Error::reason is an id of reason.def
  std::vector<std::string> warnings;  // do not keep it from loading

  bool is_usable() const { return !problem; }
  std::string version() const { return manifest ? manifest->version : ""; }
  uint32_t profiles() const { return manifest ? manifest->profiles : 0; }
  const ProvidedId* find_provided(std::string_view id_in_program) const;
  bool has_alias(std::string_view name) const;
};

// Returns the manifest's path, or "(static)".
std::string place_of(const PluginEntry& entry);

}  // namespace etb::host
