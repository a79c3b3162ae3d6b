// SPDX-License-Identifier: Apache-2.0
// An XNNPACK runtime: created from a payload, run with the tensors of a call.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "etb/cpp/plugin.hpp"
#include "plugins/xnnpack/operator_events.hpp"
#include "plugins/xnnpack/payload/shapes.hpp"
#include "plugins/xnnpack/subgraph.hpp"
#include "plugins/xnnpack/thread_pool_adapter.hpp"
#include "plugins/xnnpack/workspace.hpp"

namespace etb::xnnpack {

// An input or output of a payload.
struct ExternalValue {
  uint32_t external_id;
  etb_dtype dtype;
  XnnShape shape;  // currently planned; at first the payload's own sizes
};

struct ExternalValues {
  // Errors: INCOMPATIBLE for an element type that tensors do not have.
  [[nodiscard]] static Result<ExternalValues> make(const XnnPayload& payload);
  std::vector<ExternalValue> inputs, outputs;
  uint32_t input_argument_count = 0;  // with those that belong to no value

  // True if no output has elements.
  bool is_empty() const;
  // Copies the sizes of inputs, and the output sizes that follow from them.
  void set_shapes(const XnnPayload& payload, const std::vector<XnnShape>& shapes);
};

// Arguments of XnnRuntime::make. They outlive the runtime, except where noted.
struct RuntimeArgs {
  const XnnPayload& payload;                 // used by make() only
  std::span<const std::byte> payload_bytes;  // source of `payload`
  const NamedData& named_data;
  Constants& constants;  // shared by the runtimes of a delegate
  PackedWeights& weights;
  const etb_parallel_service* parallel;  // the host's threads, NULL if none
  pthreadpool_t own_threads;             // if XNNPACK cannot use the host's; NULL if none
};

// One runtime and its inputs and outputs. [serial:runtime]; not movable.
class XnnRuntime {
 public:
  // `flags` are XNNPACK's runtime flags.
  [[nodiscard]] static Result<std::unique_ptr<XnnRuntime>> make(const RuntimeArgs& args,
                                                                std::shared_ptr<Workspace> workspace,
                                                                uint32_t flags);
  ~XnnRuntime();
  XnnRuntime(const XnnRuntime&) = delete;
  XnnRuntime& operator=(const XnnRuntime&) = delete;

  const std::shared_ptr<Workspace>& workspace() const { return workspace_; }
  bool is_profiled() const { return events_.has_value(); }
  // The caller must hold the workspace's lock.
  [[nodiscard]] Status run(const Run& run);

 private:
  XnnRuntime(std::shared_ptr<Workspace> workspace, const RuntimeArgs& args)
      : workspace_(std::move(workspace)), weights_(args.weights), payload_bytes_(args.payload_bytes) {}
  static Result<std::unique_ptr<XnnRuntime>> try_make(const RuntimeArgs& args,
                                                      std::shared_ptr<Workspace> workspace, uint32_t flags,
                                                      bool releases);
  Result<bool> read_input_shapes(const Run& run);
  Status infer_shapes();
  Status resize_outputs(const Run& run) const;
  Status reshape(std::span<const XnnShape> inputs);
  Status plan();
  Status set_up(const Run& run);

  std::shared_ptr<Workspace> workspace_;
  PackedWeights& weights_;
  std::span<const std::byte> payload_bytes_;
  std::unique_ptr<ThreadPoolAdapter>
      thread_pool_;        // NULL: runs on the calling thread, or on the plugin's own threads
  RuntimeHandle runtime_;  // destroyed before the members it reads
  std::optional<OperatorEvents> events_;
  ExternalValues external_values_;
  std::vector<XnnShape> wanted_;  // shapes of this run's inputs
  std::vector<XnnShape>
      bounds_;  // largest shapes of inputs; of graphs with means that are not float32, else empty
  std::vector<xnn_external_value> xnn_externals_;
  bool is_planned_ = false;  // memory in the workspace is planned for the sizes of `external_values_`
  bool is_set_up_ = false;   // true once the addresses of `xnn_externals_` are set, too
};

}  // namespace etb::xnnpack
