// SPDX-License-Identifier: Apache-2.0
// Fuzzes arbitrary bytes as a manifest and as an overlay: parsing returns a value or diagnostics, and a value is
// equal after writing and parsing.
#include <cstdint>
#include <cstdlib>

#include "host/registry/manifest.hpp"
#include "host/registry/manifest_overlay.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const etb::host::ManifestReading reading = etb::host::parse_manifest(text);
  if (reading.manifest.has_value() != reading.diagnostics.empty()) std::abort();
  for (const etb::host::Diagnostic& diagnostic : reading.diagnostics)
    if (diagnostic.path.empty() || !etb::host::is_printable(to_text(diagnostic))) std::abort();
  if (reading.manifest) {
    const std::string once = to_json(*reading.manifest);
    const etb::host::ManifestReading again = etb::host::parse_manifest(once);
    if (!again.manifest || to_json(*again.manifest) != once) std::abort();
  }
  const etb::host::OverlayReading overlay = etb::host::parse_overlay(text);
  if (overlay.overlay.has_value() != overlay.diagnostics.empty()) std::abort();
  return 0;
}
