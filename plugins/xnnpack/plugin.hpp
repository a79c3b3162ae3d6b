// SPDX-License-Identifier: Apache-2.0
// The XNNPACK plugin: initialises XNNPACK once and owns the state that its delegates share.
#pragma once

#include <mutex>
#include <string>

#include "etb/cpp/plugin.hpp"
#include "plugins/xnnpack/compile/op.hpp"
#include "plugins/xnnpack/delegate.hpp"

namespace etb::xnnpack {

class XnnpackPlugin {
 public:
  using Delegate = XnnpackDelegate;
#if ETB_PTHREADPOOL_HAS_EXECUTOR
  static constexpr uint32_t kFlags = 0;
#else
  static constexpr uint32_t kFlags =
      ETB_PLUGIN_OWN_THREADS;  // pthreadpool's, if the host grants more than one worker
#endif

  static Result<XnnpackPlugin> make(const Host& host, const Options& options);

  Verdict check_payload(const etb_payload_check& check) const;

  // Tables built on first use, not when the library is loaded.
  struct Rows {
    operator std::span<const OpRow>() const { return op_rows(); }
  };
  static constexpr Rows kOps = {};
  struct Preserved {
    operator std::span<const char* const>() const { return preserved_ops(); }
  };
  static constexpr Preserved kPreserveOps = {};
  Status partition(const Graph& graph, const PartitionSink& sink) const;
  Result<Artifact> compile(const Region& region) const;

  static constexpr const char* kSharingModes[] = {"concurrent", "disabled", "global"};
  static constexpr OptionRow kOptions[] = {
      bool_option("weight_cache_enabled", true, ETB_OBJECT_DELEGATE,
                  "Delegates with the same named weights share what XNNPACK packs of them."),
      text_option(
          "workspace_sharing_mode", "concurrent", ETB_OBJECT_DELEGATE,
          "concurrent: delegates share the memory between their nodes unless they run at the same time; "
          "global: they share it and run one at a time; disabled: each has its own.",
          kSharingModes),
      text_option("packed_cache_path", "", ETB_OBJECT_DELEGATE,
                  "Folder that keeps packed weights between processes; empty: none."),
      i64_option("packed_cache_max_bytes", int64_t{1} << 30, 0, INT64_MAX, ETB_OBJECT_DELEGATE,
                 "The oldest files of that folder go when all are larger.")};

  // State shared by the delegates.
  struct Shared {
    PackedStore packed;
    WorkspacePool workspaces;
    std::mutex log_mutex;
    std::string last_warning;  // guarded by log_mutex
  };
  Shared& shared() const { return *shared_; }

  // Writes to the host's log. Repeats of the last text are dropped. [any] thread.
  void warn(const std::string& text) const;

  // Returns the host's threads, NULL if there are none.
  const etb_parallel_service* parallel() const { return parallel_; }
  // Returns pthreadpool's own threads, used if the host's cannot be. NULL: run on the calling thread.
  pthreadpool_t own_threads() const { return own_threads_.get(); }

 private:
  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  Host host_;
  const etb_parallel_service* parallel_ = nullptr;
  ThreadPoolHandle own_threads_;
};

}  // namespace etb::xnnpack
