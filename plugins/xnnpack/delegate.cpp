// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/delegate.hpp"

#include "api/format/digest.hpp"
#include "api/format/hex.hpp"
#include "plugins/xnnpack/context_memory.hpp"
#include "plugins/xnnpack/plugin.hpp"

namespace etb::xnnpack {

namespace {

std::string digest_of(std::span<const std::byte> bytes) {
  return format::to_hex(format::sha256({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}));
}

// True if a run ends before another thread would wake up. Estimated by multiplications, or by elements if
// there are none.
bool is_small(const XnnPayload& payload) {
  constexpr double kLeast = 300000;  // some 10 microseconds
  double work = 0;
  for (const XnnNode& node : payload.nodes) {
    double each = 1;
    for (const uint32_t size : payload.value(node.outputs[0]).sizes) each *= size;
    const bool has_filter = node.op == XnnOperator::kFullyConnected || node.op == XnnOperator::kConv2d ||
                            node.op == XnnOperator::kDepthwiseConv2d ||
                            node.op == XnnOperator::kConvTranspose2d;
    if (has_filter || node.op == XnnOperator::kBatchMatrixMultiply) {
      const auto& filter = payload.value(node.inputs[1]).sizes;
      for (size_t d = has_filter ? 1 : filter.size() - 1; d < filter.size(); ++d) each *= filter[d];
    }
    work += each;
  }
  return work < kLeast;
}

// True if XNNPACK computes the maxima of a window in several steps, each of which reads those of the step before.
bool has_steps(const XnnNode& node) {
  constexpr uint64_t kFirstStep = 9;  // elements of the window
  return node.op == XnnOperator::kMaxPooling2d &&
         uint64_t{node.window.kernel_height} * node.window.kernel_width > kFirstStep;
}

// By output: true if the payload reads the result again, in later nodes, in softmax, which has two steps, or in
// maxima of large windows. XNNPACK reads past the end of what it reads.
std::vector<bool> reread_outputs(const XnnPayload& payload) {
  std::vector<bool> is_read(payload.value_of_id.size()), is_reread;  // by id; by output
  for (const XnnNode& node : payload.nodes) {
    for (uint32_t i = 0; i < node.input_count; ++i) {
      if (node.inputs[i] != kXnnNoValue) is_read[node.inputs[i]] = true;
    }
    if (node.op == XnnOperator::kSoftmax || has_steps(node)) is_read[node.outputs[0]] = true;
  }
  for (const uint32_t id : payload.output_ids) is_reread.push_back(is_read[id]);
  return is_reread;
}

}  // namespace

XnnpackDelegate::SharedState::SharedState(const XnnpackPlugin& the_plugin, Payload payload, NamedData data,
                                          bool shares_weights)
    : plugin(the_plugin),
      bytes(std::move(payload)),
      named_data(data),
      weights(the_plugin.shared().packed, shares_weights) {}

Result<XnnpackDelegate> XnnpackDelegate::make(const XnnpackPlugin& plugin, CreateArgs& args) {
  XnnpackDelegate delegate;
  delegate.state_ = std::make_unique<SharedState>(plugin, std::move(args.payload), args.named_data,
                                                  args.options.get_bool("weight_cache_enabled"));
  SharedState& state = *delegate.state_;
  ETB_ASSIGN(const XnnPayload payload, read_xnnpack_payload(state.bytes.bytes()));
  state.is_small = is_small(payload);
  state.input_count = payload.input_argument_count();
  state.output_count = static_cast<uint32_t>(payload.output_ids.size());
  state.is_output_reread = reread_outputs(payload);
  state.context_bytes = most_context_bytes(payload);
  const std::string_view mode = args.options.get_text("workspace_sharing_mode");
  state.sharing = mode == "global"     ? Sharing::kSerial
                  : mode == "disabled" ? Sharing::kNone
                                       : Sharing::kConcurrent;
  const std::string folder(args.options.get_text("packed_cache_path"));
  std::string digest;
  if (!folder.empty()) {
    digest = digest_of(state.bytes.bytes());
    state.weights.load(folder, digest);
  }
  ETB_ASSIGN(auto workspace, state.find_workspace());
  ETB_ASSIGN(state.first, state.make_runtime(payload, std::move(workspace), 0));
  if (!folder.empty()) {
    const auto limit = static_cast<uint64_t>(args.options.get_i64("packed_cache_max_bytes"));
    // If saving fails, the next load is slower. The run is not affected.
    if (const Status saved = state.weights.save(folder, digest, limit); !saved)
      plugin.warn(saved.error().message);
  }
  return delegate;
}

Result<std::unique_ptr<XnnRuntime>> XnnpackDelegate::SharedState::make_runtime(
    const XnnPayload& payload, std::shared_ptr<Workspace> workspace, uint32_t flags) {
  const RuntimeArgs args = {payload,
                            bytes.bytes(),
                            named_data,
                            constants,
                            weights,
                            is_small ? nullptr : plugin.parallel(),
                            is_small ? nullptr : plugin.own_threads()};
  return XnnRuntime::make(args, std::move(workspace), flags);
}

// Reads the payload again: a stored subgraph would be most of the memory of a delegate without weights.
Result<std::unique_ptr<XnnRuntime>> XnnpackDelegate::SharedState::make_runtime(
    std::shared_ptr<Workspace> workspace, uint32_t flags) {
  const std::lock_guard lock(mutex);
  ETB_ASSIGN(const XnnPayload payload, read_xnnpack_payload(bytes.bytes()));
  return make_runtime(payload, std::move(workspace), flags);
}

Result<std::shared_ptr<Workspace>> XnnpackDelegate::SharedState::find_workspace() const {
  return sharing == Sharing::kNone ? WorkspacePool::make_workspace() : plugin.shared().workspaces.first();
}

DelegateInfo XnnpackDelegate::info() const {
  DelegateInfo info;
  info.input_count = state_->input_count;
  info.output_count = state_->output_count;
  const std::lock_guard lock(state_->mutex);
  info.resident_bytes = state_->weights.nbytes() + state_->constants.copied_nbytes();
  info.context_bytes = state_->context_bytes;
  return info;
}

void XnnpackDelegate::describe_io(etb_io_req& req) const {
  const bool is_read = req.role == ETB_ROLE_INPUT || state_->is_output_reread[req.index];
  req.alignment = 4;
  req.padding_bytes = is_read ? XNN_EXTRA_BYTES : 0;  // outputs are never written past their end
}

XnnpackContext::XnnpackContext(const XnnpackDelegate& delegate) : state_(*delegate.state_) {
  {
    const std::lock_guard lock(state_.mutex);
    if (state_.first) {
      runtimes_.push_back(std::move(state_.first));
      return;
    }
  }
  // After an error the first run tries again, and reports it.
  const auto workspace = state_.find_workspace();
  if (!workspace) return;
  if (auto runtime = state_.make_runtime(*workspace, 0)) runtimes_.push_back(*std::move(runtime));
}

Status XnnpackContext::execute(const Run& run) {
  ETB_TRY(run.keep_going());
  ETB_ASSIGN(const LockedRuntime locked, lock_runtime());
  ETB_TRY(run.keep_going());  // another run may have had the workspace for a while
  std::unique_ptr<XnnRuntime>& runtime = *locked.runtime;
  if (run.raw().events != nullptr && !runtime->is_profiled()) {
    ETB_ASSIGN(runtime, state_.make_runtime(runtime->workspace(), XNN_FLAG_BASIC_PROFILING));
  }
  return runtime->run(run);
}

// Returns a runtime whose workspace is free, locked.
Result<XnnpackContext::LockedRuntime> XnnpackContext::lock_runtime() {
  using Sharing = XnnpackDelegate::Sharing;
  for (std::unique_ptr<XnnRuntime>& runtime : runtimes_) {
    std::unique_lock running(runtime->workspace()->running, std::try_to_lock);
    if (!running && state_.sharing == Sharing::kSerial) running.lock();
    if (running) return LockedRuntime{&runtime, std::move(running)};
  }
  return add_runtime();
}

Result<XnnpackContext::LockedRuntime> XnnpackContext::add_runtime() {
  LockedWorkspace locked;
  if (state_.sharing == XnnpackDelegate::Sharing::kConcurrent) {
    ETB_ASSIGN(locked, state_.plugin.shared().workspaces.lock_free());
  } else {
    ETB_ASSIGN(locked.workspace, state_.find_workspace());
    locked.running = std::unique_lock(locked.workspace->running);
  }
  ETB_ASSIGN(auto runtime, state_.make_runtime(locked.workspace, 0));
  runtimes_.push_back(std::move(runtime));
  return LockedRuntime{&runtimes_.back(), std::move(locked.running)};
}

}  // namespace etb::xnnpack
