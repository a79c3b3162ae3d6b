// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/plugin.hpp"

#include "plugins/xnnpack/compile/graph_lowering.hpp"

namespace etb::xnnpack {

Result<XnnpackPlugin> XnnpackPlugin::make(const Host& host, const Options&) {
  ETB_TRY(from_xnn(xnn_initialize(nullptr), "initialize"));
  XnnpackPlugin plugin;
  plugin.host_ = host;
  plugin.parallel_ = host.service<etb_parallel_service>(ETB_SERVICE_PARALLEL);
#if !ETB_PTHREADPOOL_HAS_EXECUTOR
  const uint32_t workers =
      plugin.parallel_ != nullptr ? plugin.parallel_->max_workers(plugin.parallel_->ctx) : 1;
  if (workers > 1) plugin.own_threads_.reset(pthreadpool_create(workers));
#endif
  return plugin;
}

void XnnpackPlugin::warn(const std::string& text) const {
  {
    const std::lock_guard lock(shared_->log_mutex);
    if (text == shared_->last_warning) return;
    shared_->last_warning = text;
  }
  host_.log(ETB_LOG_WARNING, ("xnnpack: " + text).c_str());
}

Verdict XnnpackPlugin::check_payload(const etb_payload_check& check) const {
  const auto prefix =
      std::span(static_cast<const std::byte*>(check.prefix.data), static_cast<size_t>(check.prefix.nbytes));
  if (!is_xnnpack_payload(prefix)) {
    return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_FORMAT, "neither a header XH00 nor a graph XN00 or XN01"};
  }
  // A graph longer than this prefix is rejected by name when a delegate is created.
  if (const Status known = check_xnnpack_operators(prefix); !known)
    return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_FORMAT, known.error().message};
  return {};
}

Status XnnpackPlugin::partition(const Graph& graph, const PartitionSink& sink) const {
  return claim_nodes(graph, sink);
}

Result<Artifact> XnnpackPlugin::compile(const Region& region) const { return compile_region(region); }

}  // namespace etb::xnnpack

ETB_DEFINE_PLUGIN(etb::xnnpack::XnnpackPlugin, "org.etbackend.xnnpack", "etbackend", "0.1.0")
