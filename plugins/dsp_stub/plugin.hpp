// SPDX-License-Identifier: Apache-2.0
// The plugin: a simulated DSP, and its compiler.
#pragma once

#include "etb/cpp/plugin.hpp"
#include "plugins/dsp_stub/compile/op_table.hpp"
#include "plugins/dsp_stub/delegate.hpp"

namespace etb::dsp_stub {

inline constexpr const char* kPluginId = "org.etbackend.dsp-stub";
inline constexpr const char* kDeviceKind = "dsp";

class DspPlugin {
 public:
  using Delegate = DspDelegate;
  static constexpr uint32_t kFlags = ETB_PLUGIN_OWN_THREADS;  // one for each context
  // Tables built on first use, not when the library is loaded.
  struct Rows {
    operator std::span<const OpRow>() const { return op_rows(); }
  };
  static constexpr Rows kOps = {};
  struct Preserved {
    operator std::span<const char* const>() const { return preserved_ops(); }
  };
  static constexpr Preserved kPreserveOps = {};
  static constexpr OptionRow kOptions[] = {
      i64_option("tcm_kib", DSP_TCM_BYTES / 1024, 4, DSP_TCM_BYTES / 1024, ETB_OBJECT_PLUGIN,
                 "Tightly coupled memory that payloads may use, in KiB: for smaller devices of the family."),
      i64_option("payload_version", kPayloadVersion, kOldestPayloadVersion, kPayloadVersion,
                 ETB_OBJECT_PLUGIN,
                 "Newest version that payloads may have: 1 without events for layers, 2 without int16 codes "
                 "and weights, and without averages of codes.")};

  static Result<DspPlugin> make(const Host& host, const Options& options);

  Status enumerate(const DeviceSink& sink) const;
  Verdict check_payload(const etb_payload_check& check) const;
  Status partition(const Graph& graph, const CompileRequest& request, const PartitionSink& sink) const;
  Result<Artifact> compile(const Region& region) const;
  Result<Estimate> estimate(const Graph& region, const CompileRequest& request) const;

  const Host& host() const { return host_; }

  // Device and format that payloads are for.
  struct Subject {
    uint32_t tcm_bytes;
    uint32_t payload_version;
  };

 private:
  // Reads the target and the options of a call; options of the plugin hold where the call has none. An unknown
  // kind of device is an error.
  [[nodiscard]] Result<Subject> read_subject(const Target& target, const Options& options) const;

  Host host_;
  Subject defaults_ = {DSP_TCM_BYTES, kPayloadVersion};
};

}  // namespace etb::dsp_stub
