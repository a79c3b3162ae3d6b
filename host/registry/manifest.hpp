// SPDX-License-Identifier: Apache-2.0
// Manifest: a vendor's description of a plugin, in the JSON file beside it. docs/manifest.md specifies the
// format.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "host/registry/diagnostic.hpp"
#include "host/registry/digest.hpp"

namespace etb::host {

struct AbiRange {
  uint32_t min = 0;  // ETB_ABI_MAKE(major, minor)
  uint32_t max = 0;
};

// A delegate id as in .pte files.
struct ProvidedId {
  std::string id;
  // First and last format that the plugin reads; nullopt: any.
  std::optional<std::pair<uint32_t, uint32_t>> payload_versions;
};

// One build of the plugin. The host chooses one before it loads anything.
struct LibraryEntry {
  std::string os;
  std::string arch;
  std::string libc;  // "" : any
  uint32_t api_level = 0;
  std::string path;  // relative to the manifest, never above it
  std::optional<Sha256> sha256;
  std::optional<uint64_t> nbytes;
  std::vector<std::string> cpu;  // features that the processor must have
  int32_t rank = 0;              // the host prefers the highest among those that fit
};

enum class Provenance { kBundle, kSystem };

struct NeededLibrary {
  std::string name;
  std::string min_version;
  std::string max_version;
  Provenance where = Provenance::kSystem;
  std::optional<Sha256> sha256;  // only for a bundled library
};

struct NeededDriver {
  std::string name;
  std::string min_version;
};

struct DeviceMatch {
  std::string vendor;      // "0x10de"
  std::string compatible;  // device-tree compatible
  std::string api_version;
};

struct Needs {
  std::vector<NeededLibrary> libraries;
  std::string kernel_min;
  std::vector<NeededDriver> drivers;
  std::vector<DeviceMatch> match;
};

// A hint. The host prefers the devices that the plugin enumerates.
struct DeviceFamily {
  std::string kind;
  std::string name;
  std::vector<std::string> caps;
};

// A file that belongs to the manifest.
struct SideFile {
  std::string path;  // relative to it, never above it
  std::optional<Sha256> sha256;
};

using OptionValue = std::variant<std::monostate, bool, int64_t, double, std::string>;

struct OptionEntry {
  std::string key;
  std::string type;  // bool, i64, f64, text, bytes, list
  OptionValue default_value;
  std::optional<double> minimum;
  std::optional<double> maximum;
  std::vector<std::string> choices;
  std::vector<std::string> scopes;  // plugin, device, delegate, context, run
  std::string mutable_when;         // fixed, between, any-time
  std::string doc;
};

struct ManifestFlags {
  bool unloadable = false;
  bool own_threads = false;
  std::string sandbox = "allowed";  // required, allowed, unsupported
};

struct Manifest {
  std::string id;
  std::string version;
  std::string vendor;
  std::string license;
  std::string url;
  std::string description;
  std::vector<ProvidedId> provides;
  std::vector<std::string> aliases;
  AbiRange abi;
  uint32_t profiles = 0;  // ETB_PROFILE_*
  std::vector<LibraryEntry> libraries;
  Needs needs;
  std::vector<DeviceFamily> devices;
  std::optional<SideFile> ops;
  std::vector<std::string> custom_ops;  // declarations (api/ops/custom_ops.hpp)
  std::optional<SideFile> rules;        // rewrite rules for the compiler
  std::vector<OptionEntry> options;
  ManifestFlags flags;
  int32_t priority = 0;
  std::string certificate;
  std::string signature;
  std::vector<std::string> unknown_keys;  // paths of the keys that this host does not know and ignores
};

// A parsed manifest, or all its diagnostics. `id` is set even then, if the file contains one.
struct ManifestReading {
  std::optional<Manifest> manifest;
  std::string id;
  std::vector<Diagnostic> diagnostics;
};

ManifestReading parse_manifest(std::string_view text);

// Writes the manifest as JSON, for `info --json`. Parsing it again returns an equal manifest.
std::string to_json(const Manifest& manifest);

}  // namespace etb::host
