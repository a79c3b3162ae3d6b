// The plugin itself: XNNPACK made ready once, and the thread pool that all its delegates share.
#pragma once

#include "etb/cpp/plugin.hpp"
#include "plugins/xnnpack/delegate.hpp"
#include "plugins/xnnpack/ops/rows.hpp"

namespace etb::xnnpack {

class XnnpackPlugin {
 public:
  using Delegate = XnnpackDelegate;
  static constexpr uint32_t kFlags =
      ETB_PLUGIN_OWN_THREADS;  // pthreadpool's, when the host grants more than one worker

  static Result<XnnpackPlugin> make(const Host& host, const Options& options);

  Verdict check_payload(const etb_payload_check& check) const;

  static constexpr const OpRow (&kOps)[std::size(kOpRows)] = kOpRows;
  // Whole they are one node here; taken apart, many.
  static constexpr const char* kPreserveOps[] = {
      "aten.linear.default", "aten.scaled_dot_product_attention.default", "aten.hardswish.default", "aten.prelu.default"};
  Status partition(const Graph& graph, const PartitionSink& sink) const;
  Result<Artifact> compile(const Region& region) const;

  // NULL: run on the calling thread.
  pthreadpool_t threads() const { return threads_.get(); }

 private:
  ThreadPool threads_;
};

}  // namespace etb::xnnpack
