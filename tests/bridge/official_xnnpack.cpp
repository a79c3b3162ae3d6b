// SPDX-License-Identifier: Apache-2.0
// The official XNNPACK backend of ExecuTorch as a plugin: what a vendor writes to port a backend. The ahead-of-time
// part is that of our own XNNPACK plugin, which writes the same payloads, so that verify can run all of its cases on
// the official backend. With ETB_BRIDGE_DEFECT, a defect is built around the backend (faulty_backend.hpp).
#include "etb/bridge/executorch.hpp"
#include "plugins/xnnpack/compile/graph_lowering.hpp"
#include "plugins/xnnpack/compile/op.hpp"
#include "plugins/xnnpack/payload/payload.hpp"
#ifdef ETB_BRIDGE_DEFECT
#include "tests/bridge/faulty_backend.hpp"
#endif

namespace {

struct OfficialXnnpack {
  static constexpr uint32_t kFlags = ETB_PLUGIN_OWN_THREADS;

  static executorch::runtime::BackendInterface* find() {
    executorch::runtime::BackendInterface* const official =
        executorch::runtime::get_backend_class("XnnpackBackend");
#ifdef ETB_BRIDGE_DEFECT
    static etb::bridge_test::FaultyBackend faulty(official, etb::bridge_test::Defect::ETB_BRIDGE_DEFECT);
    if (official != nullptr) return &faulty;
#endif
    return official;
  }

  static etb::Result<etb::bridge::ArgumentCounts> count_arguments(std::span<const std::byte> payload,
                                                                  const etb::CompileSpecs&) {
    ETB_ASSIGN(const etb::xnnpack::XnnPayload read, etb::xnnpack::read_xnnpack_payload(payload));
    etb::bridge::ArgumentCounts counts{read.input_argument_count(),
                                       static_cast<uint32_t>(read.output_ids.size())};
#ifdef ETB_BRIDGE_DEFECT
    if (etb::bridge_test::Defect::ETB_BRIDGE_DEFECT == etb::bridge_test::Defect::kOtherCount)
      ++counts.output_count;
#endif
    return counts;
  }

  static etb::Verdict check_payload(const etb_payload_check& check) {
    const std::span prefix(static_cast<const std::byte*>(check.prefix.data),
                           static_cast<size_t>(check.prefix.nbytes));
    if (etb::xnnpack::is_xnnpack_payload(prefix)) return {};
    return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_FORMAT, "neither a header XH00 nor a graph XN00 or XN01"};
  }

  // XNNPACK reads up to 16 bytes after its operands; outputs may be operands of later nodes.
  static void describe_io(etb_io_req& req) {
    req.alignment = 4;
    req.padding_bytes = 16;
  }
};

struct OfficialXnnpackPlugin : etb::bridge::WrappedPlugin<OfficialXnnpack> {
  static etb::Result<OfficialXnnpackPlugin> make(const etb::Host& host, const etb::Options&) {
    OfficialXnnpackPlugin plugin;
    ETB_TRY(plugin.connect(host));
    return plugin;
  }

  struct Rows {
    operator std::span<const etb::OpRow>() const { return etb::xnnpack::op_rows(); }
  };
  static constexpr Rows kOps = {};
  struct Preserved {
    operator std::span<const char* const>() const { return etb::xnnpack::preserved_ops(); }
  };
  static constexpr Preserved kPreserveOps = {};

  etb::Status partition(const etb::Graph& graph, const etb::PartitionSink& sink) const {
    return etb::xnnpack::claim_nodes(graph, sink);
  }
  etb::Result<etb::Artifact> compile(const etb::Region& region) const {
    return etb::xnnpack::compile_region(region);
  }
};

}  // namespace

ETB_DEFINE_PLUGIN(OfficialXnnpackPlugin, "org.etbackend.bridge.official-xnnpack", "etbackend", "0.1.0")
