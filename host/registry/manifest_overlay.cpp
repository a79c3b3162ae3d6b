// SPDX-License-Identifier: Apache-2.0
#include "host/registry/manifest_overlay.hpp"

#include "host/registry/json_document.hpp"
#include "host/registry/object_reader.hpp"

namespace etb::host {

OverlayReading parse_overlay(std::string_view text) {
  OverlayReading reading;
  JsonDocument document = read_json(text);
  reading.diagnostics = std::move(document.diagnostics);
  if (!document.root) return reading;
  if (!document.root->is_object()) {
    reading.diagnostics.push_back({"$", "found " + describe(*document.root) + ", expected an object"});
    return reading;
  }
  ObjectReader in(*document.root, "", reading.diagnostics);
  ManifestOverlay overlay;
  in.integer("manifest_version", Need::kRequired, 1, 1);
  overlay.disable = in.boolean("disable", false);
  if (document.root->contains("priority"))
    overlay.priority = static_cast<int32_t>(in.integer("priority", Need::kOptional, -100, 100));
  overlay.pin = in.texts("pin", Need::kOptional, kProvidedIdRule, 64);
  in.value("priority", Need::kOptional);
  // An overlay is written for this host, unlike a manifest. So an unknown key is a typing error, and is
  // reported.
  std::vector<std::string> unknown;
  in.note_unknown(unknown);
  for (std::string& key : unknown)
    reading.diagnostics.push_back(
        {std::move(key), "an overlay may only say 'disable', 'priority' and 'pin'"});
  if (reading.diagnostics.empty()) reading.overlay = std::move(overlay);
  return reading;
}

}  // namespace etb::host
