// SPDX-License-Identifier: Apache-2.0
#include "plugins/dsp_stub/plugin.hpp"

#include <algorithm>
#include <cstring>

#include "etb/cpp/bytes.hpp"
#include "plugins/dsp_stub/compile/lowering.hpp"
#include "plugins/dsp_stub/plan/schedule.hpp"

namespace etb::dsp_stub {

namespace {

etb_option attribute(const char* key, int64_t value) {
  etb_option out{};
  out.struct_size = ETB_INIT_SIZE(etb_option);
  out.key = key;
  out.type = ETB_OPTION_I64;
  out.i64 = value;
  out.text = "";
  return out;
}

PayloadParts to_parts(const Network& network, Schedule&& made, const DspPlugin::Request& request) {
  PayloadParts parts;
  parts.version = request.payload_version;
  parts.tcm_bytes = made.tcm_bytes;
  parts.arena_bytes = made.arena_bytes;
  if (parts.version >= 2) parts.layer_count = static_cast<uint32_t>(network.layers.size());
  parts.inputs = network.inputs;
  parts.outputs = network.outputs;
  parts.constants = network.constants;
  parts.commands = std::move(made.commands);
  return parts;
}

}  // namespace

Result<DspPlugin> DspPlugin::make(const Host&, const Options& options) {
  DspPlugin plugin;
  ETB_ASSIGN(plugin.defaults_, plugin.request(nullptr, options));
  return plugin;
}

Result<DspPlugin::Request> DspPlugin::request(const etb_target* target, const Options& options) const {
  Request out = defaults_;
  if (options.find("tcm_kib") != nullptr)
    out.tcm_bytes = static_cast<uint32_t>(options.get_i64("tcm_kib")) * 1024;
  if (options.find("payload_version") != nullptr)
    out.payload_version = static_cast<uint32_t>(options.get_i64("payload_version"));
  if (target == nullptr) return out;
  ETB_TRY(ETB_ACCEPT(etb_target, target, attribute_count));
  if (target->kind != nullptr && *target->kind != '\0' && std::strcmp(target->kind, kDeviceKind) != 0)
    return make_error(Code::NOT_SUPPORTED,
                      std::string("target of kind '") + target->kind + "', expected 'dsp'");
  for (uint64_t i = 0; i < target->attribute_count; ++i) {
    const etb_option* option = ETB_AT(etb_option, target->attributes, i);
    if (option->key == nullptr || std::strcmp(option->key, "tcm_kib") != 0) continue;
    if (option->type != ETB_OPTION_I64 || option->i64 < 4 || option->i64 > DSP_TCM_BYTES / 1024)
      return make_error(Code::INVALID_ARGUMENT, "target: tcm_kib, expected an integer from 4 to 256");
    out.tcm_bytes = static_cast<uint32_t>(option->i64) * 1024;
  }
  return out;
}

Status DspPlugin::enumerate(const DeviceSink& sink) const {
  const etb_option attributes[] = {attribute("tcm_kib", DSP_TCM_BYTES / 1024), attribute("mac_units", 8),
                                   attribute("mac_lanes", 8), attribute("clock_hz", DSP_CLOCK_HZ)};
  etb_device_info info{};
  info.struct_size = ETB_INIT_SIZE(etb_device_info);
  const uint64_t hash = etb::detail::hash_text("dsp_stub simulator, command streams 1 to 2");
  std::memcpy(info.uuid, &hash, sizeof hash);
  std::memcpy(info.fingerprint, &hash, sizeof hash);
  info.memory_total_bytes = info.memory_free_bytes = DSP_TCM_BYTES;
  info.kind = kDeviceKind;
  info.name = "simulated fixed-point DSP";
  info.driver_version = "";
  info.attributes = attributes;
  info.attribute_count = std::size(attributes);
  return sink.put(info);
}

Verdict DspPlugin::check_payload(const etb_payload_check& check) const {
  ByteReader prefix(to_span(check.prefix));
  if (prefix.read<uint32_t>() != kPayloadMagic)
    return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_CORRUPT, "does not begin with ETBD"};
  const auto version = prefix.read<uint32_t>();
  if (version < kOldestPayloadVersion || version > kPayloadVersion)
    return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_FORMAT,
            "version " + std::to_string(version) + ", plugin reads 1 to 2"};
  if (prefix.read<uint32_t>() > DSP_TCM_BYTES)
    return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_DEVICE, "for a device with more tightly coupled memory"};
  if (version < kPayloadVersion)
    return {ETB_VERDICT_PREFER_RECOMPILE, ETB_REASON_FORMAT, "version 1 has no events for layers"};
  return {ETB_VERDICT_OPTIMAL, 0, ""};
}

Status DspPlugin::partition(const Graph& graph, const PartitionSink& sink) const {
  return partition(graph, sink, defaults_);
}

Status DspPlugin::partition(const Graph& graph, const PartitionSink& sink, const Request& request) const {
  const GraphFacts facts(graph);
  const std::vector<Answer> answers = answer_nodes(facts, request.tcm_bytes);
  for (uint32_t i = 0; i < answers.size(); ++i) {
    const Answer& answer = answers[i];
    const uint32_t id = graph.node(i).id();
    if (!answer.is_claimed) {
      ETB_TRY(sink.reject({&id, 1}, Claim::no(answer.reason.c_str(), answer.text)));
      continue;
    }
    Claim claim = Claim::yes();
    claim.flags = ETB_CLAIM_WHOLE_GROUP;
    ETB_TRY(sink.claim({&id, 1}, claim, graph.node(0).id() + answer.group));
  }
  return {};
}

Status DspPlugin::estimate(const Graph& region, const Request& request, etb_estimate& out) const {
  const GraphFacts facts(region);
  ETB_ASSIGN(Network network, lower_region(facts, nullptr));
  ETB_ASSIGN(const Schedule made, schedule(network, request.tcm_bytes, request.payload_version >= 2));
  std::vector<std::byte> bytes(made.commands.size() * sizeof(uint32_t));
  std::memcpy(bytes.data(), made.commands.data(), bytes.size());
  const dsp_stream stream = {reinterpret_cast<const uint8_t*>(bytes.data()),
                             static_cast<uint32_t>(bytes.size())};
  dsp_clock clock;
  dsp_command command;
  dsp_clock_start(&clock);
  for (uint32_t at = 0; dsp_read_command(&stream, at, &command) != 0; at += 4 * command.word_count)
    dsp_clock_advance(&clock, &command);
  out.latency_ns = static_cast<double>(dsp_clock_end(&clock)) * 1e9 / DSP_CLOCK_HZ;
  out.confidence = 1;  // cycles do not depend on data
  out.moved_bytes = clock.dma_bytes;
  out.peak_bytes = uint64_t{made.tcm_bytes} + made.arena_bytes;
  return {};
}

Result<Artifact> DspPlugin::compile(const Region& region) const {
  ETB_ASSIGN(const Request wanted, request(region.target(), region.options()));
  const GraphFacts facts(region.graph());
  ETB_ASSIGN(Network network, lower_region(facts, &region));
  ETB_ASSIGN(Schedule made, schedule(network, wanted.tcm_bytes, wanted.payload_version >= 2));
  Artifact artifact;
  artifact.format_version = wanted.payload_version;
  const PayloadParts parts = to_parts(network, std::move(made), wanted);
  artifact.payload = write_payload(parts);
  artifact.resident_bytes = artifact.payload.size();
  for (uint32_t i = 0; i < parts.layer_count; ++i)
    artifact.debug_map.push_back({.name = "", .debug_id = i, .handles = network.layers[i].handles});
  return artifact;
}

namespace {

// The functions that the plugin base does not wrap: partition for a target, and estimate.

Result<DspPlugin::Request> read_request(const DspPlugin& plugin, const etb_partition_args* args) {
  ETB_TRY(ETB_ACCEPT(etb_partition_args, args, option_count));
  ETB_ASSIGN(const Options options,
             Options::make(args->options, args->option_count, DspPlugin::kOptions, ETB_OBJECT_PLUGIN));
  return plugin.request(args->target, options);
}

const DspPlugin& to_plugin(etb_plugin* plugin) {
  return reinterpret_cast<etb::detail::PluginObject<DspPlugin>*>(plugin)->impl;
}

etb_status ETB_CALL partition_for_target(etb_plugin* plugin, const etb_partition_args* args,
                                         const etb_partition_sink* raw_sink, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_ASSIGN(const DspPlugin::Request wanted, read_request(to_plugin(plugin), args));
    ETB_TRY(ETB_ACCEPT(etb_partition_sink, raw_sink, reject));
    ETB_ASSIGN(const graph::View view, etb::detail::open_graph(args->graph));
    const PartitionSink sink(*raw_sink);
    for (uint32_t g = 0; g < view.graph_count(); ++g)
      ETB_TRY(to_plugin(plugin).partition(view.graph(g), sink, wanted));
    return {};
  });
}

etb_status ETB_CALL estimate_region(etb_plugin* plugin, const etb_partition_args* args, etb_estimate* out,
                                    etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_ASSIGN(const DspPlugin::Request wanted, read_request(to_plugin(plugin), args));
    ETB_TRY(ETB_ACCEPT(etb_estimate, out, energy_nj));
    ETB_ASSIGN(const graph::View view, etb::detail::open_graph(args->graph));
    return to_plugin(plugin).estimate(view.method(), wanted, *out);
  });
}

ETB_DEFINE_PLUGIN_NOTE(dsp_stub_note, "org.etbackend.dsp-stub", "etbackend", "0.1.0", "",
                       etb::detail::profiles<DspPlugin>(), etb::detail::plugin_flags<DspPlugin>());

constexpr etb_aot_table make_aot() {
  etb_aot_table table = etb::detail::make_aot_table<DspPlugin>();
  table.partition = partition_for_target;
  table.estimate = estimate_region;
  table.caps |= ETB_AOT_CAP_ESTIMATE;
  return table;
}
constexpr etb_aot_table kAot = make_aot();

template <uint32_t... minor>
constexpr auto make_tables(std::integer_sequence<uint32_t, minor...>) {
  std::array<etb_plugin_table, sizeof...(minor)> tables = {
      plugin_table<DspPlugin>(&dsp_stub_note.ident, ETB_ABI_MAKE(ETB_ABI_MAJOR, minor))...};
  for (etb_plugin_table& table : tables) table.aot = &kAot;
  return tables;
}

}  // namespace

}  // namespace etb::dsp_stub

const etb_plugin_table* ETB_CALL ETB_PLUGIN_QUERY(const etb_host*, uint32_t abi_min, uint32_t abi_max) {
  static constexpr auto kTables =
      etb::dsp_stub::make_tables(std::make_integer_sequence<uint32_t, ETB_ABI_MINOR + 1>());
  const uint32_t chosen = etb::choose_abi_version(abi_min, abi_max);
  return chosen != 0 ? &kTables[ETB_ABI_MINOR_OF(chosen)] : nullptr;
}
