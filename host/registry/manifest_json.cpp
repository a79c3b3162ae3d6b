// SPDX-License-Identifier: Apache-2.0
// Writes a manifest as JSON: the counterpart of manifest.cpp.
#include <nlohmann/json.hpp>

#include "api/format/hex.hpp"
#include "etb/plugin.h"
#include "host/registry/manifest.hpp"

namespace etb::host {
namespace {

using json = nlohmann::ordered_json;

std::string abi_text(uint32_t version) {
  return std::to_string(ETB_ABI_MAJOR_OF(version)) + '.' + std::to_string(ETB_ABI_MINOR_OF(version));
}

// Leaves out empty values, so that the output is as short as a vendor would write it.
void put(json& out, const char* key, const std::string& text) {
  if (!text.empty()) out[key] = text;
}
void put(json& out, const char* key, const std::vector<std::string>& texts) {
  if (!texts.empty()) out[key] = texts;
}
template <class T, class Convert>
void put_list(json& out, const char* key, const std::vector<T>& items, Convert convert) {
  if (items.empty()) return;
  json& list = out[key] = json::array();
  for (const T& item : items) list.push_back(convert(item));
}

json from_provided(const ProvidedId& provided) {
  json out{{"id", provided.id}};
  if (provided.payload_versions)
    out["payload_versions"] = {provided.payload_versions->first, provided.payload_versions->second};
  return out;
}

json from_abi(const Manifest& manifest) {
  json profiles = json::array();
  if (manifest.profiles & ETB_PROFILE_RUNTIME) profiles.push_back("runtime");
  if (manifest.profiles & ETB_PROFILE_AOT) profiles.push_back("aot");
  if (manifest.profiles & ETB_PROFILE_LAYER) profiles.push_back("layer");
  return {{"min", abi_text(manifest.abi.min)}, {"max", abi_text(manifest.abi.max)}, {"profiles", profiles}};
}

json from_library(const LibraryEntry& library) {
  json out{{"os", library.os}, {"arch", library.arch}};
  put(out, "libc", library.libc);
  if (library.api_level != 0) out["api_level"] = library.api_level;
  out["path"] = library.path;
  if (library.sha256) out["sha256"] = format::to_hex(*library.sha256);
  if (library.nbytes) out["size"] = *library.nbytes;
  put(out, "cpu", library.cpu);
  if (library.rank != 0) out["rank"] = library.rank;
  return out;
}

json from_needs(const Needs& needs) {
  json out = json::object();
  put_list(out, "libraries", needs.libraries, [](const NeededLibrary& library) {
    json item{{"name", library.name}};
    put(item, "min", library.min_version);
    put(item, "max", library.max_version);
    item["where"] = library.where == Provenance::kBundle ? "bundle" : "system";
    if (library.sha256) item["sha256"] = format::to_hex(*library.sha256);
    return item;
  });
  put(out, "kernel_min", needs.kernel_min);
  put_list(out, "drivers", needs.drivers, [](const NeededDriver& driver) {
    json item{{"name", driver.name}};
    put(item, "min", driver.min_version);
    return item;
  });
  put_list(out, "match", needs.match, [](const DeviceMatch& match) {
    json item = json::object();
    put(item, "vendor", match.vendor);
    put(item, "compatible", match.compatible);
    put(item, "api_version", match.api_version);
    return item;
  });
  return out;
}

json from_option(const OptionEntry& option) {
  json out{{"key", option.key}, {"type", option.type}};
  if (const bool* flag = std::get_if<bool>(&option.default_value)) out["default"] = *flag;
  if (const int64_t* integer = std::get_if<int64_t>(&option.default_value)) out["default"] = *integer;
  if (const double* number = std::get_if<double>(&option.default_value)) out["default"] = *number;
  if (const std::string* text = std::get_if<std::string>(&option.default_value)) out["default"] = *text;
  if (option.minimum) out["min"] = *option.minimum;
  if (option.maximum) out["max"] = *option.maximum;
  put(out, "choices", option.choices);
  put(out, "scopes", option.scopes);
  put(out, "mutable", option.mutable_when);
  put(out, "doc", option.doc);
  return out;
}

void put_file(json& out, const char* key, const std::optional<SideFile>& file) {
  if (!file) return;
  out[key] = {{"path", file->path}};
  if (file->sha256) out[key]["sha256"] = format::to_hex(*file->sha256);
}

}  // namespace

std::string to_json(const Manifest& manifest) {
  json out{{"manifest_version", 1},
           {"id", manifest.id},
           {"version", manifest.version},
           {"vendor", manifest.vendor}};
  put(out, "license", manifest.license);
  put(out, "url", manifest.url);
  put(out, "description", manifest.description);
  put_list(out, "provides", manifest.provides, from_provided);
  put(out, "aliases", manifest.aliases);
  out["abi"] = from_abi(manifest);
  put_list(out, "libraries", manifest.libraries, from_library);
  if (json needs = from_needs(manifest.needs); !needs.empty()) out["needs"] = std::move(needs);
  put_list(out, "devices", manifest.devices, [](const DeviceFamily& family) {
    json item{{"kind", family.kind}};
    put(item, "name", family.name);
    put(item, "caps", family.caps);
    return item;
  });
  put_file(out, "ops", manifest.ops);
  put(out, "custom_ops", manifest.custom_ops);
  put_file(out, "rules", manifest.rules);
  put_list(out, "options", manifest.options, from_option);
  out["flags"] = {{"unloadable", manifest.flags.unloadable},
                  {"own_threads", manifest.flags.own_threads},
                  {"sandbox", manifest.flags.sandbox}};
  if (manifest.priority != 0) out["priority"] = manifest.priority;
  put(out, "certificate", manifest.certificate);
  put(out, "signature", manifest.signature);
  return out.dump(2, ' ', true);
}

}  // namespace etb::host
