// SPDX-License-Identifier: Apache-2.0
#include "host/registry/plugin_entry.hpp"

#include <algorithm>

namespace etb::host {

const char* to_text(DigestState state) {
  switch (state) {
    case DigestState::kNone:
      return "none";
    case DigestState::kUnchecked:
      return "unchecked";
    case DigestState::kMatches:
      return "matches";
    case DigestState::kDiffers:
      return "differs";
  }
  return "unknown";
}

const char* to_text(CertificateState state) {
  switch (state) {
    case CertificateState::kNone:
      return "none";
    case CertificateState::kUnchecked:
      return "unchecked";
    case CertificateState::kHeld:
      return "held";
    case CertificateState::kRefused:
      return "refused";
  }
  return "unknown";
}

const ProvidedId* PluginEntry::find_provided(std::string_view id_in_program) const {
  if (!manifest) return nullptr;
  const auto it = std::find_if(manifest->provides.begin(), manifest->provides.end(),
                               [&](const ProvidedId& one) { return one.id == id_in_program; });
  return it == manifest->provides.end() ? nullptr : &*it;
}

bool PluginEntry::has_alias(std::string_view name) const {
  return manifest &&
         std::find(manifest->aliases.begin(), manifest->aliases.end(), name) != manifest->aliases.end();
}

std::string place_of(const PluginEntry& entry) {
  return entry.manifest_path.empty() ? "(static)" : entry.manifest_path;
}

}  // namespace etb::host
