// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/delegate.hpp"

#include "api/format/digest.hpp"
#include "api/format/hex.hpp"
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

// By output: true if the payload reads the result again, in later nodes or in softmax, which has two steps.
// XNNPACK reads past the end of its inputs.
std::vector<bool> reread_outputs(const XnnPayload& payload) {
  std::vector<bool> is_read(payload.value_of_id.size()), is_reread;  // by id; by output
  for (const XnnNode& node : payload.nodes) {
    for (uint32_t i = 0; i < node.input_count; ++i) {
      if (node.inputs[i] != kXnnNoValue) is_read[node.inputs[i]] = true;
    }
    if (node.op == XnnOperator::kSoftmax) is_read[node.outputs[0]] = true;
  }
  for (const uint32_t id : payload.output_ids) is_reread.push_back(is_read[id]);
  return is_reread;
}

}  // namespace

XnnpackDelegate::Parts::Parts(const XnnpackPlugin& the_plugin, Payload payload, NamedData data,
                              bool shares_weights)
    : plugin(the_plugin),
      bytes(std::move(payload)),
      named_data(data),
      weights(the_plugin.shared().packed, shares_weights) {}

Result<XnnpackDelegate> XnnpackDelegate::make(const XnnpackPlugin& plugin, CreateArgs& args) {
  XnnpackDelegate delegate;
  delegate.parts_ = std::make_unique<Parts>(plugin, std::move(args.payload), args.named_data,
                                            args.options.get_bool("weight_cache_enabled"));
  Parts& parts = *delegate.parts_;
  ETB_ASSIGN(const XnnPayload payload, read_xnnpack_payload(parts.bytes.bytes()));
  parts.is_small = is_small(payload);
  parts.input_count = static_cast<uint32_t>(payload.input_ids.size());
  parts.output_count = static_cast<uint32_t>(payload.output_ids.size());
  parts.is_output_reread = reread_outputs(payload);
  const std::string_view mode = args.options.get_text("workspace_sharing_mode");
  parts.sharing = mode == "global"     ? Sharing::kSerial
                  : mode == "disabled" ? Sharing::kNone
                                       : Sharing::kConcurrent;
  const std::string folder(args.options.get_text("packed_cache_path"));
  std::string digest;
  if (!folder.empty()) {
    digest = digest_of(parts.bytes.bytes());
    parts.weights.load(folder, digest);
  }
  ETB_ASSIGN(auto arena, parts.find_arena());
  ETB_ASSIGN(parts.first, parts.make_engine(payload, std::move(arena), 0));
  if (!folder.empty()) {
    const auto limit = static_cast<uint64_t>(args.options.get_i64("packed_cache_max_bytes"));
    // If saving fails, the next load is slower. The run is not affected.
    if (const Status saved = parts.weights.save(folder, digest, limit); !saved)
      plugin.warn(saved.error().message);
  }
  return delegate;
}

Result<std::unique_ptr<Engine>> XnnpackDelegate::Parts::make_engine(const XnnPayload& payload,
                                                                    std::shared_ptr<Arena> arena,
                                                                    uint32_t flags) {
  const Ingredients ingredients = {payload,
                                   bytes.bytes(),
                                   named_data,
                                   weights,
                                   is_small ? nullptr : plugin.parallel(),
                                   is_small ? nullptr : plugin.own_threads()};
  return Engine::make(ingredients, std::move(arena), flags);
}

// Reads the payload again: a stored subgraph would be most of the memory of a delegate without weights.
Result<std::unique_ptr<Engine>> XnnpackDelegate::Parts::make_engine(std::shared_ptr<Arena> arena,
                                                                    uint32_t flags) {
  const std::lock_guard lock(mutex);
  ETB_ASSIGN(const XnnPayload payload, read_xnnpack_payload(bytes.bytes()));
  return make_engine(payload, std::move(arena), flags);
}

Result<std::shared_ptr<Arena>> XnnpackDelegate::Parts::find_arena() const {
  return sharing == Sharing::kNone ? ArenaPool::make_arena() : plugin.shared().arenas.first();
}

DelegateInfo XnnpackDelegate::info() const {
  DelegateInfo info;
  info.input_count = parts_->input_count;
  info.output_count = parts_->output_count;
  info.resident_bytes = parts_->weights.nbytes();
  return info;
}

void XnnpackDelegate::describe_io(etb_io_req& req) const {
  const bool is_read = req.role == ETB_ROLE_INPUT || parts_->is_output_reread[req.index];
  req.alignment = 4;
  req.padding_bytes = is_read ? XNN_EXTRA_BYTES : 0;  // outputs are never written past their end
}

XnnpackContext::XnnpackContext(const XnnpackDelegate& delegate) : parts_(*delegate.parts_) {
  const std::lock_guard lock(parts_.mutex);
  if (parts_.first) engines_.push_back(std::move(parts_.first));
}

Status XnnpackContext::execute(const Run& run) {
  ETB_ASSIGN(const Held held, hold_engine());
  std::unique_ptr<Engine>& engine = *held.engine;
  if (run.raw().events != nullptr && !engine->is_profiled()) {
    ETB_ASSIGN(engine, parts_.make_engine(engine->shared_arena(), XNN_FLAG_BASIC_PROFILING));
  }
  return engine->run(run);
}

// Returns an engine whose arena is free, locked.
Result<XnnpackContext::Held> XnnpackContext::hold_engine() {
  using Sharing = XnnpackDelegate::Sharing;
  for (std::unique_ptr<Engine>& engine : engines_) {
    std::unique_lock running(engine->arena().running, std::try_to_lock);
    if (!running && parts_.sharing == Sharing::kSerial) running.lock();
    if (running) return Held{&engine, std::move(running)};
  }
  return add_engine();
}

Result<XnnpackContext::Held> XnnpackContext::add_engine() {
  HeldArena held;
  if (parts_.sharing == XnnpackDelegate::Sharing::kConcurrent) {
    ETB_ASSIGN(held, parts_.plugin.shared().arenas.hold_free());
  } else {
    ETB_ASSIGN(held.arena, parts_.find_arena());
    held.running = std::unique_lock(held.arena->running);
  }
  ETB_ASSIGN(auto engine, parts_.make_engine(held.arena, 0));
  engines_.push_back(std::move(engine));
  return Held{&engines_.back(), std::move(held.running)};
}

}  // namespace etb::xnnpack
