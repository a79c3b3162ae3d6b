// SPDX-License-Identifier: Apache-2.0
// An XNNPACK delegate, and a context that runs it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "etb/cpp/plugin.hpp"
#include "plugins/xnnpack/xnn_runtime.hpp"

namespace etb::xnnpack {

class XnnpackPlugin;
class XnnpackContext;

// Packs weights once. Further contexts, and delegates of the plugin with the same weights, share them.
class XnnpackDelegate {
 public:
  using Context = XnnpackContext;

  static Result<XnnpackDelegate> make(const XnnpackPlugin& plugin, CreateArgs& args);

  DelegateInfo info() const;
  void describe_io(etb_io_req& req) const;

 private:
  friend class XnnpackContext;

  // Sharing of the memory between nodes (the workspace).
  enum class Sharing {
    kNone,        // each runtime has its own
    kConcurrent,  // shared by runtimes that do not run at the same time
    kSerial,      // shared by all runtimes, which run one at a time
  };

  // Stored on the heap, so that a delegate can move while its contexts point to it.
  struct SharedState {
    SharedState(const XnnpackPlugin& the_plugin, Payload payload, NamedData data, bool shares_weights);

    // Creates one more runtime for the same payload.
    [[nodiscard]] Result<std::unique_ptr<XnnRuntime>> make_runtime(std::shared_ptr<Workspace> workspace,
                                                                   uint32_t flags);
    [[nodiscard]] Result<std::unique_ptr<XnnRuntime>> make_runtime(const XnnPayload& payload,
                                                                   std::shared_ptr<Workspace> workspace,
                                                                   uint32_t flags);
    [[nodiscard]] Result<std::shared_ptr<Workspace>> find_workspace() const;

    const XnnpackPlugin& plugin;
    Payload bytes;  // holds the constants of old payloads
    NamedData named_data;
    Constants constants;  // of all runtimes
    PackedWeights weights;
    Sharing sharing = Sharing::kConcurrent;
    uint32_t input_count = 0, output_count = 0;
    uint64_t context_bytes = 0;  // bound of a runtime and its workspace
    std::vector<bool> is_output_reread;
    bool is_small = false;              // too small to wake a thread
    std::mutex mutex;                   // locked while a runtime is created; guards `first`, `constants`
    std::unique_ptr<XnnRuntime> first;  // created by make to report errors early; used by the first context
  };

  std::unique_ptr<SharedState> state_;
};

class XnnpackContext {
 public:
  explicit XnnpackContext(const XnnpackDelegate& delegate);

  Status execute(const Run& run);

 private:
  struct LockedRuntime {
    std::unique_ptr<XnnRuntime>* runtime;
    std::unique_lock<std::mutex> running;
  };

  Result<LockedRuntime> lock_runtime();
  Result<LockedRuntime> add_runtime();

  XnnpackDelegate::SharedState& state_;
  // One at first. Grows if other delegates were using the first one's memory during a run.
  std::vector<std::unique_ptr<XnnRuntime>> runtimes_;
};

}  // namespace etb::xnnpack
