// SPDX-License-Identifier: Apache-2.0
#include "host/registry/registry_json.hpp"

#include <nlohmann/json.hpp>

#include "host/registry/reason.hpp"

namespace etb::host {
namespace {

using json = nlohmann::ordered_json;

json from_error(const Error& error) {
  json out{{"reason", error.reason}, {"text", error.message}};
  if (const std::string_view hint = hint_of(error.reason); !hint.empty()) out["hint"] = hint;
  return out;
}

json from_faults(const std::vector<Diagnostic>& diagnostics) {
  json out = json::array();
  for (const Diagnostic& diagnostic : diagnostics)
    out.push_back({{"path", diagnostic.path}, {"message", diagnostic.message}});
  return out;
}

json target_of(const ProbedDevice& device) {
  json out{{"target_version", 1}, {"kind", device.kind}, {"name", device.name}};
  if (device.fingerprint.find_first_not_of('0') != std::string::npos) out["fingerprint"] = device.fingerprint;
  out["attributes"] = json::parse(device.attributes, nullptr, false);
  return out;
}

json from_device(const ProbedDevice& device) {
  return {{"kind", device.kind},
          {"name", device.name},
          {"driver_version", device.driver_version},
          {"uuid", device.uuid},
          {"memory_total_bytes", device.memory_total_bytes},
          {"memory_free_bytes", device.memory_free_bytes},
          {"target", target_of(device)}};
}

json from_entry(const PluginEntry& entry) {
  json out{{"id", entry.id},
           {"version", entry.version()},
           {"tier", to_text(entry.tier)},
           {"manifest", entry.manifest_path},
           {"library", entry.library_path},
           {"digest", to_text(entry.digest)},
           {"certificate", to_text(entry.certificate)},
           {"priority", entry.priority},
           {"usable", entry.is_usable()}};
  if (entry.problem) out["problem"] = from_error(*entry.problem);
  if (!entry.diagnostics.empty()) out["faults"] = from_faults(entry.diagnostics);
  if (!entry.warnings.empty()) out["warnings"] = entry.warnings;
  out["provides"] = json::array();
  if (entry.manifest)
    for (const ProvidedId& provided : entry.manifest->provides) out["provides"].push_back(provided.id);
  out["aliases"] = entry.manifest ? entry.manifest->aliases : std::vector<std::string>();
  return out;
}

void add_probe(json& out, const Result<ProbeReport>& probe) {
  if (!probe) {
    out["usable"] = false;
    out["problem"] = from_error(probe.error());
    return;
  }
  out["devices"] = json::array();
  for (const ProbedDevice& device : probe->devices) out["devices"].push_back(from_device(device));
  if (!probe->no_device_reason.empty())
    out["no_device"] = {{"reason", probe->no_device_reason}, {"hint", probe->no_device_hint}};
}

}  // namespace

std::string target_json(const ProbedDevice& device) {
  return target_of(device).dump(2, ' ', true, json::error_handler_t::replace) + '\n';
}

std::string ops_json(const PluginEntry& entry, const ProbeReport& report) {
  json rows = json::array();
  for (const ProbedOp& op : report.ops)
    rows.push_back({{"op", op.op},
                    {"dtypes", op.dtypes},
                    {"min_rank", op.min_rank},
                    {"max_rank", op.max_rank},
                    {"layouts", op.layouts},
                    {"quant_schemes", op.quant_schemes},
                    {"dynamic_sizes", op.has_dynamic_sizes},
                    {"constraint", op.constraint}});
  const json out{{"id", entry.id}, {"version", entry.version()}, {"ops", std::move(rows)}};
  return out.dump(2, ' ', true, json::error_handler_t::replace);
}

std::string to_json(const Registry& registry, const ProbeResults& probes) {
  json out{{"plugins", json::array()}, {"places", json::array()}, {"warnings", registry.warnings()}};
  for (size_t i = 0; i < registry.plugins().size(); ++i) {
    json entry = from_entry(registry.plugins()[i]);
    if (const auto probe = probes.find(i); probe != probes.end()) add_probe(entry, probe->second);
    out["plugins"].push_back(std::move(entry));
  }
  for (const FolderReport& report : registry.places()) {
    json place{{"tier", to_text(report.place.tier)},
               {"path", report.place.path},
               {"state", to_text(report.state)},
               {"manifest_count", report.manifest_count}};
    if (!report.reason.empty()) place["reason"] = report.reason;
    out["places"].push_back(std::move(place));
  }
  return out.dump(2, ' ', true, json::error_handler_t::replace);
}

}  // namespace etb::host
