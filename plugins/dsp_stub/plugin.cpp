// SPDX-License-Identifier: Apache-2.0
#include "plugins/dsp_stub/plugin.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "etb/cpp/bytes.hpp"
#include "plugins/dsp_stub/compile/lowering.hpp"
#include "plugins/dsp_stub/plan/schedule.hpp"

namespace etb::dsp_stub {

namespace {

etb_option attribute(const char* key, int64_t value) {
  return i64_option(key, value, value, value, ETB_OBJECT_DEVICE, "").default_option();
}

PayloadParts to_parts(const Network& network, Schedule&& made, const DspPlugin::Subject& subject) {
  PayloadParts parts;
  // The oldest version that has what the network needs.
  parts.version =
      std::max(network.payload_version(), std::min(subject.payload_version, kLayerPayloadVersion));
  parts.tcm_bytes = made.tcm_bytes;
  parts.arena_bytes = made.arena_bytes;
  if (parts.version >= kLayerPayloadVersion) parts.layer_count = static_cast<uint32_t>(network.layers.size());
  parts.inputs = network.inputs;
  parts.outputs = network.outputs;
  parts.constants = network.constants;
  parts.commands = std::move(made.commands);
  return parts;
}

}  // namespace

Result<DspPlugin> DspPlugin::make(const Host& host, const Options& options) {
  DspPlugin plugin;
  plugin.host_ = host;
  ETB_ASSIGN(plugin.defaults_, plugin.read_subject({}, options));
  return plugin;
}

Result<DspPlugin::Subject> DspPlugin::read_subject(const Target& target, const Options& options) const {
  Subject out = defaults_;
  if (options.find("tcm_kib") != nullptr)
    out.tcm_bytes = static_cast<uint32_t>(options.get_i64("tcm_kib")) * 1024;
  if (options.find("payload_version") != nullptr)
    out.payload_version = static_cast<uint32_t>(options.get_i64("payload_version"));
  if (!target.kind().empty() && target.kind() != kDeviceKind)
    return make_error(Code::NOT_SUPPORTED,
                      "target of kind '" + std::string(target.kind()) + "', expected 'dsp'");
  ETB_ASSIGN(const int64_t tcm_kib, target.get_i64("tcm_kib", out.tcm_bytes / 1024));
  if (tcm_kib < 4 || tcm_kib > DSP_TCM_BYTES / 1024)
    return make_error(Code::INVALID_ARGUMENT,
                      "target: tcm_kib " + std::to_string(tcm_kib) + ", expected 4 to 256");
  out.tcm_bytes = static_cast<uint32_t>(tcm_kib) * 1024;
  return out;
}

Status DspPlugin::enumerate(const DeviceSink& sink) const {
  const etb_option attributes[] = {attribute("tcm_kib", DSP_TCM_BYTES / 1024), attribute("mac_units", 8),
                                   attribute("mac_lanes", 8), attribute("clock_hz", DSP_CLOCK_HZ)};
  etb_device_info info{};
  info.struct_size = ETB_INIT_SIZE(etb_device_info);
  const uint64_t hash = etb::detail::hash_text("dsp_stub simulator, command streams 1 to 3");
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
            "version " + std::to_string(version) + ", plugin reads 1 to 3"};
  if (prefix.read<uint32_t>() > DSP_TCM_BYTES)
    return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_DEVICE, "for a device with more tightly coupled memory"};
  if (version < kLayerPayloadVersion)
    return {ETB_VERDICT_PREFER_RECOMPILE, ETB_REASON_FORMAT, "version 1 has no events for layers"};
  return {ETB_VERDICT_OPTIMAL, 0, ""};
}

Status DspPlugin::partition(const Graph& graph, const CompileRequest& request,
                            const PartitionSink& sink) const {
  ETB_ASSIGN(const Subject subject, read_subject(request.target(), request.options()));
  const GraphFacts facts(graph, subject.payload_version);
  const std::vector<Answer> answers = answer_nodes(facts, subject.tcm_bytes);
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

namespace {

// A layer that does not fit into the memory of the target is one whose nodes the claim rejects.
Result<Schedule> schedule_claimed(Network& network, uint32_t tcm_bytes, uint32_t payload_version) {
  Result<Schedule> made = schedule(network, tcm_bytes, payload_version >= kLayerPayloadVersion);
  if (!made && made.error().code == Code::OUT_OF_RESOURCES) made.error().code = Code::NOT_SUPPORTED;
  return made;
}

}  // namespace

Result<Estimate> DspPlugin::estimate(const Graph& region, const CompileRequest& request) const {
  ETB_ASSIGN(const Subject subject, read_subject(request.target(), request.options()));
  const GraphFacts facts(region, subject.payload_version);
  ETB_ASSIGN(Network network, lower_region(facts, nullptr, subject.tcm_bytes));
  ETB_ASSIGN(const Schedule made, schedule_claimed(network, subject.tcm_bytes, subject.payload_version));
  std::vector<std::byte> bytes(made.commands.size() * sizeof(uint32_t));
  std::memcpy(bytes.data(), made.commands.data(), bytes.size());
  const dsp_stream stream = {reinterpret_cast<const uint8_t*>(bytes.data()),
                             static_cast<uint32_t>(bytes.size())};
  dsp_clock clock;
  dsp_command command;
  dsp_clock_start(&clock);
  for (uint32_t at = 0; dsp_read_command(&stream, at, &command) != 0; at += 4 * command.word_count)
    dsp_clock_advance(&clock, &command);
  Estimate out;
  out.latency_ns = static_cast<double>(dsp_clock_end(&clock)) * 1e9 / DSP_CLOCK_HZ;
  out.confidence = 1;  // cycles do not depend on data
  out.moved_bytes = clock.dma_bytes;
  out.peak_bytes = uint64_t{made.tcm_bytes} + made.arena_bytes;
  return out;
}

Result<Artifact> DspPlugin::compile(const Region& region) const {
  ETB_ASSIGN(const Subject subject, read_subject(region.target(), region.options()));
  const GraphFacts facts(region.graph(), subject.payload_version);
  ETB_ASSIGN(Network network, lower_region(facts, &region, subject.tcm_bytes));
  ETB_ASSIGN(Schedule made, schedule_claimed(network, subject.tcm_bytes, subject.payload_version));
  Artifact artifact;
  const PayloadParts parts = to_parts(network, std::move(made), subject);
  artifact.format_version = parts.version;
  artifact.payload = write_payload(parts);
  artifact.resident_bytes = artifact.payload.size();
  for (uint32_t i = 0; i < parts.layer_count; ++i)
    artifact.debug_map.push_back({.name = "", .debug_id = i, .handles = network.layers[i].handles});
  return artifact;
}

}  // namespace etb::dsp_stub

ETB_DEFINE_PLUGIN(etb::dsp_stub::DspPlugin, "org.etbackend.dsp-stub", "etbackend", "0.1.0")
