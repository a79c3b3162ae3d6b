// SPDX-License-Identifier: Apache-2.0
#include "host/registry/manifest.hpp"

#include <algorithm>
#include <set>

#include "api/format/hex.hpp"
#include "api/ops/custom_ops.hpp"
#include "etb/plugin.h"
#include "host/registry/json_document.hpp"
#include "host/registry/object_reader.hpp"

namespace etb::host {
namespace {

using nlohmann::json;

constexpr int64_t kManifestVersion = 1;
// Names that `requires_manifest_features` may list. Version 1 has none yet. A host must reject a
// manifest with an unknown one.
constexpr std::array<std::string_view, 0> kKnownFeatures{};
constexpr size_t kMaxItems = 256;

std::optional<uint32_t> parse_abi_version(std::string_view text) {
  const size_t dot = text.find('.');
  if (!kDottedNumberRule.accepts(text) || dot == std::string_view::npos ||
      text.find('.', dot + 1) != std::string_view::npos)
    return std::nullopt;
  const unsigned long major = std::stoul(std::string(text.substr(0, dot)));
  const unsigned long minor = std::stoul(std::string(text.substr(dot + 1)));
  if (major == 0 || major > 0xffff || minor > 0xffff) return std::nullopt;
  return ETB_ABI_MAKE(major, minor);
}

uint32_t read_abi_version(ObjectReader& in, const char* key) {
  static constexpr TextRule kRule{[](std::string_view text) { return parse_abi_version(text).has_value(); },
                                  "major.minor such as '1.0'"};
  return parse_abi_version(in.text(key, Need::kRequired, kRule)).value_or(0);
}

void read_abi(ObjectReader& in, Manifest& out) {
  out.abi.min = read_abi_version(in, "min");
  out.abi.max = read_abi_version(in, "max");
  if (out.abi.min != 0 && out.abi.max != 0 && out.abi.min > out.abi.max) in.report("max", "smaller than min");
  static constexpr TextRule kRule{
      [](std::string_view text) { return text == "runtime" || text == "aot" || text == "layer"; },
      "'runtime', 'aot' or 'layer'"};
  const std::vector<std::string> profiles = in.texts("profiles", Need::kRequired, kRule, 3);
  for (const std::string& profile : profiles)
    out.profiles |= profile == "runtime" ? ETB_PROFILE_RUNTIME
                    : profile == "aot"   ? ETB_PROFILE_AOT
                                         : ETB_PROFILE_LAYER;
  if (profiles.empty())
    in.report("profiles", "names none, expected at least one of 'runtime', 'aot', 'layer'");
  if ((out.profiles & ETB_PROFILE_LAYER) != 0 && profiles.size() > 1)
    in.report("profiles", "'layer' excludes other profiles: an interposer is not a backend");
}

ProvidedId read_provided_id(ObjectReader& in) {
  ProvidedId out;
  out.id = in.text("id", Need::kRequired, kProvidedIdRule);
  const json* range = in.value("payload_versions", Need::kOptional);
  if (range == nullptr) return out;
  const auto is_version = [](const json& value) {
    return value.is_number_unsigned() && value.get<uint64_t>() <= UINT32_MAX;
  };
  if (!range->is_array() || range->size() != 2 || !is_version((*range)[0]) || !is_version((*range)[1]) ||
      (*range)[0].get<uint64_t>() > (*range)[1].get<uint64_t>())
    in.report("payload_versions",
              "found " + describe(*range) + ", expected [first, last] of two 32-bit numbers");
  else
    out.payload_versions = {(*range)[0].get<uint32_t>(), (*range)[1].get<uint32_t>()};
  return out;
}

void read_provides(ObjectReader& in, Manifest& out) {
  std::set<std::string> seen;
  in.objects("provides", Need::kOptional, kMaxItems, [&](ObjectReader& item, size_t) {
    out.provides.push_back(read_provided_id(item));
    if (const std::string& id = out.provides.back().id; !id.empty() && !seen.insert(id).second)
      item.report("id", "found " + in_quotes(id) + " a second time");
  });
  const bool is_backend = (out.profiles & (ETB_PROFILE_RUNTIME | ETB_PROFILE_AOT)) != 0;
  if (is_backend && out.provides.empty())
    in.report("provides",
              "names none, expected at least one delegate id from a plugin of profile runtime or aot");
}

std::optional<Sha256> read_sha256(ObjectReader& in) {
  return format::parse_hex<32>(in.text("sha256", Need::kOptional, kSha256Rule));
}

LibraryEntry read_library(ObjectReader& in) {
  LibraryEntry out;
  out.os = in.text("os", Need::kRequired, kTokenRule);
  out.arch = in.text("arch", Need::kRequired, kTokenRule);
  out.libc = in.text("libc", Need::kOptional, kTokenRule);
  out.api_level = static_cast<uint32_t>(in.integer("api_level", Need::kOptional, 1, 10000, 0));
  out.path = in.text("path", Need::kRequired, kBeneathRule);
  out.sha256 = read_sha256(in);
  if (const int64_t nbytes = in.integer("size", Need::kOptional, 1, int64_t{1} << 40, 0))
    out.nbytes = static_cast<uint64_t>(nbytes);
  out.cpu = in.texts("cpu", Need::kOptional, kTokenRule, 64);
  std::sort(out.cpu.begin(), out.cpu.end());
  out.rank = static_cast<int32_t>(in.integer("rank", Need::kOptional, -1000, 1000, 0));
  return out;
}

void read_libraries(ObjectReader& in, Manifest& out) {
  in.objects("libraries", Need::kRequired, kMaxItems, [&](ObjectReader& item, size_t) {
    LibraryEntry entry = read_library(item);
    const bool is_ambiguous =
        std::any_of(out.libraries.begin(), out.libraries.end(), [&](const LibraryEntry& other) {
          return other.os == entry.os && other.arch == entry.arch && other.libc == entry.libc &&
                 other.api_level == entry.api_level && other.cpu == entry.cpu && other.rank == entry.rank;
        });
    if (is_ambiguous && !entry.os.empty())
      item.report("rank",
                  "platform, cpu and rank are those of an earlier library, so the choice would be arbitrary");
    out.libraries.push_back(std::move(entry));
  });
  if (out.libraries.empty()) in.report("libraries", "names none, expected at least one");
}

std::optional<SideFile> read_side_file(ObjectReader& in, const char* key) {
  std::optional<SideFile> out;
  in.nested(key, Need::kOptional, [&](ObjectReader& file) {
    out = SideFile{file.text("path", Need::kRequired, kBeneathRule), read_sha256(file)};
  });
  return out;
}

void read_custom_ops(ObjectReader& in, Manifest& out) {
  out.custom_ops = in.texts("custom_ops", Need::kOptional, kTextRule, kMaxItems);
  ops::CustomOps declared;
  for (const std::string& text : out.custom_ops)
    if (Status status = declared.declare(text); !status) in.report("custom_ops", status.error().message);
}

void read_needs(ObjectReader& in, Needs& out) {
  in.objects("libraries", Need::kOptional, kMaxItems, [&](ObjectReader& item, size_t) {
    NeededLibrary& needed = out.libraries.emplace_back();
    needed.name = item.text("name", Need::kRequired, kSonameRule);
    needed.min_version = item.text("min", Need::kOptional, kDottedNumberRule);
    needed.max_version = item.text("max", Need::kOptional, kDottedNumberRule);
    needed.where = item.one_of("where", Need::kOptional, {"bundle", "system"}) == "bundle"
                       ? Provenance::kBundle
                       : Provenance::kSystem;
    needed.sha256 = read_sha256(item);
    if (needed.sha256 && needed.where == Provenance::kSystem)
      item.report("sha256", "is for a library of where 'bundle'; the system's have none");
  });
  out.kernel_min = in.text("kernel_min", Need::kOptional, kDottedNumberRule);
  in.objects("drivers", Need::kOptional, kMaxItems, [&](ObjectReader& item, size_t) {
    NeededDriver& driver = out.drivers.emplace_back();
    driver.name = item.text("name", Need::kRequired, kTokenRule);
    driver.min_version = item.text("min", Need::kOptional, kDottedNumberRule);
  });
  in.objects("match", Need::kOptional, kMaxItems, [&](ObjectReader& item, size_t) {
    DeviceMatch& match = out.match.emplace_back();
    match.vendor = item.text("vendor", Need::kOptional, kVendorNumberRule);
    match.compatible = item.text("compatible", Need::kOptional, kLineRule);
    match.api_version = item.text("api_version", Need::kOptional, kDottedNumberRule);
  });
}

void read_devices(ObjectReader& in, Manifest& out) {
  in.objects("devices", Need::kOptional, kMaxItems, [&](ObjectReader& item, size_t) {
    DeviceFamily& family = out.devices.emplace_back();
    family.kind = item.text("kind", Need::kRequired, kTokenRule);
    family.name = item.text("name", Need::kOptional, kLineRule);
    family.caps = item.texts("caps", Need::kOptional, kTokenRule, kMaxItems);
  });
}

OptionValue read_default(ObjectReader& in, const std::string& type) {
  const json* value = in.value("default", Need::kOptional);
  if (value == nullptr) return {};
  if (type == "bool" && value->is_boolean()) return value->get<bool>();
  if (type == "i64" && value->is_number_integer()) return value->get<int64_t>();
  if (type == "f64" && value->is_number()) return value->get<double>();
  if (type == "text" && value->is_string() && is_printable(value->get_ref<const std::string&>()))
    return value->get<std::string>();
  if (!type.empty())
    in.report("default", "found " + describe(*value) + ", expected a value of type '" + type + '\'');
  return {};
}

void read_options(ObjectReader& in, Manifest& out) {
  static constexpr TextRule kScopeRule{[](std::string_view text) {
                                         return text == "plugin" || text == "device" || text == "delegate" ||
                                                text == "context" || text == "run";
                                       },
                                       "'plugin', 'device', 'delegate', 'context' or 'run'"};
  std::set<std::string> seen;
  in.objects("options", Need::kOptional, kMaxItems, [&](ObjectReader& item, size_t) {
    OptionEntry& option = out.options.emplace_back();
    option.key = item.text("key", Need::kRequired, kOptionKeyRule);
    if (!option.key.empty() && !seen.insert(option.key).second)
      item.report("key", "found " + in_quotes(option.key) + " a second time");
    option.type = item.one_of("type", Need::kRequired, {"bool", "i64", "f64", "text", "bytes", "list"});
    option.default_value = read_default(item, option.type);
    option.minimum = item.number("min");
    option.maximum = item.number("max");
    if (option.minimum && option.maximum && *option.minimum > *option.maximum)
      item.report("max", "smaller than min");
    option.choices = item.texts("choices", Need::kOptional, kLineRule, kMaxItems);
    option.scopes = item.texts("scopes", Need::kOptional, kScopeRule, 5);
    option.mutable_when = item.one_of("mutable", Need::kOptional, {"fixed", "between", "any-time"});
    option.doc = item.text("doc", Need::kOptional, kTextRule);
  });
}

void read_flags(ObjectReader& in, ManifestFlags& out) {
  out.unloadable = in.boolean("unloadable", false);
  out.own_threads = in.boolean("own_threads", false);
  const std::string sandbox = in.one_of("sandbox", Need::kOptional, {"required", "allowed", "unsupported"});
  if (!sandbox.empty()) out.sandbox = sandbox;
}

void read_texts(ObjectReader& in, Manifest& out) {
  out.id = in.text("id", Need::kRequired, kPluginIdRule);
  out.version = in.text("version", Need::kRequired, kVersionRule);
  out.vendor = in.text("vendor", Need::kRequired, kLineRule);
  out.license = in.text("license", Need::kOptional, kLineRule);
  out.url = in.text("url", Need::kOptional, kUrlRule);
  out.description = in.text("description", Need::kOptional, kTextRule);
  out.certificate = in.text("certificate", Need::kOptional, kBeneathRule);
  out.signature = in.text("signature", Need::kOptional, kBeneathRule);
  out.priority = static_cast<int32_t>(in.integer("priority", Need::kOptional, -100, 100, 0));
}

Manifest read_manifest(ObjectReader& in) {
  Manifest out;
  read_texts(in, out);
  in.nested("abi", Need::kRequired, [&](ObjectReader& abi) { read_abi(abi, out); });
  read_provides(in, out);
  out.aliases = in.texts("aliases", Need::kOptional, kAliasRule, kMaxItems);
  read_libraries(in, out);
  in.nested("needs", Need::kOptional, [&](ObjectReader& needs) { read_needs(needs, out.needs); });
  read_devices(in, out);
  out.ops = read_side_file(in, "ops");
  read_custom_ops(in, out);
  out.rules = read_side_file(in, "rules");
  read_options(in, out);
  in.nested("flags", Need::kOptional, [&](ObjectReader& flags) { read_flags(flags, out.flags); });
  return out;
}

// True if this host can check the rest of the document. The diagnostics of a newer format would mislead.
bool is_known_format(ObjectReader& in, const std::vector<Diagnostic>& diagnostics) {
  in.integer("manifest_version", Need::kRequired, kManifestVersion, kManifestVersion, 0);
  for (const std::string& feature : in.texts("requires_manifest_features", Need::kOptional, kTokenRule, 64))
    if (std::find(kKnownFeatures.begin(), kKnownFeatures.end(), feature) == kKnownFeatures.end())
      in.report("requires_manifest_features", "this host does not know the feature " + in_quotes(feature));
  return diagnostics.empty();
}

}  // namespace

ManifestReading parse_manifest(std::string_view text) {
  ManifestReading reading;
  JsonDocument document = read_json(text);
  reading.diagnostics = std::move(document.diagnostics);
  if (!document.root) return reading;
  if (!document.root->is_object()) {
    reading.diagnostics.push_back({"$", "found " + describe(*document.root) + ", expected an object"});
    return reading;
  }
  if (const auto id = document.root->find("id"); id != document.root->end() && id->is_string())
    if (kPluginIdRule.accepts(id->get_ref<const std::string&>())) reading.id = id->get<std::string>();
  ObjectReader in(*document.root, "", reading.diagnostics);
  std::vector<Diagnostic> format_diagnostics;
  ObjectReader format(*document.root, "", format_diagnostics);
  if (!is_known_format(format, format_diagnostics)) {
    reading.diagnostics.insert(reading.diagnostics.end(), format_diagnostics.begin(),
                               format_diagnostics.end());
    return reading;
  }
  in.value("manifest_version", Need::kOptional);
  in.value("requires_manifest_features", Need::kOptional);
  in.value("precision", Need::kOptional);  // for `etbackend verify`, which reads it itself
  Manifest manifest = read_manifest(in);
  in.note_unknown(manifest.unknown_keys);
  if (reading.diagnostics.empty()) reading.manifest = std::move(manifest);
  return reading;
}

}  // namespace etb::host
