// SPDX-License-Identifier: Apache-2.0
#include "host/layers/validate/borrowed.hpp"
#include "host/layers/validate/functions.hpp"
#include "host/layers/validate/sinks.hpp"

namespace etb::host::validate {
namespace {

// Number of nodes in all graphs of an image. UINT32_MAX when it cannot be read.
uint32_t node_count(const etb_graph_image& image) {
  etb_graph_view view;
  if (etb_graph_open(&image, &view) != ETB_OK) return UINT32_MAX;
  uint32_t count = 0;
  for (uint32_t i = 0; i < view.graphs.count; ++i) {
    const etb_graph_body body = etb_graph_get_body(&view, i);
    count = std::max(count, body.first_node_id + body.nodes.count);
  }
  return count;
}

// Records the answer for each node (ABI-AOT-01).
class Answers {
 public:
  explicit Answers(uint32_t node_count)
      : is_known_(node_count != UINT32_MAX), answered_(is_known_ ? node_count : 0) {}

  bool take(Call& call, const uint32_t* ids, uint32_t count, const char* verb) {
    if (ids == nullptr && count != 0) {
      call.plugin("ABI-CALL-04", "node_ids is NULL, node_count {}", count);
      return false;
    }
    bool good = true;
    for (uint32_t i = 0; is_known_ && i < count; ++i) {
      if (ids[i] >= answered_.size()) {
        call.plugin("ABI-AOT-01", "node {} was {}, the image has {}", ids[i], verb, answered_.size());
        good = false;
      } else if (answered_[ids[i]]) {
        call.plugin("ABI-AOT-01", "node {} was {} and had an answer before", ids[i], verb);
        good = false;
      } else {
        answered_[ids[i]] = true;
      }
    }
    return good;
  }

  void check_complete(Call& call) const {
    const auto missing = std::find(answered_.begin(), answered_.end(), false);
    if (missing != answered_.end())
      call.plugin("ABI-AOT-01", "node {} of {} was neither claimed nor rejected", missing - answered_.begin(),
                  answered_.size());
  }

 private:
  const bool is_known_;
  std::vector<bool> answered_;
};

// The sink for the plugin. Kept after the call, so that a late item is reported.
struct PartitionSink {
  PartitionSink(Call& call, const etb_partition_sink& to, uint32_t nodes)
      : guard(call, "sink"), real(to), answers(nodes) {
    sink.struct_size = sizeof(sink);
    sink.ctx = this;
    sink.claim = [](void* ctx, const etb_claim* claim) {
      auto& self = *static_cast<PartitionSink*>(ctx);
      return self.guard.take([&](Call& in) { return self.take(in, claim); });
    };
    sink.reject = [](void* ctx, const etb_reject* reject) {
      auto& self = *static_cast<PartitionSink*>(ctx);
      return self.guard.take([&](Call& in) { return self.take(in, reject); });
    };
  }

  etb_status take(Call& call, const etb_claim* claim) {
    if (!check_struct(call, Side::PLUGIN, claim, "claim")) return ETB_INVALID_ARGUMENT;
    if (!(claim->cost_ns >= 0.0)) {
      call.plugin("ABI-TYPE-03", "claim.cost_ns is {}, expected 0 or more", claim->cost_ns);
      return ETB_INVALID_ARGUMENT;
    }
    if (!answers.take(call, claim->node_ids, claim->node_count, "claimed")) return ETB_INVALID_ARGUMENT;
    return real.claim(real.ctx, claim);
  }

  etb_status take(Call& call, const etb_reject* reject) {
    if (!check_struct(call, Side::PLUGIN, reject, "reject")) return ETB_INVALID_ARGUMENT;
    if (reject->reason == nullptr || reject->reason[0] == '\0' || reject->text == nullptr)
      call.plugin("ABI-AOT-01", "a rejection without reason or text");
    if (!answers.take(call, reject->node_ids, reject->node_count, "rejected")) return ETB_INVALID_ARGUMENT;
    return real.reject(real.ctx, reject);
  }

  SinkGuard guard;
  const etb_partition_sink real;
  Answers answers;
  etb_partition_sink sink{};
};

// Returns true if all that the arguments point to can be read.
bool check_partition_args(Call& call, const etb_partition_args* args) {
  if (!check_struct(call, Side::HOST, args, "args") ||
      !check_struct(call, Side::HOST, args->graph, "args.graph") ||
      !check_graph(call, *args->graph, "args.graph")) {
    call.refuse();
    return false;
  }
  const bool has_id = check_text(call, Side::HOST, args->backend_id, "args.backend_id");
  const bool has_target = check_target(call, args->target);
  return check_options(call, Side::HOST, args->options, args->option_count, "args.options") && has_id &&
         has_target;
}

// The arguments for the plugin: checked, and copied for the time of the call.
class PartitionArgs {
 public:
  PartitionArgs(Call& call, const etb_partition_args* args)
      : given_(args), copy_(call, check_partition_args(call, args), "args", [this, args](ArgumentCopier& to) {
          etb_partition_args patched = *args;
          patched.graph = to.graphs(args->graph, 1);
          patched.target = to.target(args->target);
          patched.backend_id = to.text(args->backend_id);
          patched.options = to.options(args->options, args->option_count);
          given_ = to.whole(args, patched);
        }) {}

  const etb_partition_args* get() const { return given_; }
  void end() { copy_.end(); }

 private:
  const etb_partition_args* given_;
  BorrowedCopy copy_;
};

etb_status ETB_CALL op_table(etb_plugin* plugin, const etb_op_sink* sink, etb_error* error) {
  Call call("aot.op_table", error);
  Instance* const instance = call.enter(plugin);
  if (instance == nullptr) return call.finish(ETB_INVALID_HANDLE);
  GuardedSink<etb_op_sink> guarded(call, sink, "sink",
                                   [](Call& in, const etb_op_capability& op) { return check_item(in, op); });
  const etb_status status = call.run([&](etb_error* inner) {
    return instance->next->aot->op_table(instance->plugin, guarded.get(), inner);
  });
  guarded.close(status);
  return call.finish(status);
}

etb_status ETB_CALL preserve_ops(etb_plugin* plugin, const etb_text_sink* sink, etb_error* error) {
  Call call("aot.preserve_ops", error);
  Instance* const instance = call.enter(plugin);
  if (instance == nullptr) return call.finish(ETB_INVALID_HANDLE);
  GuardedSink<etb_text_sink> guarded(call, sink, "sink");
  const etb_status status = call.run([&](etb_error* inner) {
    return instance->next->aot->preserve_ops(instance->plugin, guarded.get(), inner);
  });
  guarded.close(status);
  return call.finish(status);
}

etb_status ETB_CALL dry_check(etb_plugin* plugin, const etb_partition_args* args, etb_error* error) {
  Call call("aot.dry_check", error);
  Instance* const instance = call.enter(plugin);
  if (instance == nullptr) return call.finish(ETB_INVALID_HANDLE);
  PartitionArgs given(call, args);
  const etb_status status = call.run(
      [&](etb_error* inner) { return instance->next->aot->dry_check(instance->plugin, given.get(), inner); });
  given.end();
  return call.finish(status);
}

etb_status ETB_CALL estimate(etb_plugin* plugin, const etb_partition_args* args, etb_estimate* estimate,
                             etb_error* error) {
  Call call("aot.estimate", error);
  Instance* const instance = call.enter(plugin);
  if (instance == nullptr) return call.finish(ETB_INVALID_HANDLE);
  PartitionArgs given(call, args);
  OutStruct<etb_estimate> out(call, estimate, "estimate");
  const etb_status status = call.run([&](etb_error* inner) {
    return instance->next->aot->estimate(instance->plugin, given.get(), out.get(), inner);
  });
  given.end();
  if (!call.is_refused() && status == ETB_OK) {
    constexpr double kMost = 1e300;  // a finite bound: infinity is no estimate
    check_double(call, Side::PLUGIN, out.get()->latency_ns, 0.0, kMost, "estimate.latency_ns");
    check_double(call, Side::PLUGIN, out.get()->confidence, 0.0, 1.0, "estimate.confidence");
    check_double(call, Side::PLUGIN, out.get()->energy_nj, 0.0, kMost, "estimate.energy_nj");
  }
  out.commit(status);
  return call.finish(status);
}

}  // namespace

etb_status ETB_CALL partition(etb_plugin* plugin, const etb_partition_args* args,
                              const etb_partition_sink* sink, etb_error* error) {
  Call call("aot.partition", error);
  Instance* const instance = call.enter(plugin);
  if (instance == nullptr) return call.finish(ETB_INVALID_HANDLE);
  PartitionArgs given(call, args);
  if (check_callable(call, sink, &etb_partition_sink::claim, "sink"))
    check_callable(call, sink, &etb_partition_sink::reject, "sink");
  if (call.is_refused()) return call.finish(ETB_INVALID_ARGUMENT);
  const auto guarded = std::make_shared<PartitionSink>(call, *sink, node_count(*args->graph));
  call.state().adopt(guarded);
  const etb_status status = call.run([&](etb_error* inner) {
    return instance->next->aot->partition(instance->plugin, given.get(), &guarded->sink, inner);
  });
  given.end();
  guarded->guard.close(status);
  if (status == ETB_OK) guarded->answers.check_complete(call);
  call.state().retire(guarded.get());
  return call.finish(status);
}

const etb_aot_table kAotTable{sizeof(etb_aot_table), 0,         ETB_AOT_CAPS_KNOWN, 0,        op_table,
                              preserve_ops,          partition, dry_check,          estimate, compile};

}  // namespace etb::host::validate
