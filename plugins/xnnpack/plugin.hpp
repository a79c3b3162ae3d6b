// The plugin itself: XNNPACK made ready once, and the thread pool that all its delegates share.
#pragma once

#include "etb/cpp/plugin.hpp"
#include "plugins/xnnpack/delegate.hpp"

namespace etb::xnnpack {

class XnnpackPlugin {
 public:
  using Delegate = XnnpackDelegate;
  static constexpr uint32_t kFlags =
      ETB_PLUGIN_OWN_THREADS;  // pthreadpool's, when the host grants more than one worker

  static Result<XnnpackPlugin> make(const Host& host, const Options& options);

  Verdict check_payload(const etb_payload_check& check) const;

  // NULL: run on the calling thread.
  pthreadpool_t threads() const { return threads_.get(); }

 private:
  ThreadPool threads_;
};

}  // namespace etb::xnnpack
